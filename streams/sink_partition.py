"""What the sink does with partitions of patches: find its place, apply batches, single out what can't be applied."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

import orjson
import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from memstream.schemas.errors import BrokerUnavailable, InvalidPatch, LogMismatch, PoisonError, Reason
from memstream.schemas.ids import utc_text
from memstream.schemas.topics import Topic, record_key
from memstream.settings import Settings
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.records import Applied, Change, PatchRecord, key_of
from memstream.streams import metrics
from memstream.streams.dead_letters import write_letter
from memstream.streams.offload import OffloadStore
from memstream.streams.outlet import Message
from memstream.streams.persistence import Persistence
from memstream.streams.records import Record, Refusal
from memstream.streams.sealed_letters import sealed_letter

log = structlog.get_logger(__name__)

STAGE = "sink"
_MOST_BYTES = 16 * 2**20
_READ_BACK_SECONDS = 30.0
_PAYLOADS = 100
_WAYS_BACK = (
    "Restore a newer copy of the graph; or keep what this one holds (memstream export) and rebuild it from the events "
    "(memstream replay --from events --wipe, or --into another Neo4j), or from patches where another topic has them all"
)


class Sends(Protocol):
    """Where letters and changes go: a Sender, or nobody."""

    async def send(self, messages: Sequence[Message]) -> object:
        """Send all; when this returns they are durable."""
        ...


class PartitionSink:
    """Applies the records of one partition of patches to the graph."""

    def __init__(
        self,
        settings: Settings,
        tp: TopicPartition,
        graph: GraphSink,
        sender: Sends,
        persistence: Persistence,
        *,
        offload: OffloadStore | None = None,
    ) -> None:
        """Payloads that nobody keeps any more are deleted in `offload`; a replay leaves that to the live sink."""
        self._settings = settings
        self.tp = tp
        self.graph = graph
        self._sender = sender
        self.persistence = persistence
        self._offload = offload
        self.unreadable = self.cut = 0
        self.erasing = True  # until the graph says otherwise: whoever had the partition before may have left work

    async def open(self, consumer: AIOKafkaConsumer) -> None:
        """Seek to where the graph is, having read the record there again: it must be the one that was applied.

        Raises LogMismatch where it is not, TopicMismatch where the graph was built with another partition count.
        """
        tp = self.tp
        resume = partial(self.graph.resume, tp.topic, tp.partition, self._settings.partitions)
        place = await self.persistence.insist(resume)
        begin, end = (await consumer.beginning_offsets([tp]))[tp], (await consumer.end_offsets([tp]))[tp]
        if place.offset is None:
            if begin > 0:
                reach = await self._reach(consumer, begin)
                raise LogMismatch(f"The graph has nothing of {tp.topic}-{tp.partition} yet, and {reach}. {_WAYS_BACK}")
            consumer.seek(tp, begin)
        elif end <= place.offset:
            raise LogMismatch(
                f"The graph was built up to {self._where(place.offset)}, but the log ends at {end}: the topic was "
                "recreated, or this graph belongs to another log. Rebuild the graph, or set MEMSTREAM_TOPIC_PREFIX"
            )
        elif begin <= place.offset:
            await self._compare(consumer, place.offset, place.event)
            consumer.seek(tp, place.offset + 1)
        elif begin == place.offset + 1:
            consumer.seek(tp, begin)
        else:
            reach = await self._reach(consumer, begin)
            raise LogMismatch(
                f"The graph was built up to {self._where(place.offset)}, as after a restore from an older copy, and "
                f"{reach}: {begin - place.offset - 1} records between are gone. {_WAYS_BACK}"
            )
        pending = partial(self.graph.pending_changes, tp.topic, tp.partition)
        await self.tell(await self.persistence.insist(pending))

    async def apply(self, records: Sequence[ConsumerRecord]) -> None:
        """Apply records, in transactions of bounded size; when this returns all of them are in the graph or refused."""
        for batch in cut(records, self._settings.sink_batch):
            await self._apply(batch)
            if self.erasing:  # batch by batch, so that neither waits for the end of the other
                await self.erase_on()

    async def erase_on(self) -> bool:
        """One step of the erasures that are not done in the partition. Returns whether there is more to do."""
        where = (self.tp.topic, self.tp.partition)
        self.erasing = await self.persistence.insist(partial(self.graph.erase_on, *where))
        if not self.erasing and self._offload is not None:
            loose = await self.persistence.insist(partial(self.graph.loose_payloads, *where, _PAYLOADS))
            self.erasing = len(loose) == _PAYLOADS
            await self.persistence.insist(partial(_delete, self._offload, loose))
            await self.persistence.insist(partial(self.graph.let_go, loose))
        return self.erasing

    async def tell(self, changes: Sequence[Change]) -> None:
        """Send what became true to its topic, then forget it: at least once."""
        if changes:
            await self._sender.send([_message(change) for change in changes])
            ids = sorted({change.id for change in changes})
            await self.persistence.insist(partial(self.graph.forget_changes, ids))
            metrics.CHANGES.inc(len(changes))

    async def _apply(self, records: Sequence[ConsumerRecord]) -> None:
        try:
            await _write({self: records})
        except PoisonError as error:
            await self._divide(records, error)

    def took(self, records: Sequence[ConsumerRecord], applied: Applied) -> None:
        """Count what became of these."""
        for outcome in ("applied", "dropped", "replaced", "unreadable", "cut"):
            metrics.EVENTS.labels(STAGE, "patch", outcome).inc(getattr(applied, outcome))
        for record in records:
            metrics.PATCH_BYTES.observe(len(record.value or b""))
        self.unreadable += applied.unreadable
        self.cut += applied.cut
        self.erasing = self.erasing or applied.erasing

    async def _divide(self, records: Sequence[ConsumerRecord], error: PoisonError) -> None:
        """Apply the halves one after the other, until the one is alone that can't be applied."""
        if len(records) > 1:
            metrics.RETRIES.labels(STAGE, "divided").inc()
            half = len(records) // 2
            await self._apply(records[:half])
            await self._apply(records[half:])
            return
        [record] = records
        reason = Reason.BAD_PATCH if isinstance(error, InvalidPatch) else Reason.GRAPH_REFUSED
        refusal = Refusal(reason, str(error))
        origin = Record(
            topic=Topic.PATCHES,
            partition=record.partition,
            offset=record.offset,
            appended_ms=record.timestamp,
            key=record.key,
            value=record.value,
            headers=tuple((name, value or b"") for name, value in record.headers),
        )
        letter = sealed_letter(self.graph.keys, write_letter(origin, refusal, STAGE))
        await self._sender.send([Message(Topic.DEAD_LETTER, letter.key, letter.value, letter.headers)])
        patch = PatchRecord(record.offset, record.key, record.value)
        told = f"{reason.value}: {error}"
        await self.persistence.insist(partial(self.graph.refuse, self.tp.topic, self.tp.partition, patch, told))
        metrics.DEAD_LETTERS.labels(STAGE, reason.value).inc()
        log.error("patch_refused", partition=record.partition, offset=record.offset, why=str(error))

    async def _compare(self, consumer: AIOKafkaConsumer, offset: int, event: str | None) -> None:
        """Read the record that was applied last once more, and see that it is the same."""
        found = await self._read(consumer, offset)
        if found.offset != offset or event_of(found) != event:
            raise LogMismatch(
                f"{self._where(offset)} is not the record that the graph was built with: the topic was recreated, or "
                "this graph belongs to another log. Rebuild the graph, or set MEMSTREAM_TOPIC_PREFIX"
            )

    async def _reach(self, consumer: AIOKafkaConsumer, begin: int) -> str:
        """How far back the log goes."""
        end = (await consumer.end_offsets([self.tp]))[self.tp]
        if begin >= end:
            return f"the log begins at offset {begin}, and holds nothing"
        first = await self._read(consumer, begin)
        told = utc_text(datetime.fromtimestamp(first.timestamp / 1000, UTC))
        return f"the log reaches back to offset {first.offset} of {told} only"

    async def _read(self, consumer: AIOKafkaConsumer, offset: int) -> ConsumerRecord:
        """The record at an offset, or the next one there is."""
        consumer.seek(self.tp, offset)
        deadline = time.monotonic() + _READ_BACK_SECONDS
        found: list[ConsumerRecord] = []
        while not found:
            if time.monotonic() > deadline:
                raise BrokerUnavailable(f"{self._where(offset)} could not be read within {_READ_BACK_SECONDS:.0f} s")
            found = (await consumer.getmany(self.tp, timeout_ms=500, max_records=1)).get(self.tp, [])
        return found[0]

    def _where(self, offset: int) -> str:
        return f"{self.tp.topic}-{self.tp.partition} offset {offset}"


