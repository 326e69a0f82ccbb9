"""Deterministic ids: hashes of fixed length over length-prefixed parts, so that no two lists of parts collide."""

from __future__ import annotations

import hashlib
import os
import time
from datetime import UTC, datetime

from memstream.schemas.extraction import EntityType
from memstream.schemas.names import normalise_name

HASH_CHARS = 32


def hash_of(*parts: str) -> str:
    """The first 128 bits of SHA-256 over the parts, as 32 hex digits."""
    h = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        h.update(len(data).to_bytes(8, "big"))
        h.update(data)
    return h.hexdigest()[:HASH_CHARS]


def event_key(scope: str, source: str, event_id: str) -> str:
    """The identity of an event: (scope, source, id). Also the id of the node that the event alone makes."""
    return hash_of("event", scope, source, event_id)


def entity_id(scope: str, entity_type: EntityType | str, name: str) -> str:
    """The id of an entity: (scope, type, normalised name)."""
    return hash_of("entity", scope, str(entity_type), normalise_name(name))


def named_id(kind: str, scope: str, name: str) -> str:
    """The id of what a scope knows by a name given to it: a session, a trace, a step, a call, a tool, an agent."""
    return hash_of(kind, scope, name)


def scope_token(scope: str) -> str:
    """The term that stands for a scope in a shared full-text index."""
    return "z" + hash_of("scope", scope)


def utc_text(moment: datetime) -> str:
    """A time as text that sorts by time: UTC, microseconds, fixed width."""
    # not strftime: it writes the year 33 as "33" on some systems
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def order_key(time_text: str, sequence: str | None, source: str, event_id: str, ordinal: int = 0) -> str:
    """The place of something said: (time, sequence, source, event id, ordinal), as a text that sorts like the tuple."""
    number = f"{int(sequence):020d}" if sequence and sequence.isdigit() else (sequence or "")
    return "\x1f".join((time_text, number, source, event_id, f"{ordinal:06d}"))


def new_event_id() -> str:
    """A fresh id that sorts by the time it was made: UUID version 7 (RFC 9562)."""
    ms = time.time_ns() // 1_000_000
    value = (ms << 80) | (0x7 << 76) | (int.from_bytes(os.urandom(2)) & 0xFFF) << 64
    value |= (0b10 << 62) | (int.from_bytes(os.urandom(8)) & ((1 << 62) - 1))
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
