"""Turns the story's script (week-1.txt … week-6.txt) into events.jsonl: the same bytes each time.

A script is read line by line:

    @day 2026-09-21 +02:00                       the date and offset of what follows
    == session @ scope [with agent] [:: title]   a scene; a title starts its session, no session means none
    09:02 mara: text                             a message; `quill (recalled): text` is one that memory served
    09:03 #label quill ! type {json}             any other event; session_id and agent_id are filled in
    09:04 jonas !! type {json}                   written as it is, without a look at whether it is valid

In the JSON, "$label" is a reference to the labelled event, "$label.id" its id, "$label.key" the id of what it makes in
the graph, and "$$name" one of the attachments. Run it by `python -m memstream.deploy.story.build`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from memstream.deploy.story.attachments import ATTACHMENTS
from memstream.schemas.cloudevents import encode_structured
from memstream.schemas.errors import InvalidInput
from memstream.schemas.events import BY_SHORT, Event
from memstream.schemas.ids import event_key, named_id, utc_text

HERE = Path(__file__).parent
WEEKS = tuple(f"week-{n}.txt" for n in range(1, 7))
TARGET = HERE / "events.jsonl"
PEOPLE = ("mara", "jonas")
AGENTS = ("scout", "wrench", "quill")
_SOURCES = {p: f"person/{p}" for p in PEOPLE} | {a: f"agent/{a}" for a in AGENTS} | {"system": "app/console"}
_SECONDS_APART = 8  # what happens in one minute of the script is spread over it in order

_DAY = re.compile(r"^@day (\d{4}-\d\d-\d\d) ([+-]\d\d:\d\d)$")
_SCENE = re.compile(r"^== (?:(?P<session>\S+) )?@ (?P<scope>\S+)(?: with (?P<agent>\w+))?(?: :: (?P<title>.+))?$")
_LINE = re.compile(
    r"^(?P<clock>\d\d:\d\d) (?:#(?P<label>[a-z0-9-]+) )?(?P<who>\w+)"
    r"(?:(?P<recalled> \(recalled\))?: (?P<text>.+)| (?P<raw>!!?) (?P<kind>[a-z.-]+) (?P<json>\{.*\}))$"
)
_REFERENCE = re.compile(r"^\$([a-z0-9-]+)(?:\.(id|key))?$")


@dataclass(frozen=True, slots=True)
class _Scene:
    session: str | None
    scope: str
    agent: str | None

    @property
    def person(self) -> str | None:
        """The person whose private talk this is."""
        last = self.scope.rpartition("/")[2]
        return last if last in PEOPLE else None


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line of the script as an event before its references are resolved."""

    minute: datetime
    scene: _Scene
    who: str
    kind: str
    data: dict[str, Any]
    label: str | None = None
    valid: bool = True
    time: datetime | None = None
    id: str = ""

    @property
    def source(self) -> str:
        return _SOURCES[self.who]

    @property
    def moment(self) -> datetime:
        return self.time or self.minute

    def attributes(self) -> dict[str, Any]:
        """The envelope; `@scope` in the data overrides the scene's."""
        subject = _subject(self)
        return {
            "id": self.id,
            "source": self.source,
            "time": self.moment,
            "scope": self.data.get("@scope", self.scene.scope),
            "recordedtime": self.moment,
        } | ({"subject": subject} if subject else {})


def _subject(entry: _Entry) -> str | None:
    stated = entry.data.get("subject")
    if isinstance(stated, dict) and stated.get("type") == "Person":
        name = str(stated["name"]).lower()
        return name if name in PEOPLE else None
    return entry.scene.person or (entry.who if entry.who in PEOPLE else None)


def read_script(lines: Iterable[str]) -> Iterator[_Entry]:
    """The entries of a script in its order. Raises InvalidInput with the line that can't be read."""
    day, offset, scene, opening = "", "", _Scene(None, "", None), ""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if match := _DAY.match(line):
            day, offset = match.groups()
        elif match := _SCENE.match(line):
            scene = _Scene(match["session"], match["scope"], match["agent"])
            opening = match["title"] or ""
        elif match := _LINE.match(line):
            minute = datetime.fromisoformat(f"{day}T{match['clock']}:00{offset}")
            if opening:
                yield _started(minute, scene, opening)
                opening = ""
            yield _entry(minute, scene, match)
        else:
            raise InvalidInput(f"line {number} of the script is no day, scene or event: {line[:80]!r}")


