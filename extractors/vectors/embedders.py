"""Texts to vectors: the embedders by name, the default one offline.

| spec | what |
|---|---|
| `minilm` | all-MiniLM-L6-v2, int8 ONNX, offline, 384 dimensions |
| `none` | no vectors: zero dimensions |
| `sentence-transformers:NAME` | a model of that library (not installed by default) |
| `openai:URL#MODEL#DIMS` | an endpoint that speaks OpenAI's embeddings protocol |
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from memstream.extractors.text.lru import LruCache
from memstream.schemas.errors import SettingsError

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Texts in, one L2-normalised float32 row out for each. The row of a text does not depend on its neighbours."""

    name: str
    dims: int

    def embed(self, texts: list[str]) -> Vectors:
        """Vectors of shape [len(texts), dims]. Raises EmbedderUnavailable where the model can not be reached."""
        ...


class NoEmbedder:
    """Vectors switched off: zero dimensions, no model loaded."""

    name = "none"
    dims = 0

    def embed(self, texts: list[str]) -> Vectors:
        """An array without columns."""
        return np.zeros((len(texts), 0), dtype=np.float32)


class CachedEmbedder:
    """An embedder that remembers the vectors of the last `size` different texts."""

    def __init__(self, inner: Embedder, size: int) -> None:
        self.name = inner.name
        self.dims = inner.dims
        self._inner = inner
        self._cache: LruCache[str, Vectors] = LruCache(size)

    def embed(self, texts: list[str]) -> Vectors:
        """As the inner embedder, which is asked once for each text that is not remembered."""
        known: dict[str, Vectors] = {}
        missing: list[str] = []
        for text in dict.fromkeys(texts):
            row = self._cache.get(text)
            if row is None:
                missing.append(text)
            else:
                known[text] = row
        if missing:
            for text, row in zip(missing, self._inner.embed(missing), strict=True):
                known[text] = row
                self._cache.put(text, row)
        out = np.empty((len(texts), self.dims), dtype=np.float32)
        for i, text in enumerate(texts):
            out[i] = known[text]
        return out


def normalised(vectors: npt.NDArray[Any]) -> Vectors:
    """Rows of length one; a row of zeros stays as it is."""
    rows = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)


def _minilm(argument: str) -> Embedder:
    from memstream.extractors.vectors.minilm import MiniLmEmbedder  # noqa: PLC0415 (only who wants vectors loads the model)

    if argument:
        raise SettingsError(f"embedder 'minilm' takes no argument, got {argument!r}; write 'minilm'")
    return MiniLmEmbedder()


def _none(argument: str) -> Embedder:
    if argument:
        raise SettingsError(f"embedder 'none' takes no argument, got {argument!r}; write 'none'")
    return NoEmbedder()


def _sentence_transformers(argument: str) -> Embedder:
    from memstream.extractors.vectors.sentence_transformer import SentenceTransformerEmbedder  # noqa: PLC0415 (optional)

    return SentenceTransformerEmbedder(argument)


def _openai(argument: str, api_key: str | None = None) -> Embedder:
    from memstream.extractors.vectors.openai_embedder import OpenAiEmbedder  # noqa: PLC0415 (as above)

    return OpenAiEmbedder.from_argument(argument, api_key=api_key)


_KINDS: dict[str, Callable[..., Embedder]] = {
    "minilm": _minilm,
    "none": _none,
    "sentence-transformers": _sentence_transformers,
    "openai": _openai,
}


def create_embedder(spec: str = "minilm", *, api_key: str | None = None, cache_size: int = 4096) -> Embedder:
    """The embedder that `spec` names (see the table above), with a memo of `cache_size` texts.

    `api_key` is sent by the `openai` kind alone. Raises SettingsError for an unknown kind or a malformed argument.
    """
    kind, _, argument = spec.partition(":")
    make = _KINDS.get(kind)
    if make is None:
        raise SettingsError(
            f"unknown embedder {spec!r}; known are {', '.join(sorted(_KINDS))} (see docs/extraction.md)"
        )
    if kind == "openai":
        make = functools.partial(make, api_key=api_key)
    inner = make(argument)
    return CachedEmbedder(inner, cache_size) if cache_size and inner.dims else inner
