"""Dead letters: a record that could not be worked off, its key and bytes untouched, with the reason in its headers."""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from memstream.schemas.ids import utc_text
from memstream.schemas.limits import MAX_DEAD_LETTER_BYTES
from memstream.streams.records import Record, Refusal

PREFIX = "dl_"
_VERSION = importlib.metadata.version("memstream")
_MAX_MESSAGE = 4_000
_MAX_OWN_HEADERS = 32_000

Headers = tuple[tuple[str, bytes], ...]


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


def read_letter(headers: Sequence[tuple[str, bytes]], value: bytes | None) -> LetterTold:
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
    )


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
