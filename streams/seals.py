"""Seals in the extraction stage: events are opened at its door, and what leaves it is sealed again.

An event that can't be opened, since its key is destroyed, is passed over: it leaves a patch that says so, and stands in
its session like a wall. What was said before it explains nothing that is said after it. Keys are held as they were when
an event was opened: what becomes of it is sealed with the same ones, though they may be destroyed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import orjson
from pydantic import TypeAdapter, ValidationError

from memstream.schemas.base import Id, Moment
from memstream.schemas.errors import FatalError, InvalidEvent, Reason
from memstream.schemas.events import EVENT_TYPES, FORMER_TYPES, Event
from memstream.schemas.ids import utc_text
from memstream.schemas.patch import Patch, Verdict
from memstream.schemas.statement import Erased
from memstream.schemas.topics import KEY_SEPARATOR, Topic
from memstream.sealing import Key, KeyMissing, KeyStore, SealBroken, is_sealed, key_ids, open_sealed, place, seal
from memstream.sealing.box import MOST_KEYS
from memstream.sealing.events import open_event
from memstream.sealing.patches import KEY_DESTROYED
from memstream.streams.admission import appended_text, identity_of, without_rows
from memstream.streams.projection import encode
from memstream.streams.projection.sections import KeysOf, sealed
from memstream.streams.records import Record
from memstream.streams.sealed_letters import MESSAGE_IS_SEALED
from memstream.streams.session_state import SessionState

_BY_SESSION = frozenset({Topic.CONVERSATION, Topic.TOOL_CALL, Topic.FEEDBACK})
_MOMENT = TypeAdapter(Moment)
_ID = TypeAdapter(Id)
NO_KEYS = (
    "the log is sealed, and MEMSTREAM_KEYS is not set here: set it to the store of keys that the publishers use, so "
    "that what they publish is read and not passed over"
)


class Seals:
    """The store of keys as a chunk uses it; without a store nothing is sealed, and nothing sealed is read."""

    def __init__(self, store: KeyStore | None) -> None:
        self._store = store

    def open(self, record: Record) -> tuple[Record, Key | None] | None:
        """A record as it was before it was sealed, with its key; None where that is destroyed.

        Raises InvalidEvent where the seal is broken, KeyMissing where this process lacks the keys of its log.
        """
        if not is_sealed(record.value):
            return record, None
        if self._store is None:
            raise KeyMissing(NO_KEYS)
        try:
            opened = open_event(self._store, record.value or b"", record.headers)
        except SealBroken as error:
            raise InvalidEvent(Reason.SEAL_BROKEN, str(error)) from error
        if opened is None:
            return None
        return replace(record, value=opened.value, headers=opened.headers), opened.key

    def key_for(self, event: Event, sealed_with: Key | None) -> Key | None:
        """The key for what becomes of an event: its own, or that of its subject where it was published in clear."""
        if self._store is None or sealed_with is not None or isinstance(event.data, Erased):
            return sealed_with
        return self._store.current(event.scope, event.subject or "")

    def encode(self, patch: Patch, key: Key | None, keys_of: KeysOf) -> bytes:
        """The bytes of a patch, sealed where there is a key."""
        if key is None:
            return encode(patch)
        return encode(patch, lambda one: sealed(one, key, keys_of))

    @property
    def told(self) -> str | None:
        """What patches of refused events say in the place of what was wrong; None where they may say it in clear."""
        return None if self._store is None else MESSAGE_IS_SEALED

    def payload(self, scope: str, key: Key | None, whole: bytes) -> bytes:
        """A whole result as it goes to the offload store."""
        return whole if key is None else seal([key], place("payload", scope), whole)

    def open_state(self, state: SessionState, session: bytes | None) -> None:
        """Read what a session's state has sealed; where one of its keys is destroyed it begins anew."""
        if not state.sealed:
            return
        if self._store is None:
            raise KeyMissing(NO_KEYS)
        keys = self._store.get(key_ids(state.sealed))
        if keys is None:
            state.begin_anew()
            return
        try:
            told = orjson.loads(open_sealed(keys, state_place(session), state.sealed))
        except SealBroken as error:
            raise FatalError(f"a session's state can't be opened: {error}") from error
        state.unseal(told, {key.id: key for key in keys})


def state_place(session: bytes | None) -> bytes:
    """Where a session's state belongs: under its key."""
    scope, _, name = (session or b"").decode("utf-8", "replace").partition(KEY_SEPARATOR)
    return place("session state", scope, name)


def encode_state(state: SessionState, session: bytes | None) -> bytes:
    """The bytes of a session's state, sealed by the keys of all whose words it holds."""
    return state.encode(lambda content: seal(list(state.keys.values()), state_place(session), content))


def is_full(state: SessionState, key: Key) -> bool:
    """Whether so many people have spoken in a session that one more has no room in what its state takes to open."""
    return key.id not in state.keys and len(state.keys) >= MOST_KEYS


def keys_of(by_event: Mapping[str, Key], else_all: Iterable[Key]) -> Callable[[str], Iterable[Key]]:
    """The key of an event that was used, or all that it may be where an extractor names events in a way of its own."""
    everybody = tuple(else_all)
    return lambda used: (by_event[used],) if used in by_event else everybody


def explains(record: Record) -> bool:
    """Whether a record that can't be read may have been said to somebody: then it is a wall in its session."""
    told = next((raw for name, raw in record.headers if name.lower() == "ce_type"), b"").decode("utf-8", "replace")
    kind = EVENT_TYPES.get(told) or FORMER_TYPES.get(told)
    return kind is None or kind.short == "message"


def unreadable(record: Record) -> Patch | None:
    """The patch of a sealed event whose key is destroyed; None where its envelope is no envelope.

    It has no rows, and the lowest generation: a patch that was made while the key was there counts before it.
    """
    identity = identity_of(record)
    if identity is None:
        return None
    told = {name.lower(): raw.decode("utf-8", "replace") for name, raw in record.headers}
    appended = appended_text(record)
    try:
        said = utc_text(_MOMENT.validate_python(told["ce_time"]))
        first = utc_text(_MOMENT.validate_python(told["ce_recordedtime"])) if "ce_recordedtime" in told else appended
        subject = _ID.validate_python(told["ce_subject"]) if "ce_subject" in told else None
    except (KeyError, ValidationError):
        return None
    session = (record.key or b"").decode("utf-8", "replace").partition(KEY_SEPARATOR)[2]
    return without_rows(
        record,
        identity,
        Verdict.UNREADABLE,
        KEY_DESTROYED,
        time=said,
        recorded_at=min(first, appended),
        sequence=told.get("ce_sequence"),
        subject=subject,
        session_id=session or None if record.topic in _BY_SESSION else None,
    )
