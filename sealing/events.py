"""An event's data, sealed: all that it says at once. Its envelope stays in clear.

Routing, order, and erasure need scope, source, id, type, times and subject, and the record's key has the session or the
state's key in it; none of them is a text. Erasures are not sealed: they name ids, and must be read by everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memstream.schemas.events import Event
from memstream.schemas.statement import Erased
from memstream.sealing.box import key_ids, open_sealed, place, seal
from memstream.sealing.keys import Key, KeyStore

CONTENT_TYPE = "application/vnd.memstream.sealed"
_JSON = b"application/json"

Headers = Sequence[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class Opened:
    """An event's record as it was before it was sealed, and the key that it is sealed with."""

    value: bytes
    headers: tuple[tuple[str, bytes], ...]
    key: Key


def seal_event(store: KeyStore, event: Event, value: bytes, headers: Headers) -> tuple[bytes, list[tuple[str, bytes]]]:
    """Value and headers of an event's record (see cloudevents.encode), sealed; an erasure's as they are.

    Raises what the store raises.
    """
    if isinstance(event.data, Erased):
        return value, list(headers)
    key = store.current(event.scope, event.subject or "")
    where = place("event", event.scope, event.source, event.id, event.type)
    kept = [(name, told) for name, told in headers if name.lower() != "content-type"]
    return seal([key], where, value), [*kept, ("content-type", CONTENT_TYPE.encode())]


def open_event(store: KeyStore, value: bytes, headers: Headers) -> Opened | None:
    """A sealed record, opened; None where its key is destroyed. Raises SealBroken, KeyMissing."""
    keys = store.get(key_ids(value))
    if keys is None:
        return None
    told = {name.lower(): raw.decode("utf-8", "replace") for name, raw in headers}
    where = place("event", *(told.get(f"ce_{name}", "") for name in ("scope", "source", "id", "type")))
    kept = tuple((name, raw) for name, raw in headers if name.lower() != "content-type")
    return Opened(open_sealed(keys, where, value), (*kept, ("content-type", _JSON)), keys[0])
