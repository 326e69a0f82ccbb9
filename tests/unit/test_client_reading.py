"""Readers and the wait for visibility, against a service that says what the test wants."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import httpx
import orjson
import pytest

from memstream.client import AsyncReader, Reader, Receipt, Visible
from memstream.client.visible import wait_until_visible
from memstream.schemas.errors import NotVisibleError, QueryError

RECEIPT = Receipt("e/1", "app/x", "acme/u", "memory.conversation", 3, 41)


class Service(ThreadingHTTPServer):
    """Answers with the next of `answers` (the last one for ever), and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, Any]] = [(200, {})]
        self.asked: list[tuple[str, dict[str, list[str]]]] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """One question."""

    server: Service

    def do_GET(self) -> None:
        """Answer with what the test has laid out."""
        split = urlsplit(self.path)
        self.server.asked.append((split.path, parse_qs(split.query)))
        status, body = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        plain = isinstance(body, bytes)
        content = body if plain else orjson.dumps(body)
        kind = "text/plain" if plain else "application/json" if status == 200 else "application/problem+json"
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep the test output quiet."""


@pytest.fixture
def service() -> Iterator[Service]:
    """A running service."""
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def wait(service: Service, seconds: float = 10.0) -> Visible:
    """Wait for the event of RECEIPT."""
    async with httpx.AsyncClient(base_url=service.url) as http:
        return await wait_until_visible(http, RECEIPT, seconds)


async def test_waiting_ends_when_the_event_is_sealed(service: Service) -> None:
    """Unknown, then there but not sealed, then visible: asked by id, scope and source."""
    position = {"partition": 2, "offset": 99}
    service.answers = [
        (404, {"title": "not found"}),
        (503, {"detail": "warming up"}),
        (200, {"visible": False, "verdict": "applied", "position": position}),
        (200, {"visible": True, "verdict": "applied", "position": position}),
    ]
    assert await wait(service) == Visible("applied", 2, 99)
    path, parameters = service.asked[-1]
    assert unquote(path) == "/v1/events/e/1"
    assert parameters == {"scope": ["acme/u"], "source": ["app/x"]}
    assert len(service.asked) == 4


async def test_an_event_with_nothing_in_it_is_visible_too(service: Service) -> None:
    """Its verdict says so."""
    service.answers = [(200, {"visible": True, "verdict": "empty", "position": None})]
    assert await wait(service) == Visible("empty")


async def test_a_dead_letter_ends_the_waiting_with_its_reason(service: Service) -> None:
    """At once, not at the deadline."""
    service.answers = [(200, {"visible": True, "verdict": "dead_lettered", "reason": "a time in the year 3000"})]
    with pytest.raises(NotVisibleError, match=r"dead letters.*a time in the year 3000"):
        await wait(service)


async def test_the_deadline_says_what_was_last_known(service: Service) -> None:
    """And where the record is, and what to look at."""
    service.answers = [(404, {})]
    with pytest.raises(NotVisibleError, match=r"does not have it yet.*offset 41.*memstream status"):
        await wait(service, 0.2)
    assert 3 <= len(service.asked) < 12


async def test_a_refusal_is_no_reason_to_wait(service: Service) -> None:
    """A key that is not accepted, a scope that is wrong: told at once."""
    service.answers = [(401, {"detail": "no key"})]
    with pytest.raises(QueryError, match="no key") as caught:
        await wait(service)
    assert caught.value.status == 401


async def test_a_service_that_is_down_is_named() -> None:
    """After the deadline, with its address."""
    async with httpx.AsyncClient(base_url="http://127.0.0.1:9") as http:
        with pytest.raises(NotVisibleError, match=r"http://127.0.0.1:9 does not answer"):
            await wait_until_visible(http, RECEIPT, 0.1)


def test_questions_go_to_their_paths(service: Service) -> None:
    """Names are encoded, scopes default to the reader's, parameters that are None are left out."""
    service.answers = [(200, {"ok": True})]
    with Reader("acme/u", url=service.url) as reader:
        assert reader.recall("who?", limit=5, budget=None) == {"ok": True}
        reader.recall("who?", ["acme/u", "acme/v"])
        reader.sessions(limit=2)
        reader.session("s/1")
        reader.transcript("s 1")
        reader.entity("Ana/Bea")
        reader.facts("acme/v", subject="Ana")
        reader.sources("f-1")
        reader.traces(session="s")
        reader.trace("t-1")
        reader.event("e-1", source="app")
        reader.get("/v1/preferences")
    assert service.asked[0] == ("/v1/recall", {"scope": ["acme/u"], "prompt": ["who?"], "limit": ["5"]})
    assert service.asked[1][1]["scope"] == ["acme/u", "acme/v"]
    assert [path for path, _ in service.asked[2:]] == [
        "/v1/sessions",
        "/v1/sessions/s%2F1",
        "/v1/sessions/s%201/messages",
        "/v1/entities/Ana%2FBea",
        "/v1/facts",
        "/v1/facts/f-1/sources",
        "/v1/traces",
        "/v1/traces/t-1",
        "/v1/events/e-1",
        "/v1/preferences",
    ]
    assert service.asked[6][1] == {"scope": ["acme/v"], "subject": ["Ana"]}


async def test_the_async_reader_asks_the_same(service: Service) -> None:
    """With await."""
    service.answers = [(200, {"items": []})]
    async with AsyncReader("acme/u", url=service.url) as reader:
        assert await reader.facts(subject="Ana") == {"items": []}


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (422, {"title": "bad cursor", "detail": "the cursor is malformed"}, "the cursor is malformed"),
        (404, {"title": "unknown scope"}, "unknown scope"),
        (502, b"upstream gone", "upstream gone"),
    ],
)
def test_a_problem_becomes_an_error_with_its_status(service: Service, status: int, body: Any, says: str) -> None:
    """problem+json or not."""
    service.answers = [(status, body)]
    with Reader("acme/u", url=service.url) as reader, pytest.raises(QueryError, match=says) as caught:
        reader.facts()
    assert caught.value.status == status


def test_no_service_and_no_scope_are_told() -> None:
    """Status 0: nobody answered, or nobody was asked."""
    with Reader(url="http://127.0.0.1:9") as reader:
        with pytest.raises(QueryError, match="no scope"):
            reader.facts()
        with pytest.raises(QueryError, match="memstream serve") as caught:
            reader.facts("acme/u")
    assert caught.value.status == 0
