"""A search of what lies beside the graph for what was erased: offloaded payloads, dead letters, and our own topics.

What a log topic holds it keeps: records can't be taken out of its middle. So the topics are told of, and only what can
be deleted (payloads) or was taken out of the way of everybody (dead letters) counts as found.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

import orjson
from aiokafka import ConsumerRecord

from memstream.schemas.errors import TopicMismatch
from memstream.schemas.ids import event_key
from memstream.schemas.topics import EVENT_TOPICS, KEY_SEPARATOR, Topic
from memstream.settings import Settings
from memstream.sinks.proof import Finding, Needles, Searched
from memstream.streams.admission import identity_of
from memstream.streams.log_reader import read_to_end
from memstream.streams.offload import OffloadStore
from memstream.streams.records import Record

OUR_TOPICS = (Topic.PATCHES, Topic.SESSION_STATE, Topic.CHANGES)


@dataclass(slots=True)
class Held:
    """What a topic still holds of what is erased: how many of its records, and where the first ones lie."""

    topic: str
    records: int = 0
    held: int = 0
    first: list[str] = field(default_factory=list)

    def take(self, record: ConsumerRecord) -> None:
        """A record that holds some of it."""
        self.held += 1
        if len(self.first) < 5:
            self.first.append(f"{record.partition}:{record.offset}")


def search_payloads(settings: Settings, scopes: Sequence[str], needles: Needles, found: Searched) -> None:
    """Look into the scopes' payloads in the offload store. Raises OffloadUnavailable."""
    store = OffloadStore(settings.offload_url)
    for scope in scopes:
        for handle in store.all(scope):
            found.count("payloads")
            if needles.found_in(store.fetch(handle).decode("utf-8", "replace")):
                found.findings.append(Finding("offload", handle, "its text"))


async def search_letters(settings: Settings, scopes: Sequence[str], needles: Needles, found: Searched) -> None:
    """Look through the dead letters of the scopes. Raises BrokerUnavailable."""
    topic = settings.topic(Topic.DEAD_LETTER)
    async for record in _records(settings, topic):
        found.count("dead letters")
        if _holds(record, set(scopes), needles, found.erased):
            found.findings.append(Finding("dead letters", f"{record.partition}:{record.offset}", "its event"))


async def search_topics(
    settings: Settings, scopes: Sequence[str], needles: Needles, erased: Mapping[str, str | None]
) -> list[Held]:
    """Count what the topics still hold of it. Raises BrokerUnavailable."""
    told = []
    for topic in (*EVENT_TOPICS, *OUR_TOPICS):
        held = Held(settings.topic(topic))
        async for record in _records(settings, held.topic):
            held.records += 1
            if _holds(record, set(scopes), needles, erased):
                held.take(record)
        told.append(held)
    return told


async def _records(settings: Settings, topic: str) -> AsyncIterator[ConsumerRecord]:
    try:
        async for record in read_to_end(settings, topic):
            yield record
    except TopicMismatch:
        return  # a topic that was never made holds nothing


def _holds(record: ConsumerRecord, scopes: set[str], needles: Needles, erased: Mapping[str, str | None]) -> bool:
    """Whether a record of one of the scopes is of an erased event, or has one of the words or ids in it."""
    scope, key = _whose(record)
    if scope not in scopes:
        return False
    if key in erased:
        return True
    parts = [record.key or b"", record.value or b"", *(value or b"" for _, value in record.headers)]
    return any(needles.found_in(_readable(part)) for part in parts)


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