def _started(minute: datetime, scene: _Scene, title: str) -> _Entry:
    who = scene.agent or "quill"
    data = {"session_id": scene.session, "title": title, "agent_id": who}
    return _Entry(minute, scene, who, "session.started", data | ({"user_id": scene.person} if scene.person else {}))


def _entry(minute: datetime, scene: _Scene, match: re.Match[str]) -> _Entry:
    who = match["who"]
    if match["text"] is None:
        valid = match["raw"] == "!"
        data = orjson.loads(match["json"])
        kind = match["kind"]
        return _Entry(
            minute, scene, who, kind, _filled(data, kind, who, scene) if valid else data, match["label"], valid
        )
    role = "system" if who == "system" else "user" if who in PEOPLE else "assistant"
    data = {"session_id": scene.session, "role": role, "content": match["text"]}
    if who in PEOPLE:
        data["user_id"] = who
    elif who in AGENTS:
        data["agent_id"] = who
    if scene.person is None:
        data["name"] = who.capitalize()  # a talk of several: everyone is named
    if match["recalled"]:
        data["recalled"] = True
    return _Entry(minute, scene, who, "message", data, match["label"])


def _filled(data: dict[str, Any], kind: str, who: str, scene: _Scene) -> dict[str, Any]:
    fields = BY_SHORT[kind].data.model_fields
    filled = dict(data)
    if "session_id" in fields and scene.session is not None:
        filled.setdefault("session_id", scene.session)
    if "agent_id" in fields and who in AGENTS:
        filled.setdefault("agent_id", who)
    if kind == "document" and who in PEOPLE:
        filled.setdefault("user_id", who)
    return filled


def _numbered(entries: Iterable[_Entry]) -> list[_Entry]:
    """In the order of time, with ids by position and the events of one minute some seconds apart."""
    numbered: list[_Entry] = []
    inside = 0
    for number, entry in enumerate(sorted(entries, key=lambda e: utc_text(e.minute)), start=1):
        inside = inside + 1 if numbered and numbered[-1].minute == entry.minute else 0
        if inside * _SECONDS_APART >= 60:
            raise InvalidInput(
                f"more than {60 // _SECONDS_APART} events at {entry.minute}: move some to the next minute"
            )
        time = entry.minute + timedelta(seconds=inside * _SECONDS_APART)
        numbered.append(replace(entry, time=time, id=f"story-{number:04d}"))
    return numbered


def _resolved(value: Any, labels: dict[str, _Entry]) -> Any:
    if isinstance(value, dict):
        return {k: _resolved(v, labels) for k, v in value.items() if not k.startswith("@")}
    if isinstance(value, list):
        return [_resolved(v, labels) for v in value]
    if isinstance(value, str) and value.startswith("$$"):
        return ATTACHMENTS[value[2:]]()
    return _referred(value, labels) if isinstance(value, str) and value.startswith("$") else value


def _referred(text: str, labels: dict[str, _Entry]) -> str | dict[str, str]:
    match = _REFERENCE.match(text)
    if match is None or match[1] not in labels:
        raise InvalidInput(f"{text!r} names no labelled event of the script")
    entry = labels[match[1]]
    if match[2] == "id":
        return entry.id
    return _node_id(entry) if match[2] == "key" else {"id": entry.id, "source": entry.source}


def _node_id(entry: _Entry) -> str:
    scope = entry.scene.scope
    if entry.kind == "tool-call":
        return named_id("call", scope, entry.data["call_id"])
    return event_key(scope, entry.source, entry.id)


def _line(entry: _Entry, labels: dict[str, _Entry]) -> bytes:
    data = _resolved(entry.data, labels)
    kind = BY_SHORT[entry.kind]
    if entry.valid:
        payload = kind.data.model_validate_json(orjson.dumps(data))
        return encode_structured(Event(type=kind.name, data=payload, **entry.attributes()))
    head = {"specversion": "1.0", "datacontenttype": "application/json", "type": kind.name}
    return orjson.dumps(head | entry.attributes() | {"data": data})


def build() -> bytes:
    """All of events.jsonl. Raises InvalidInput, or pydantic's ValidationError where an event has not its form."""
    script = [line for week in WEEKS for line in (HERE / week).read_text(encoding="utf-8").splitlines()]
    entries = _numbered(read_script(script))
    labels = {e.label: e for e in entries if e.label}
    return b"".join(_line(entry, labels) + b"\n" for entry in entries)


def main() -> None:
    """Write events.jsonl beside this file."""
    data = build()
    TARGET.write_bytes(data)
    sys.stdout.write(f"{TARGET}: {data.count(chr(10).encode())} events, {len(data):,} bytes\n")


if __name__ == "__main__":
    main()
