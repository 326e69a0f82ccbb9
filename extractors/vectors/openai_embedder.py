"""Embeddings from an endpoint that speaks OpenAI's protocol (`POST {url}/embeddings`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import orjson

from memstream.extractors.errors import EmbedderRefused, EmbedderUnavailable
from memstream.extractors.vectors.embedders import Vectors, normalised
from memstream.schemas.errors import SettingsError

BATCH_TEXTS = 64
MAX_CHARS = 24_000
ATTEMPTS = 4
RETRY_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504})


class OpenAiEmbedder:
    """Batches of texts to a remote model; transient failures are tried again, a wrong answer is an error.

    Raises EmbedderUnavailable (transient) when the endpoint did not answer in ATTEMPTS tries, EmbedderRefused when it
    refused or answered with something else than it should.
    """

    def __init__(
        self,
        url: str,
        model: str,
        dims: int,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = f"openai:{url}#{model}#{dims}"
        self.dims = dims
        self._url = url.rstrip("/") + "/embeddings"
        self._model = model
        self._pause = pause
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = httpx.Client(timeout=timeout, headers=headers)

    @classmethod
    def from_argument(cls, argument: str, *, api_key: str | None = None) -> OpenAiEmbedder:
        """From `URL#MODEL#DIMS`. Raises SettingsError where a part is missing."""
        parts = argument.split("#")
        if len(parts) != 3 or not all(parts) or not parts[2].isdecimal() or not int(parts[2]):
            raise SettingsError(
                f"embedder 'openai:{argument}' is malformed; write 'openai:URL#MODEL#DIMS',"
                " for example 'openai:http://localhost:8080/v1#bge-small#384'"
            )
        return cls(parts[0], parts[1], int(parts[2]), api_key=api_key)

    def embed(self, texts: list[str]) -> Vectors:
        """Vectors of shape [len(texts), dims]."""
        out = np.zeros((len(texts), self.dims), dtype=np.float32)
        for start in range(0, len(texts), BATCH_TEXTS):
            batch = texts[start : start + BATCH_TEXTS]
            out[start : start + len(batch)] = self._rows(self._post(batch), len(batch))
        return out

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def _post(self, batch: list[str]) -> bytes:
        cleaned = [text[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8") or " " for text in batch]
        body = orjson.dumps({"model": self._model, "input": cleaned})
        reason = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                self._pause(0.25 * 2**attempt)
            try:
                answer = self._http.post(self._url, content=body, headers={"content-type": "application/json"})
            except httpx.TransportError as error:
                reason = f"{type(error).__name__}: {error}"
                continue
            if answer.status_code == httpx.codes.OK:
                return answer.content
            reason = f"HTTP {answer.status_code}: {answer.text[:200]}"
            if answer.status_code not in RETRY_STATUS:
                raise EmbedderRefused(f"{self._url} refused to embed {len(batch)} texts with {self._model!r}: {reason}")
        raise EmbedderUnavailable(f"{self._url} gave no vectors in {ATTEMPTS} tries: {reason}")

    def _rows(self, content: bytes, count: int) -> Vectors:
        try:
            data: list[dict[str, Any]] = orjson.loads(content)["data"]
            rows = np.zeros((count, self.dims), dtype=np.float32)
            seen = set()
            for item in data:
                rows[item["index"]] = item["embedding"]
                seen.add(item["index"])
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, IndexError) as error:
            raise EmbedderRefused(
                f"{self._url} did not answer with {count} vectors of {self.dims} dimensions"
                f" ({type(error).__name__}: {error}); check MODEL and DIMS of the embedder setting"
            ) from error
        if seen != set(range(count)):
            raise EmbedderRefused(f"{self._url} answered with {len(seen)} vectors for {count} texts")
        return normalised(rows)