async def apply_together(batches: Mapping[PartitionSink, Sequence[ConsumerRecord]]) -> None:
    """Apply small batches in one transaction; each by itself where one of them has what can't be applied."""
    if len(batches) > 1:
        try:
            await _write(batches)
        except PoisonError:
            metrics.RETRIES.labels(STAGE, "divided").inc()
        else:
            for sink in batches:
                if sink.erasing:
                    await sink.erase_on()
            return
    for sink, records in batches.items():
        await sink.apply(records)


async def _write(batches: Mapping[PartitionSink, Sequence[ConsumerRecord]]) -> None:
    """One transaction for batches of one topic, then what became true by it. Raises PoisonError: none is applied."""
    first, started = next(iter(batches)), time.monotonic()
    patches = {
        sink.tp.partition: [PatchRecord(record.offset, record.key, record.value) for record in records]
        for sink, records in batches.items()
    }
    metrics.BATCH.labels(STAGE).observe(sum(map(len, patches.values())))
    written = await first.persistence.insist(partial(first.graph.together, first.tp.topic, patches))
    metrics.SECONDS.labels(STAGE, "apply").observe(time.monotonic() - started)
    metrics.ROWS.labels("node").inc(written.nodes)
    metrics.ROWS.labels("edge").inc(written.edges)
    parts = {place.partition: applied for place, applied in written.parts.items()}
    for sink, records in batches.items():
        sink.took(records, parts[sink.tp.partition])
    await first.tell([change for applied in parts.values() for change in applied.changes])


