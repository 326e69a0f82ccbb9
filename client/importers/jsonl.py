"""One event a line: our own CloudEvents in structured mode, or plain {role, content, time?, session?, …} messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from pydantic import ValidationError

from memstream.client.importers.recording import BASE_TIME, Recording, Report
from memstream.client.importers.shapes import moment_of, role_of, text_of
from memstream.schemas.cloudevents import decode_structured, encode, refusal
from memstream.schemas.conversation import Message, Role
from memstream.schemas.errors import InvalidEvent, InvalidInput
from memstream.schemas.events import EVENT_TYPES, FORMER_TYPES, Event, recorded_at
from memstream.schemas.ids import hash_of
from memstream.schemas.topics import Topic, record_key

_BY_SESSION = {Topic.CONVERSATION, Topic.TOOL_CALL, Topic.FEEDBACK}


def events(recording: Recording, report: Report) -> Iterator[Event]:
    """The events of a file's lines. What can't be read goes to the report with its line number."""
    plain = _Plain(recording, report)
    for number, line in _lines(recording.data):
        try:
            parsed = _object(line)
            event = _strict(line, recording, report) if "specversion" in parsed else plain.event(parsed)
        except (InvalidEvent, InvalidInput) as error:
            report.refuse(f"line {number}", error, line)
        except orjson.JSONDecodeError as error:
            report.refuse(f"line {number}", f"is not JSON: {error}", line)
        else:
            yield event


def strict_events(recording: Recording, report: Report) -> Iterator[Event]:
    """The events of a file of CloudEvents alone. What is none goes to the report, with its line number and bytes."""
    for number, line in _lines(recording.data):
        try:
            event = _strict(line, recording, report)
        except InvalidEvent as error:
            report.refuse(f"line {number}", error, line)
        else:
            yield event


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line that is no event, to be sent as it is: where it would go, and why it will be refused there."""

    topic: Topic
    key: bytes
    line: bytes
    where: str
    why: str


def all_lines(recording: Recording, report: Report) -> Iterator[Event | RawLine]:
    """Every line of a file of CloudEvents in order: as an event, else as it is (noted in the report too)."""
    for number, line in _lines(recording.data):
        try:
            yield _strict(line, recording, report)
        except InvalidEvent as error:
            report.refuse(f"line {number}", error, line)
            yield _raw(line, f"line {number}", str(error))


def _raw(line: bytes, where: str, why: str) -> RawLine:
    """Topic and key as far as they can be read: the conversation topic and no session otherwise."""
    try:
        parsed = orjson.loads(line)
    except orjson.JSONDecodeError:
        parsed = None
    fields = parsed if isinstance(parsed, Mapping) else {}
    kind = (EVENT_TYPES | FORMER_TYPES).get(str(fields.get("type")))
    data = fields.get("data")
    session = data.get("session_id") if isinstance(data, Mapping) else None
    topic = kind.topic if kind else Topic.CONVERSATION
    key = record_key(str(fields.get("scope", "")), str(session) if session and topic in _BY_SESSION else "")
    return RawLine(topic, key, line, where, why)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    # split at \n alone: U+2028 and the like may stand inside a JSON string
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            yield number, line.strip()


def _object(line: bytes) -> Mapping[str, Any]:
    parsed = orjson.loads(line)
    if not isinstance(parsed, Mapping) or not ("specversion" in parsed or "role" in parsed):
        raise InvalidInput("a line is an object: a message with 'role' and 'content', or an event with 'specversion'")
    return parsed


def _strict(line: bytes, recording: Recording, report: Report) -> Event:
    event = decode_structured(line)
    recorded_at(event, recording.read_at)
    report.count(event.data)
    return event


class _Plain:
    """Plain lines: positions are counted by session, minted times by line."""

    def __init__(self, recording: Recording, report: Report) -> None:
        self._recording = recording
        self._report = report
        self._positions: dict[str, int] = {}
        self._seconds = 0
        self._last: dict[str, datetime] = {}

    def event(self, line: Mapping[str, Any]) -> Event:
        recording = self._recording
        session = str(line.get("session_id") or line.get("session") or recording.session or recording.dataset)
        position = self._positions.get(session, 0)
        scope = str(line.get("scope") or recording.scope)
        if not scope:
            self._report.without_scope += 1
            raise InvalidInput("the line has no scope: give it one as 'scope', or all of them with --scope")
        time, recorded = self._time(line, session)
        role = role_of(line, "the line")
        try:
            message = Message(
                session_id=session,
                role=role,
                content=text_of(line["content"] if "content" in line else line.get("text"), self._report, "the line"),
                name=line.get("name"),
                agent_id=line.get("agent_id") or (recording.agent_id if role is Role.ASSISTANT else None),
                user_id=line.get("user_id") or (recording.user_id if role is Role.USER else None),
            )
        except ValidationError as error:
            raise refusal(error, "data") from error
        try:
            event = Event.of(
                message,
                id=str(line.get("id") or hash_of("import", recording.dataset, session, "message", str(position))),
                source=recording.event_source,
                time=time,
                scope=scope,
                sequence=str(position),
                recordedtime=time if recorded else None,
            )
        except ValidationError as error:
            raise refusal(error, "attribute") from error
        recorded_at(event, recording.read_at)
        encode(event)
        self._positions[session] = position + 1
        self._report.runs = len(self._positions)
        self._report.count(message)
        self._report.minted_event_ids += not line.get("id")
        return event

    def _time(self, line: Mapping[str, Any], session: str) -> tuple[datetime, bool]:
        given = moment_of(line, "the line")
        if given is None:
            self._report.minted_times += 1
            before = self._last.get(session)
            given_or_minted = before + timedelta(seconds=1) if before else BASE_TIME + timedelta(seconds=self._seconds)
        else:
            given_or_minted = given
            self._last[session] = given
        self._seconds += 1
        return given_or_minted, given is not None
