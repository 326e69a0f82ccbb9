"""Publishing the sample story, and watching it until all of it is worked off."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

import orjson

from memstream.client.publisher import AsyncPublisher
from memstream.client.reader import AsyncReader
from memstream.client.receipt import Pending, Receipt
from memstream.deploy.story import ROOT, story_lines
from memstream.schemas.cloudevents import decode_structured
from memstream.schemas.errors import InvalidEvent, NotVisibleError, QueryError
from memstream.schemas.events import EVENT_TYPES, Event
from memstream.schemas.topics import Topic, record_key
from memstream.settings import Settings
from memstream.sinks.export.form import digest
from memstream.sinks.export.graph import GraphMoved, export_lines
from memstream.sinks.stores import Store, Stores
from memstream.streams.broker import admin_client
from memstream.streams.dead_letters import LetterTold, read_letter
from memstream.streams.log_reader import read_to_end

_PATIENCE = 180.0  # seconds without any news
_PAUSE = 0.2
_AT_ONCE = 16
_READINGS = 4  # of a graph that takes patches of others meanwhile
_LAST = 10  # of the last offsets of a partition some are markers of transactions
_UNKNOWN_YET = (404, 503, 504)

Advance = Callable[[], None]
Check = Callable[[], None]
"""Raises where waiting has become vain, since a part has ended."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the story: its bytes, and the event that it is; None where it is invalid."""

    raw: bytes
    event: Event | None


@dataclass(frozen=True, slots=True)
class Told:
    """What was published: receipts of the events, and of the bytes that are none. `seconds` is how long it took."""

    events: list[Receipt]
    invalid: list[Receipt]
    seconds: float


def story(root: str = ROOT) -> list[Line]:
    """The lines of the story. Under another root than its own, every scope begins with that instead."""
    own, wanted = f'"scope":"{ROOT}/'.encode(), f'"scope":"{root}/'.encode()
    return [_line(raw.replace(own, wanted, 1)) for raw in story_lines()]


def _line(raw: bytes) -> Line:
    try:
        return Line(raw, decode_structured(raw))
    except InvalidEvent:
        return Line(raw, None)


async def publish(settings: Settings, lines: Iterable[Line], advance: Advance) -> Told:
    """Publish every line in its order: events as events, and the invalid ones as the bytes they are.

    Raises PublishError where the broker does not ack.
    """
    begun = time.perf_counter()
    events, invalid = [], []
    async with AsyncPublisher(settings=settings) as publisher:
        for line in lines:
            if line.event is not None:
                events.append(await publisher.publish(line.event))
            else:
                invalid.append(await _publish_raw(publisher, line.raw))
            advance()
        receipts, refused = [await pending for pending in events], [await pending for pending in invalid]
    return Told(receipts, refused, time.perf_counter() - begun)


async def _publish_raw(publisher: AsyncPublisher, raw: bytes) -> Pending:
    document = orjson.loads(raw)
    topic = EVENT_TYPES[document["type"]].topic
    key = record_key(document["scope"], document["data"].get("session_id", ""))
    headers = [("content-type", b"application/cloudevents+json")]
    return await publisher.publish_raw(topic, key, raw, headers, label=document["id"])


@dataclass(frozen=True, slots=True)
class Contents:
    """What a graph has of some scopes: two that are equal have the same of all that was said."""

    nodes: int
    relationships: int
    digest: str

    def __str__(self) -> str:
        return f"{self.nodes:,} nodes, {self.relationships:,} relationships, digest {self.digest[:8]}"


def contents(settings: Settings, root: str) -> Contents:
    """The contents of the scopes below a root, counted and digested in their canonical form.

    Raises GraphMoved where the graph takes patches of others each time it is read.
    """
    with Stores.connect(settings) as stores:
        store = stores.of(root)
        for _ in range(_READINGS):
            with suppress(GraphMoved):
                return _contents(store, root)
        return _contents(store, root)


def _contents(store: Store, root: str) -> Contents:
    found = digest(export_lines(store.driver, store.database, root))
    return Contents(found.nodes, found.edges, found.hex)