def event_of(record: ConsumerRecord) -> str | None:
    """The key of the event that a patch is of; None for a record that is no patch, and was refused."""
    try:
        return key_of(PatchRecord(record.offset, record.key, record.value))
    except InvalidPatch:
        return None


def _message(change: Change) -> Message:
    """A change with its position, by which readers drop what they know."""
    told = {"scope": change.scope, "partition": change.partition, "offset": change.offset, "ordinal": change.ordinal}
    return Message(Topic.CHANGES, record_key(change.scope), orjson.dumps({**told, **change.payload}))


def _delete(offload: OffloadStore, handles: Sequence[str]) -> None:
    for handle in handles:
        offload.delete(handle)


def cut(records: Sequence[ConsumerRecord], most: int) -> Iterator[Sequence[ConsumerRecord]]:
    """Batches of at most `most` records and about 16 MB."""
    start = size = 0
    for index, record in enumerate(records):
        length = len(record.value or b"")
        if index > start and (index - start >= most or size + length > _MOST_BYTES):
            yield records[start:index]
            start, size = index, 0
        size += length
    if start < len(records):
        yield records[start:]


def together(
    taken: Mapping[TopicPartition, Sequence[ConsumerRecord]], most: int
) -> Iterator[dict[TopicPartition, Sequence[ConsumerRecord]]]:
    """What was taken, in groups that share a transaction: at most `most` records and about 16 MB, or one partition."""
    group: dict[TopicPartition, Sequence[ConsumerRecord]] = {}
    count = size = 0
    for tp, records in sorted(taken.items(), key=lambda one: (len(one[1]), one[0])):
        length = sum(len(record.value or b"") for record in records)
        if group and (count + len(records) > most or size + length > _MOST_BYTES):
            yield group
            group, count, size = {}, 0, 0
        group[tp] = records
        count, size = count + len(records), size + length
    if group:
        yield group
