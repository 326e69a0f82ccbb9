"""A search of what lies beside the graph for what was erased: offloaded payloads, dead letters, and our own topics.

What a log topic holds it keeps: records can't be taken out of its middle. So the topics are told of, and only what can
be deleted (payloads) or was taken out of the way of everybody (dead letters) counts as found. What is sealed is opened
and looked into; where its key is destroyed nobody can read it, and it is counted as that.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

import orjson
from aiokafka import ConsumerRecord

from memstream.schemas.errors import InvalidPatch, TopicMismatch
from memstream.schemas.ids import event_key
from memstream.schemas.topics import EVENT_TOPICS, KEY_SEPARATOR, Topic
from memstream.sealing import KeyMissing, KeyStore, SealBroken, is_sealed, key_ids, open_sealed, place
from memstream.sealing.events import open_event
from memstream.sealing.patches import is_sealed_patch, open_patch
from memstream.settings import Settings
from memstream.sinks.proof import Finding, Needles, Searched
from memstream.streams.admission import identity_of
from memstream.streams.dead_letters import read_letter
from memstream.streams.log_reader import read_to_end
from memstream.streams.offload import OffloadStore
from memstream.streams.records import Record
from memstream.streams.sealed_letters import is_sealed_letter, opened_letter
from memstream.streams.seals import NO_KEYS, Seals
from memstream.streams.session_state import SEALED_VERSION, SessionState

_STATE_BEGINS = b'{"v":%d,"offset":' % SEALED_VERSION
OUR_TOPICS = (Topic.PATCHES, Topic.SESSION_STATE, Topic.CHANGES)


@dataclass(slots=True)
class Held:
    """What a topic still holds of what is erased: how many of its records, and where the first ones lie.

    Of these `unreadable` are sealed, and the key is destroyed.
    """

    topic: str
    records: int = 0
    held: int = 0
    unreadable: int = 0
    first: list[str] = field(default_factory=list)

    def take(self, record: ConsumerRecord, *, readable: bool) -> None:
        """A record that holds some of it."""
        self.held += 1
        self.unreadable += not readable
        if len(self.first) < 5:
            self.first.append(f"{record.partition}:{record.offset}")


def search_payloads(
    settings: Settings, scopes: Sequence[str], needles: Needles, found: Searched, keys: KeyStore | None = None
) -> None:
    """Look into the scopes' payloads in the offload store. Raises OffloadUnavailable, KeyMissing."""
    store = OffloadStore(settings.offload_url)
    for scope in scopes:
        for handle in store.all(scope):
            found.count("payloads")
            whole = payload(keys, scope, store.fetch(handle))
            found.count("payloads that nobody can read", whole is None)
            if whole is not None and needles.found_in(whole.decode("utf-8", "replace")):
                found.findings.append(Finding("offload", handle, "its text"))


async def search_letters(
    settings: Settings, scopes: Sequence[str], needles: Needles, found: Searched, keys: KeyStore | None = None
) -> None:
    """Look through the dead letters of the scopes. Raises BrokerUnavailable, KeyMissing."""
    topic = settings.topic(Topic.DEAD_LETTER)
    async for record in _records(settings, topic):
        found.count("dead letters")
        holds, readable = _holds(record, set(scopes), needles, found.erased, keys)
        found.count("dead letters that nobody can read", not readable)
        if holds and readable:
            found.findings.append(Finding("dead letters", f"{record.partition}:{record.offset}", "its event"))


async def search_topics(
    settings: Settings,
    scopes: Sequence[str],
    needles: Needles,
    erased: Mapping[str, str | None],
    keys: KeyStore | None = None,
) -> list[Held]:
    """Count what the topics still hold of it. Raises BrokerUnavailable, KeyMissing."""
    told = []
    for topic in (*EVENT_TOPICS, *OUR_TOPICS):
        held = Held(settings.topic(topic))
        async for record in _records(settings, held.topic):
            held.records += 1
            holds, readable = _holds(record, set(scopes), needles, erased, keys)
            if holds:
                held.take(record, readable=readable)
        told.append(held)
    return told


async def _records(settings: Settings, topic: str) -> AsyncIterator[ConsumerRecord]:
    try:
        async for record in read_to_end(settings, topic):
            yield record
    except TopicMismatch:
        return  # a topic that was never made holds nothing


def payload(keys: KeyStore | None, scope: str, stored: bytes) -> bytes | None:
    """A whole result out of what the offload store has; None where it is sealed and nobody can read it.

    Raises KeyMissing, SealBroken.
    """
    if not is_sealed(stored):
        return stored
    opened = _store(keys).get(key_ids(stored))
    return None if opened is None else open_sealed(opened, place("payload", scope), stored)


def _holds(
    record: ConsumerRecord,
    scopes: set[str],
    needles: Needles,
    erased: Mapping[str, str | None],
    keys: KeyStore | None,
) -> tuple[bool, bool]:
    """Whether a record of one of the scopes is of an erased event, or has one of the words or ids in it.

    And whether somebody can read it.
    """
    scope, key = _whose(record)
    if scope not in scopes:
        return False, True
    value = _content(record, keys)
    if key in erased:
        return True, value is not None
    parts = [record.key or b"", value or b"", *(told or b"" for _, told in record.headers)]
    return any(needles.found_in(_readable(part)) for part in parts), value is not None


def _content(record: ConsumerRecord, keys: KeyStore | None) -> bytes | None:
    """What a record says, opened; None where it is sealed and its key is destroyed."""
    value = record.value or b""
    headers = tuple((name, told or b"") for name, told in record.headers)
    try:
        if is_sealed_letter(headers):
            letter = opened_letter(_store(keys), read_letter(headers, value, record.key), value, headers)
            if is_sealed_letter(letter[2]):
                return None
            value = letter[1] or b""
        if is_sealed(value):
            opened = open_event(_store(keys), value, headers)
            return None if opened is None else opened.value
        if is_sealed_patch(value):
            patch = open_patch(_store(keys), value)
            return None if patch.unreadable else patch.value
        return _state(record.key, value, keys) if value.startswith(_STATE_BEGINS) else value
    except (SealBroken, InvalidPatch):
        return None


def _state(session: bytes | None, value: bytes, keys: KeyStore | None) -> bytes | None:
    state = SessionState.decode(value)
    if not state.sealed:
        return value
    Seals(_store(keys)).open_state(state, session)
    return state.extractor or None


def _store(keys: KeyStore | None) -> KeyStore:
    if keys is None:
        raise KeyMissing(NO_KEYS)
    return keys


def _whose(record: ConsumerRecord) -> tuple[str, str | None]:
    """The scope of a record, and the key of the event that it is or that it is of."""
    headers = tuple((name, value or b"") for name, value in record.headers)
    identity = identity_of(
        Record(record.topic, record.partition, record.offset, record.timestamp, record.key, record.value, headers)
    )
    if identity is not None:
        scope, source, event_id, _ = identity
        return scope, event_key(scope, source, event_id)
    try:
        origin = orjson.loads(record.value or b"")["origin"]
        return str(origin["scope"]), str(origin["key"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return (record.key or b"").decode("utf-8", "replace").partition(KEY_SEPARATOR)[0], None


def _readable(part: bytes) -> str:
    """As text; JSON is written out, so that no escape hides a word."""
    text = part.decode("utf-8", "replace")
    if "\\u" in text:
        try:
            return orjson.dumps(orjson.loads(part)).decode()
        except orjson.JSONDecodeError:
            return text
    return text
