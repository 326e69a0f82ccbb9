"""A model that speaks OpenAI's protocol, on a port of this machine: real HTTP, answers that a test chooses."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
from jsonschema import Draft202012Validator

Said = dict[str, Any]
"""What is said in a message: entities, facts, preferences, in the form that is asked for."""

NOTHING: Said = {"entities": [], "facts": [], "preferences": []}
HANG = "hang"


@dataclass(frozen=True)
class Failure:
    """An answer that is none: a status, with headers and a body."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b'{"error":{"message":"not now"}}'


@dataclass
class FakeModel:
    """Answers by the text of the message. What stands in `script` comes first, one for each request.

    A `script` has texts (the content of an answer as it is), failures and hangs; `down` fails every request.
    """

    url: str = ""
    answers: dict[str, Said] = field(default_factory=dict)
    script: deque[Failure | str] = field(default_factory=deque)
    down: Failure | None = None
    finish_reason: str = "stop"
    refusal: str | None = None
    usage: dict[str, int] | None = field(default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 20})
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def messages(self) -> list[str]:
        """The messages that were asked for, in the order in which they came."""
        return [told(body)["message"] for body in self.asked]

    def answer(self, body: dict[str, Any]) -> Failure | str:
        """What comes back: the content of an answer, or a failure."""
        if self.down is not None:
            return self.down
        if self.script:
            return self.script.popleft()
        said = self.answers.get(told(body)["message"], NOTHING)
        Draft202012Validator(body["response_format"]["json_schema"]["schema"]).validate(said)
        return orjson.dumps(said).decode()


def told(body: dict[str, Any]) -> dict[str, Any]:
    """What a request tells of its message."""
    found: dict[str, Any] = orjson.loads(body["messages"][-1]["content"])
    return found


@contextmanager
def fake_model() -> Iterator[FakeModel]:
    """A model that answers until the block ends."""
    model = FakeModel()

    class Handler(BaseHTTPRequestHandler):
        """One request."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """Answer as the model does."""
            body = orjson.loads(self.rfile.read(int(self.headers["content-length"])))
            model.asked.append(body)
            model.headers.append({name.lower(): value for name, value in self.headers.items()})
            if self.path != "/v1/chat/completions" or body["response_format"]["type"] != "json_schema":
                self._send(Failure(404))
                return
            said = model.answer(body)
            if said == HANG:
                model.released.wait(60)
                self.close_connection = True
            elif isinstance(said, Failure):
                self._send(said)
            else:
                message = {"role": "assistant", "content": said, "refusal": model.refusal}
                choice = {"index": 0, "message": message, "finish_reason": model.finish_reason}
                reply = {"id": "c", "object": "chat.completion", "choices": [choice], "usage": model.usage}
                self._send(Failure(200, body=orjson.dumps(reply)))

        def _send(self, what: Failure) -> None:
            self.send_response(what.status)
            for name, value in {**what.headers, "content-length": str(len(what.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(what.body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield model
    finally:
        model.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def entity(name: str, kind: str, quote: str | None = None) -> Said:
    """An entity of an answer."""
    return {"name": name, "type": kind, "quote": quote or name}


def fact(subject: tuple[str, str], predicate: str, value: tuple[str, str], quote: str, **more: Any) -> Said:
    """A fact of an answer; ends are (name, type)."""
    own: Said = {
        "subject": {"name": subject[0], "type": subject[1]},
        "predicate": predicate,
        "object": {"name": value[0], "type": value[1]},
        "negated": False,
        "valid_from": None,
        "valid_to": None,
        "confidence": 0.9,
        "quote": quote,
        "uses": [],
    }
    return {**own, **more}


def preference(holder: str, polarity: str, what: str, quote: str, **more: Any) -> Said:
    """A preference of an answer."""
    own: Said = {
        "holder": {"name": holder, "type": "Person"},
        "polarity": polarity,
        "object": what,
        "over": None,
        "context": None,
        "confidence": 0.9,
        "quote": quote,
        "uses": [],
    }
    return {**own, **more}
