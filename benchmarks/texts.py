"""What is measured with: real dialogues, repeated to any number of messages, no two texts alike.

Caches must not flatter: in every repetition after the first a text ends with the number of its repetition, so that no
text comes twice. Bare models and the pipeline read the same texts. Texts that are JSON as a whole are left out, since
the extractor never parses them and the bare models would.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import orjson

from memstream.deploy.story import story_lines
from memstream.extractors.text.textprep import parse_json
from memstream.schemas.conversation import Message, Role
from memstream.schemas.events import Event

SHARED = "MEMSTREAM_SHARED"
SOURCE = "benchmarks"
_SCOPES = 48
_NAMED_ROLES = frozenset({"user", "assistant"})


@dataclass(frozen=True, slots=True)
class Line:
    """One message of a dialogue."""

    role: str
    name: str | None
    time: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """Dialogues, and where they are from."""

    origin: str
    dialogues: list[list[Line]]


def corpus() -> Corpus:
    """The annotated dialogues beside the project, else the messages of the sample story."""
    shared = os.environ.get(SHARED)
    path = Path(shared) / "gold" / "train.jsonl" if shared else None
    if path is not None and path.exists():
        return Corpus("annotated dialogues", _annotated(path.read_bytes().splitlines()))
    return Corpus("the sample story", _story())


def events(found: Corpus, root: str, number: int) -> list[Event]:
    """The first `number` messages, dialogue after dialogue, each dialogue a session, in scopes below `root`."""
    made: list[Event] = []
    seen: set[str] = set()
    for repetition in count():
        for place, dialogue in enumerate(found.dialogues):
            session = f"{place}-{repetition}"
            # a dialogue comes back in another scope: nobody says the same things over and over
            scope = _scope(root, place + 7 * repetition)
            for line in _distinct(dialogue, repetition, seen):
                made.append(_event(line, scope, session, len(made)))
                if len(made) == number:
                    return made
    return made


def texts_of(made: Iterable[Event]) -> list[str]:
    """The texts of these messages."""
    return [event.data.content for event in made if isinstance(event.data, Message)]


def scopes_below(root: str) -> list[str]:
    """Every scope that `events` puts a message into."""
    return [_scope(root, number) for number in range(_SCOPES)]


def _scope(root: str, number: int) -> str:
    return f"{root}/user-{number % _SCOPES:02d}"


def _distinct(dialogue: list[Line], repetition: int, seen: set[str]) -> Iterator[Line]:
    for line in dialogue:
        text = f"{line.text} ({repetition})" if repetition else line.text
        if text not in seen and parse_json(text) is None:
            seen.add(text)
            yield Line(line.role, line.name, line.time, text)


def _event(line: Line, scope: str, session: str, number: int) -> Event:
    name = line.name if line.role in _NAMED_ROLES else None
    said = Message(session_id=session, role=Role(line.role), content=line.text, name=name)
    return Event.of(said, id=f"m{number}", source=SOURCE, time=line.time, scope=scope, sequence=str(number))


def _annotated(lines: Iterable[bytes]) -> list[list[Line]]:
    return [[_annotated_line(message) for message in orjson.loads(line)["messages"]] for line in lines if line.strip()]


def _annotated_line(message: dict[str, str]) -> Line:
    return Line(message["role"], message.get("name"), datetime.fromisoformat(message["time"]), message["text"])


def _story() -> list[list[Line]]:
    sessions: dict[str, list[Line]] = {}
    for raw in story_lines():
        event = orjson.loads(raw)
        data = event["data"]
        if event["type"] == "memstream.message.v1" and data.get("content"):
            time = datetime.fromisoformat(event["time"]).astimezone(UTC)
            sessions.setdefault(data["session_id"], []).append(
                Line(data["role"], data.get("name"), time, data["content"])
            )
    return list(sessions.values())
