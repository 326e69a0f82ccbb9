"""The reading commands against a running service: tables for people, JSON for programs, errors in words."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from typer.testing import CliRunner

from memstream.cli.main import app as memstream
from memstream.deploy.ports import any_free
from memstream.schemas.ids import named_id
from memstream.schemas.patch import Label

World = Any


@pytest.fixture
def served(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The service on a port, and the settings that name it."""
    port = any_free()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started and time.monotonic() < deadline:
        thread.join(0.05)
    assert server.started
    monkeypatch.setenv("MEMSTREAM_QUERY_URL", f"http://127.0.0.1:{port}")
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(30)


@pytest.fixture
def told(world: World, scope: str, things: Any) -> Any:
    """A message with a fact, a tool call and a trace."""
    person, org, _ = things
    ines = person("Ines Duarte")
    said = world.say(scope, 1).message("talk", "Ines Duarte", "I work at Skagen Data [sic].")
    said.mentions(ines).fact(ines, "works_at", org("Skagen Data"))
    done = world.say(scope, 2)
    call = {
        "call_id": "c1",
        "tool": "search",
        "arguments": "{}",
        "session_id": "talk",
        "time": done.time,
        "order": done.order,
    }
    done.share(Label.TOOL_CALL, named_id("call", scope, "c1"), "called", call)
    done.share(Label.TOOL_CALL, named_id("call", scope, "c1"), "status", {"call_id": "c1", "status": "timeout"})
    started = {"trace_id": "run-1", "task": "find the key", "session_id": "talk"}
    done.share(Label.TRACE, named_id("trace", scope, "run-1"), "started", started)
    world.tell(said, done)
    return said


def _run(*words: str) -> Any:
    return CliRunner().invoke(memstream, list(words))


def test_each_command_shows_what_is_there(served: str, told: Any, scope: str) -> None:
    """In words a person reads, with the ids that lead on."""
    recall = _run("recall", "Where does Ines Duarte work?", "--scope", scope)
    assert recall.exit_code == 0, recall.output
    assert "Skagen Data" in recall.output
    assert "[1]" in recall.output
    assert told.key in recall.output
    claim = told.assertions[0].claim
    for words, wanted in (
        (("facts", "--subject", "Ines Duarte"), "Skagen Data"),
        (("sources", claim), "I work at"),
        (("entity", "ines duarte"), "Person"),
        (("sessions",), "talk"),
        (("transcript", "talk", "--tool-calls"), "timeout"),
        (("traces",), "find the key"),
        (("traces", "run-1"), "find the key"),
    ):
        shown = _run(*words, "--scope", scope)
        assert shown.exit_code == 0, shown.output
        assert wanted in shown.output, words


def test_each_command_gives_json(served: str, told: Any, scope: str) -> None:
    """The service's answer as it is."""
    claim = told.assertions[0].claim
    commands = (("recall", "Ines"), ("facts",), ("sources", claim), ("entity", "Ines Duarte"), ("sessions",))
    for words in (*commands, ("transcript", "talk"), ("traces",), ("traces", "run-1")):
        shown = _run(*words, "--scope", scope, "--json")
        assert shown.exit_code == 0, shown.output
        answer = json.loads(shown.stdout)
        assert "position" in answer or "positions" in answer


def test_errors_are_told_in_words(served: str) -> None:
    """The service's own sentence, and no traceback."""
    shown = _run("facts", "--scope", "no/such/scope")
    assert shown.exception is not None
    assert "nothing was ever said in scope 'no/such/scope'" in str(shown.exception)
