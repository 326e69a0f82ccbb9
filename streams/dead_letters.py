"""Dead letters: a record that could not be worked off, its key and bytes untouched, with the reason in its headers.

A log can't be edited, so what was decided about a letter is a mark in a compacted topic, keyed by the place of its
origin. A record that was refused twice across a restart has two letters, one place, and so one mark.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import orjson

from memstream.schemas.ids import utc_text
from memstream.schemas.limits import MAX_DEAD_LETTER_BYTES, MAX_ENVELOPE_BYTES, MAX_EVENT_BYTES
from memstream.schemas.topics import KEY_SEPARATOR, Topic
from memstream.streams.outlet import Message
from memstream.streams.records import Record, Refusal

PREFIX = "dl_"
_VERSION = importlib.metadata.version("memstream")
_MAX_MESSAGE = 4_000
_MAX_OWN_HEADERS = 32_000

Headers = tuple[tuple[str, bytes], ...]
Place = tuple[str, int, int]
"""Topic without its prefix, partition and offset."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A record as it goes to the topic of dead letters. The key is the origin's."""

    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(frozen=True, slots=True)
class LetterTold:
    """What a dead letter's headers say. `time` is the origin's append time, `size` that of its whole value."""

    topic: str
    partition: int
    offset: int
    time: str
    reason: str
    message: str
    stage: str
    version: str
    size: int
    cut: bool
    sha256: str | None
    event_type: str | None
    event_id: str | None
    scope: str | None = None

    @property
    def place(self) -> Place:
        """Where the origin lies: what names a letter, however often it was written."""
        return self.topic, self.partition, self.offset


class Decision(StrEnum):
    """What becomes of a dead letter."""

    RETRIED = "retried"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Mark:
    """A dead letter is done with. `sent` is where the event was put back."""

    place: Place
    decision: Decision
    note: str = ""
    sent: Place | None = None


def write_letter(record: Record, refusal: Refusal, stage: str) -> Letter:
    """The dead letter of a record. Headers of its own are kept; ours begin with `dl_`.

    A value that is larger than a dead letter may be is cut: `dl_size` and `dl_sha256` then tell of the whole.
    """
    told = {
        "reason": refusal.reason.value,
        "message": refusal.message[:_MAX_MESSAGE],
        "stage": stage,
        "version": _VERSION,
        "topic": record.topic,
        "partition": str(record.partition),
        "offset": str(record.offset),
        "time": utc_text(datetime.fromtimestamp(record.appended_ms / 1000, UTC)),
    }
    value = record.value
    room = MAX_DEAD_LETTER_BYTES - len(record.key or b"")
    if value is not None and len(value) > room:
        told |= {"size": str(len(value)), "sha256": hashlib.sha256(value).hexdigest()}
        value = value[:room]
    ours = tuple((PREFIX + name, text.encode("utf-8", "replace")) for name, text in told.items())
    return Letter(record.key, value, (*_that_fit(record.headers), *ours))


def read_letter(headers: Sequence[tuple[str, bytes]], value: bytes | None, key: bytes | None = None) -> LetterTold:
    """What a record of the topic of dead letters tells. What it does not say is empty or 0."""
    told = {name: (raw or b"").decode("utf-8", "replace") for name, raw in headers}
    size = told.get(PREFIX + "size")
    return LetterTold(
        topic=told.get(PREFIX + "topic", ""),
        partition=_number(told.get(PREFIX + "partition")),
        offset=_number(told.get(PREFIX + "offset")),
        time=told.get(PREFIX + "time", ""),
        reason=told.get(PREFIX + "reason", ""),
        message=told.get(PREFIX + "message", ""),
        stage=told.get(PREFIX + "stage", ""),
        version=told.get(PREFIX + "version", ""),
        size=len(value or b"") if size is None else _number(size),
        cut=size is not None,
        sha256=told.get(PREFIX + "sha256"),
        event_type=told.get("ce_type"),
        event_id=told.get("ce_id"),
        scope=told.get("ce_scope") or told.get(PREFIX + "scope") or _scope_inside(value) or _scope_of_key(key),
    )


def write_mark(mark: Mark) -> Message:
    """The record of a mark."""
    told: dict[str, Any] = {"decision": mark.decision.value, "note": mark.note[:_MAX_MESSAGE]}
    if mark.sent is not None:
        told["sent"] = list(mark.sent)
    key = KEY_SEPARATOR.join(map(str, mark.place)).encode()
    return Message(Topic.DEAD_LETTER_DONE, key, orjson.dumps(told))


def read_mark(key: bytes | None, value: bytes | None) -> Mark | None:
    """The mark of a record; None for what is none."""
    try:
        topic, partition, offset = (key or b"").decode().split(KEY_SEPARATOR)
        told = orjson.loads(value or b"")
        sent = tuple(told["sent"]) if "sent" in told else None
        return Mark((topic, int(partition), int(offset)), Decision(told["decision"]), told.get("note", ""), sent)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _scope_inside(value: bytes | None) -> str | None:
    """The scope that an event in structured mode, or a patch, tells in its bytes."""
    if not value or not value.lstrip().startswith(b"{") or len(value) > MAX_EVENT_BYTES + MAX_ENVELOPE_BYTES:
        return None
    try:
        told = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    origin = told.get("origin")
    scope = origin.get("scope") if isinstance(origin, dict) else told.get("scope")
    return scope if isinstance(scope, str) else None


def _scope_of_key(key: bytes | None) -> str | None:
    return (key or b"").decode("utf-8", "replace").partition(KEY_SEPARATOR)[0] or None


def _that_fit(headers: Headers) -> Headers:
    kept, size = [], 0
    for name, value in headers:
        size += len(name) + len(value)
        if size > _MAX_OWN_HEADERS:
            break
        kept.append((name, value))
    return tuple(kept)


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() else 0