async def is_known(reader: AsyncReader, lines: list[Line]) -> bool:
    """True if the graph has the story already: the last event of each scope."""
    last = {line.event.scope: line.event for line in lines if line.event is not None}
    return all([await _is_visible(reader, event.scope, event.source, event.id) for event in last.values()])


async def until_visible(reader: AsyncReader, receipts: list[Receipt], advance: Advance, check: Check) -> float:
    """Return when reads see every event; how many seconds that took.

    Raises NotVisibleError when there is no news for long, QueryError where the service refuses; and what `check` does.
    """
    begun = news = time.perf_counter()
    waiting = list(receipts)
    while waiting:
        # those published first come first: where none of these is there yet, the rest need not be asked for
        asked = waiting[:_AT_ONCE]
        there = await asyncio.gather(*(_is_visible(reader, r.scope, r.source, r.event_id) for r in asked))
        left = [receipt for receipt, seen in zip(asked, there, strict=True) if not seen]
        for _ in range(len(asked) - len(left)):
            advance()
        if len(left) < len(asked):
            news = time.perf_counter()
        elif time.perf_counter() - news > _PATIENCE:
            raise _late(waiting, len(receipts))
        else:
            check()
            await asyncio.sleep(_PAUSE)
        waiting = waiting[_AT_ONCE:] + left
    return time.perf_counter() - begun


def _late(waiting: list[Receipt], count: int) -> NotVisibleError:
    names = ", ".join(receipt.event_id for receipt in waiting[:5])
    return NotVisibleError(
        f"{len(waiting)} of {count} events are not in the graph, without news for {_PATIENCE:.0f} s: {names} … "
        "`memstream status` and `memstream logs` show what the workers do."
    )


async def _is_visible(reader: AsyncReader, scope: str, source: str, event_id: str) -> bool:
    try:
        return bool((await reader.event(event_id, scope, source=source))["visible"])
    except QueryError as error:
        if error.status in _UNKNOWN_YET:
            return False
        raise


async def until_worked_off(settings: Settings, reader: AsyncReader, told: Told, group: str, check: Check) -> None:
    """Return when both stages are past all that was published: what is known already leaves no other trace.

    Raises NotVisibleError when that takes too long, and what `check` raises.
    """
    deadline = time.perf_counter() + _PATIENCE
    while not (await _is_extracted(settings, told, group) and await _is_sunk(settings, reader)):
        if time.perf_counter() > deadline:
            raise NotVisibleError(
                f"The workers are not past what was published after {_PATIENCE:.0f} s. "
                "`memstream status` and `memstream logs` show what they do."
            )
        check()
        await asyncio.sleep(_PAUSE)


async def _is_extracted(settings: Settings, told: Told, group: str) -> bool:
    async with admin_client(settings) as admin:
        committed = await admin.list_consumer_group_offsets(group)
    reached = {(place.topic, place.partition): found.offset for place, found in committed.items()}
    return all(reached.get((r.topic, r.partition), 0) > r.offset for r in (*told.events, *told.invalid))


async def _is_sunk(settings: Settings, reader: AsyncReader) -> bool:
    status = await reader.get("/v1/status", scope="")
    sealed = {row["partition"]: row["sealed"] for row in status["partitions"]}
    async for patch in read_to_end(settings, Topic.PATCHES.named(settings.topic_prefix), last=_LAST):
        reached = sealed.get(patch.partition)
        if reached is None or patch.offset > reached:
            return False
    return True


async def letters_of(settings: Settings, receipts: list[Receipt]) -> list[LetterTold]:
    """The dead letters of these records, in their order, as far as there are any."""
    letters = {}
    async for record in read_to_end(settings, Topic.DEAD_LETTER.named(settings.topic_prefix)):
        letter = read_letter(record.headers, record.value)
        letters[f"{settings.topic_prefix}.{letter.topic}", letter.partition, letter.offset] = letter
    places = [(receipt.topic, receipt.partition, receipt.offset) for receipt in receipts]
    return [letters[place] for place in places if place in letters]
