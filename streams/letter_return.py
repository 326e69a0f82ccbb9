"""What a dead letter is put back as: untouched or corrected, with the time of its first appearance.

An event that would be refused again is told at once, and stays a dead letter. Its identity (source and id) stays what
it was, so that the graph takes it once, however many put it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson
from pydantic import TypeAdapter

from memstream.schemas import cloudevents
from memstream.schemas.base import Moment
from memstream.schemas.errors import InvalidEvent, InvalidInput, InvalidPatch
from memstream.schemas.events import Event, recorded_at
from memstream.schemas.ids import utc_text
from memstream.schemas.topics import EVENT_TOPICS, Topic
from memstream.sealing import KeyStore, SealBroken, is_sealed, place, seal
from memstream.sealing.events import CONTENT_TYPE, open_event, seal_event
from memstream.sinks.records import PatchRecord, decode
from memstream.streams.dead_letters import PREFIX, Headers
from memstream.streams.letter_book import Filed
from memstream.streams.outlet import Message
from memstream.streams.sealed_letters import DESTROYED, whose

_RECORDED = "ce_recordedtime"
_MOMENT: TypeAdapter[datetime] = TypeAdapter(Moment)


def untouched(letter: Filed, *, anyway: bool = False, keys: KeyStore | None = None) -> Message:
    """The letter's record as it was, for the topic and under the key where it belongs; sealed where the log is.

    Raises InvalidInput where it would be refused again (unless `anyway`), its bytes are not whole any more, or can't be
    read any more.
    """
    if letter.told.cut:
        raise InvalidInput(
            f"Dead letter {letter.name} was cut: its {letter.told.size:,} bytes are in {_origin(letter)}. "
            "Put a smaller event back with --file"
        )
    if letter.told.topic == Topic.PATCHES:
        return _patch(letter, anyway, keys)
    readable = opened(letter, keys)
    try:
        event = cloudevents.decode(readable.own_headers, readable.value)
        _check_time(letter, event)
    except InvalidEvent as error:
        if not anyway:
            raise InvalidInput(
                f"Dead letter {letter.name} would be refused again ({error.reason}): {error}. Correct it with --edit "
                "or --file, or send it as it is with --anyway"
            ) from error
        value, headers = (letter.value, letter.own_headers) if keys is None else _sealed_as_is(letter, keys)
        return Message(_topic(letter), letter.key, value, headers)
    if keys is not None and readable is letter:
        first = _first_time(letter, event)
        return _message(event.model_copy(update={"recordedtime": first}) if first else event, keys)
    value, headers = _with_first_time(letter, event)
    return Message(event.kind.topic, event.record_key, value, headers)


def corrected(letter: Filed, document: bytes, keys: KeyStore | None = None) -> Message:
    """The record of an event that a person wrote: the whole of it as one JSON document, or its data alone.

    It is sealed where the log is.

    Raises InvalidInput where it is no event of ours, or another one than the letter's.
    """
    if letter.told.topic == Topic.PATCHES:
        raise InvalidInput(
            f"Dead letter {letter.name} is a patch, which is made from its event and not by hand. Retry it untouched "
            "when what the message says is mended, or publish its event rightly, under the same id"
        )
    try:
        event = _event(letter, document)
        _check_time(letter, event)
    except InvalidEvent as error:
        raise InvalidInput(
            f"The correction of dead letter {letter.name} is no event ({error.reason}): {error}"
        ) from error
    _check_identity(letter, event)
    first = _first_time(letter, event)
    return _message(event.model_copy(update={"recordedtime": first}) if first else event, keys)


def opened(letter: Filed, keys: KeyStore | None) -> Filed:
    """A letter with its event in clear, for reading. Raises InvalidInput where nobody can, or we lack the keys."""
    if not is_sealed(letter.value):
        return letter
    if keys is None:
        raise InvalidInput(f"Dead letter {letter.name} is sealed: set MEMSTREAM_KEYS as its publisher has it")
    if letter.told.message == DESTROYED:
        found = None
    else:
        try:
            found = open_event(keys, letter.value or b"", letter.own_headers)
        except SealBroken as error:
            raise InvalidInput(f"Dead letter {letter.name} can't be opened: {error}") from error
    if found is None:
        raise InvalidInput(
            f"Dead letter {letter.name} can't be read any more, {DESTROYED}: `memstream dlq drop {letter.name}`"
        )
    ours = tuple((name, raw) for name, raw in letter.headers if name.startswith(PREFIX))
    return replace(letter, value=found.value, headers=(*found.headers, *ours))


def as_document(letter: Filed) -> bytes:
    """The letter as one JSON document for a person to correct: the envelope as far as it can be read, and the data."""
    told = _attributes(letter)
    document: dict[str, Any] = {"specversion": cloudevents.SPEC_VERSION, **told, "data": _json(letter.value)}
    if "id" not in told and isinstance(document["data"], dict):
        document = document["data"]  # structured mode: all of it is in the value
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _message(event: Event, keys: KeyStore | None) -> Message:
    key, value, headers = cloudevents.encode(event)
    if keys is not None:
        value, headers = seal_event(keys, event, value, headers)
    return Message(event.kind.topic, key, value, tuple(headers))


def _sealed_as_is(letter: Filed, keys: KeyStore) -> tuple[bytes | None, Headers]:
    """What is no event, sealed like one. Raises InvalidInput where its headers do not tell which event it is."""
    if is_sealed(letter.value):
        return letter.value, letter.own_headers
    told = _attributes(letter)
    names = [str(told.get(name, "")) for name in ("scope", "source", "id", "type")]
    scope, subject = whose(letter.key, letter.value, letter.own_headers)
    if not all(names) or names[0] != scope:
        raise InvalidInput(
            f"Dead letter {letter.name} does not tell in its headers which event it is, so it can't be sealed, and in "
            "clear it would lie in its topic: correct it with --edit or --file"
        )
    value = seal([keys.current(scope, subject)], place("event", *names), letter.value or b"")
    kept = tuple((name, raw) for name, raw in letter.own_headers if name.lower() != "content-type")
    return value, (*kept, ("content-type", CONTENT_TYPE.encode()))


def _patch(letter: Filed, anyway: bool, keys: KeyStore | None) -> Message:
    try:
        decode(PatchRecord(letter.told.offset, letter.key, letter.value), keys)
    except InvalidPatch as error:
        if not anyway:
            raise InvalidInput(f"Dead letter {letter.name}, a patch, would be refused again: {error}") from error
    return Message(Topic.PATCHES, letter.key, letter.value, letter.own_headers)


def _event(letter: Filed, document: bytes) -> Event:
    parsed = cloudevents.parse_json(document)
    if isinstance(parsed, dict) and "specversion" in parsed:
        return cloudevents.decode_structured(document)
    told = _attributes(letter)
    if "id" not in told:
        raise InvalidInput(
            f"The letter {letter.name} tells no envelope to put this data into: write the whole event, with "
            "specversion, id, source, type, time, scope and data"
        )
    envelope = {"specversion": cloudevents.SPEC_VERSION, **told}
    return cloudevents.decode([(f"ce_{name}", text.encode()) for name, text in envelope.items()], document)


def _check_identity(letter: Filed, event: Event) -> None:
    told = _attributes(letter)
    if "id" not in told:
        inside = _json(letter.value)
        told = inside if isinstance(inside, dict) else {}
    for name, text in (("id", event.id), ("source", event.source)):
        before = told.get(name)
        if isinstance(before, str) and before.isprintable() and before.strip() and before != text:
            raise InvalidInput(
                f"The correction has the {name} {text!r}, dead letter {letter.name} has {before!r}: it stays the same, "
                "so that the event is taken once. Another event is published and not retried"
            )


def _check_time(letter: Filed, event: Event) -> None:
    if letter.told.time:
        recorded_at(event, _MOMENT.validate_python(letter.told.time))


def _first_time(letter: Filed, event: Event) -> datetime | None:
    """When the event was first appended: it was recorded then, and an erasure since then reaches it."""
    if not letter.told.time:
        return event.recordedtime
    appended = _MOMENT.validate_python(letter.told.time)
    return min(appended, event.recordedtime or appended)


def _with_first_time(letter: Filed, event: Event) -> tuple[bytes | None, Headers]:
    first = _first_time(letter, event)
    if first is None or first == event.recordedtime:
        return letter.value, letter.own_headers
    if any(name.lower() == "ce_id" for name, _ in letter.own_headers):
        kept = tuple((name, value) for name, value in letter.own_headers if name.lower() != _RECORDED)
        return letter.value, (*kept, (_RECORDED, utc_text(first).encode()))
    document = orjson.loads(letter.value or b"{}")
    return orjson.dumps({**document, "recordedtime": utc_text(first)}), letter.own_headers


def _attributes(letter: Filed) -> Mapping[str, Any]:
    """The envelope in the headers, where it is text."""
    return {
        name.lower().removeprefix("ce_"): value.decode("utf-8", "replace")
        for name, value in letter.own_headers
        if name.lower().startswith("ce_") and name.lower() != "ce_specversion"
    }


def _json(value: bytes | None) -> Any:
    try:
        return orjson.loads(value or b"null")
    except orjson.JSONDecodeError:
        return (value or b"").decode("utf-8", "replace")


def _topic(letter: Filed) -> Topic:
    if letter.told.topic not in {topic.value for topic in EVENT_TOPICS}:
        raise InvalidInput(f"Dead letter {letter.name} does not say from which topic it is: put it back with --file")
    return Topic(letter.told.topic)


def _origin(letter: Filed) -> str:
    return f"{letter.told.topic}, partition {letter.told.partition}, offset {letter.told.offset}"
