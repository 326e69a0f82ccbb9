"""Embedders: shapes, batches, names and the endpoint's protocol against a small local server."""

import random
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import orjson
import pytest

from memstream.extractors.errors import EmbedderRefused, EmbedderUnavailable
from memstream.extractors.vectors.embedders import CachedEmbedder, NoEmbedder, Vectors, create_embedder
from memstream.extractors.vectors.minilm import MiniLmEmbedder
from memstream.extractors.vectors.openai_embedder import OpenAiEmbedder
from memstream.schemas.errors import SettingsError

WORDS = ["the", "deploy", "of", "billing", "failed", "again", "since", "its", "token", "expired", "café", "東京"]


@pytest.fixture(scope="module")
def minilm() -> MiniLmEmbedder:
    """One loaded model for this module."""
    return MiniLmEmbedder()


def test_minilm_vectors_are_unit_length_whatever_the_text(minilm: MiniLmEmbedder) -> None:
    """Empty, monstrous, emoji-only and broken texts get a unit vector too."""
    vectors = minilm.embed(["", "hello", "🙂🙂", "\ud800", "x" * 200_000, "שלום עולם"])
    assert vectors.shape == (6, 384)
    assert vectors.dtype == np.float32
    assert np.allclose((vectors**2).sum(axis=1), 1, atol=1e-5)


def test_minilm_vector_does_not_depend_on_its_batch(minilm: MiniLmEmbedder) -> None:
    """The same text has the same bytes alone, and among others in any order."""
    rng = random.Random(7)  # noqa: S311 (a fixed seed is the point)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 40))) for _ in range(40)]
    alone = np.vstack([minilm.embed([text]) for text in texts])
    order = list(range(len(texts)))
    rng.shuffle(order)
    together = minilm.embed([texts[i] for i in order])
    assert np.array_equal(alone[order], together)


def test_minilm_puts_like_texts_near_each_other(minilm: MiniLmEmbedder) -> None:
    """A paraphrase is nearer than another subject."""
    a, b, c = minilm.embed(["The deployment failed.", "The rollout did not succeed.", "I love strawberry ice cream."])
    assert a @ b > a @ c + 0.2


class Counting:
    """An embedder that says what it was asked for."""

    name = "counting"
    dims = 2

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed(self, texts: list[str]) -> Vectors:
        """A row that depends on the text's length alone."""
        self.asked.append(texts)
        return np.array([[len(t), 1] for t in texts], dtype=np.float32).reshape(len(texts), 2)


def test_identical_texts_are_embedded_once() -> None:
    """Within a call and over calls; the oldest text is forgotten where there is no room."""
    inner = Counting()
    cached = CachedEmbedder(inner, 2)
    assert cached.embed(["a", "bb", "a"]).tolist() == [[1, 1], [2, 1], [1, 1]]
    cached.embed(["a", "ccc"])
    cached.embed(["bb"])
    assert inner.asked == [["a", "bb"], ["ccc"], ["bb"]]


def test_none_has_no_dimensions() -> None:
    """Vectors can be switched off."""
    embedder = create_embedder("none")
    assert isinstance(embedder, NoEmbedder)
    assert embedder.embed(["a", "b"]).shape == (2, 0)


@pytest.mark.parametrize(
    "spec", ["", "word2vec", "minilm:large", "none:1", "openai:http://x", "openai:http://x#m#zero"]
)
def test_a_wrong_name_says_what_is_known(spec: str) -> None:
    """Unknown kinds and malformed arguments are settings errors that name the spec."""
    with pytest.raises(SettingsError, match="embedder"):
        create_embedder(spec)


def test_a_missing_library_is_named() -> None:
    """sentence-transformers is optional: where it is missing, the error says how to get it."""
    with pytest.raises(SettingsError, match="pip install sentence-transformers"):
        create_embedder("sentence-transformers:all-mpnet-base-v2")


class Endpoint(ThreadingHTTPServer):
    """Speaks the embeddings protocol; `failures` are status codes to answer first."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.failures: list[int] = []
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    """One POST to the endpoint."""

    server: Endpoint

    def do_POST(self) -> None:
        """Answer with [length, 1, 0] for each input, last one first."""
        body = orjson.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        self.server.authorizations.append(self.headers["authorization"])
        status = self.server.failures.pop(0) if self.server.failures else 200
        data = [{"index": i, "embedding": [len(text), 1.0, 0.0]} for i, text in enumerate(body["input"])]
        answer = orjson.dumps({"data": data[::-1], "model": body["model"]} if status == 200 else {"error": "no"})
        self.send_response(status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep the test output quiet."""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """A running endpoint."""
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def remote(endpoint: Endpoint, dims: int = 3) -> OpenAiEmbedder:
    """An embedder on that endpoint which does not wait between tries."""
    return OpenAiEmbedder(endpoint.url, "tiny", dims, api_key="k", pause=lambda _: None)


def test_remote_rows_come_back_in_the_order_of_the_texts(endpoint: Endpoint) -> None:
    """The endpoint may answer in any order; long lists go in several requests; rows are normalised."""
    embedder = remote(endpoint)
    vectors = embedder.embed(["x" * (i + 1) for i in range(70)])
    embedder.close()
    assert [len(r["input"]) for r in endpoint.requests] == [64, 6]
    assert endpoint.authorizations[0] == "Bearer k"
    assert np.allclose(vectors[:, 0] / vectors[:, 1], range(1, 71), rtol=1e-5)
    assert np.allclose((vectors**2).sum(axis=1), 1, atol=1e-5)


def test_remote_overload_is_tried_again(endpoint: Endpoint) -> None:
    """429 and 503 pass; what never passes is a transient error."""
    endpoint.failures = [429, 503]
    embedder = remote(endpoint)
    assert embedder.embed(["a"]).shape == (1, 3)
    endpoint.failures = [503] * 4
    with pytest.raises(EmbedderUnavailable, match="503"):
        embedder.embed(["a"])
    embedder.close()


def test_remote_refusal_is_an_error_at_once(endpoint: Endpoint) -> None:
    """A wrong key is not tried again, and wrong dimensions are named."""
    endpoint.failures = [401]
    embedder = remote(endpoint)
    with pytest.raises(EmbedderRefused, match="401"):
        embedder.embed(["a"])
    assert len(endpoint.requests) == 1
    embedder.close()
    other = remote(endpoint, dims=4)
    with pytest.raises(EmbedderRefused, match="4 dimensions"):
        other.embed(["a"])
    other.close()


def test_nobody_listening_is_unavailable() -> None:
    """A refused connection is transient."""
    embedder = OpenAiEmbedder("http://127.0.0.1:9/v1", "tiny", 3, pause=lambda _: None)
    with pytest.raises(EmbedderUnavailable, match="gave no vectors"):
        embedder.embed(["a"])
    embedder.close()
