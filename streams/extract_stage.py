"""The extraction stage: batches of events in, patches out, nothing acked before its patches are durable.

Two loops in a row. The first gives batches to the pool, two at once so that no child is idle; a session that is in both
waits in the later one for the state that the earlier one leaves. The second hands over what is finished, in order, one
Kafka transaction per source partition, and acks it. Anything that goes wrong ends the process: it starts again at
what was not acked.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aiokafka import TopicPartition

from memstream.schemas.errors import FatalError
from memstream.schemas.events import EVENT_TYPES, FORMER_TYPES
from memstream.schemas.topics import EVENT_TOPICS, Topic
from memstream.sealing import KeyStore, open_keys
from memstream.settings import Settings
from memstream.streams import metrics
from memstream.streams.dead_letters import write_letter
from memstream.streams.faust_source import SourceBatch, SourcePartition
from memstream.streams.log_place import committed_places
from memstream.streams.log_watch import LogWatch
from memstream.streams.outlet import Message, Outlet
from memstream.streams.pool import Pool
from memstream.streams.records import Output, Record, SessionResult, SessionWork
from memstream.streams.sealed_letters import sealed_letter
from memstream.streams.state_store import SessionStates

STAGE = "extract"
_BATCHES_FINISHED = 4
_BATCH_SECONDS = 4.0  # of work: a rebalance and a stop wait for what is at work
_LEAST_BATCH = 50
_LONGEST_REST = 0.25
_WEIGHTY = 32_768  # bytes that count as one more record
_WRITTEN = (Topic.PATCHES, Topic.SESSION_STATE, Topic.DEAD_LETTER)

_Place = tuple[str, int, bytes | None]
"""Topic, partition and key: what orders records."""


@dataclass(frozen=True, slots=True)
class _Handover:
    """What a batch became, by the partition that its records came from."""

    batches: list[SourceBatch]
    messages: dict[SourcePartition, list[Message]] = field(default_factory=dict)
    offsets: dict[SourcePartition, int] = field(default_factory=dict)

    def add(self, later: _Handover) -> None:
        """Take in what a later batch became."""
        self.batches.extend(later.batches)
        self.offsets.update(later.offsets)
        for source, messages in later.messages.items():
            self.messages.setdefault(source, []).extend(messages)


@dataclass(frozen=True, slots=True)
class _Extraction:
    """A batch that is being worked off: the sessions it has, and what it will become."""

    places: frozenset[_Place]
    result: asyncio.Task[_Handover]


class ExtractStage:
    """Works off what a source gives to `take`, as long as `run` runs."""

    def __init__(self, settings: Settings, group: str, pool: Pool) -> None:
        self._settings = settings
        self._group = group
        self._pool = pool
        self._watch = LogWatch(settings, (*EVENT_TOPICS, *_WRITTEN))
        self._upcoming: dict[SourcePartition, int] = {}
        self._states = SessionStates(settings)
        self._keys = open_keys(settings)
        self._outlets: dict[SourcePartition, Outlet] = {}
        self._waiting: deque[SourceBatch] = deque()
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._limit = _LEAST_BATCH
        self._extractions: asyncio.Queue[_Extraction | None] = asyncio.Queue(_BATCHES_FINISHED)
        self._finishing = False
        self._finished = asyncio.Event()

    async def take(self, batch: SourceBatch) -> None:
        """Put a batch in line; returns when there is room for another."""
        self._waiting.append(batch)
        self._arrived.set()
        if sum(_weight(waiting) for waiting in self._waiting) >= self._limit:
            self._room.clear()
        await self._room.wait()

    async def finish(self) -> None:
        """Take nothing more, and return when what is at work is handed over and acked, or has failed."""
        self._finishing = True
        self._room.clear()
        self._arrived.set()
        await self._finished.wait()

    async def run(self) -> None:
        """Work until `finish`. Raises what makes it impossible to go on; the process must end then."""
        await self._watch.start()
        loops = [asyncio.ensure_future(loop) for loop in (self._extract(), self._hand_over(), self._watch.run())]
        try:
            *working, watching = loops
            while working:
                ended, _ = await asyncio.wait((*working, watching), return_when=asyncio.FIRST_COMPLETED)
                for loop in ended:
                    await loop
                working = [loop for loop in working if loop not in ended]
        finally:
            self._finished.set()
            for loop in loops:
                loop.cancel()

    async def keep_only(self, assigned: frozenset[SourcePartition]) -> None:
        """Let go of partitions that are not ours any more. Called while nothing is in flight."""
        for gone in self._outlets.keys() - assigned:
            if gone[0] == Topic.CONVERSATION:
                self._states.forget(gone[1])
            self._upcoming.pop(gone, None)
            await self._outlets.pop(gone).stop()

    async def close(self) -> None:
        """Close the producers."""
        await asyncio.gather(self._watch.stop(), *(outlet.stop() for outlet in self._outlets.values()))

    async def _extract(self) -> None:
        older: _Extraction | None = None
        last: _Extraction | None = None
        while True:
            if older is not None:  # so that at most one batch is unfinished before the next: its sessions are known
                await asyncio.wait((older.result,))
            batches = await self._next()
            if self._finishing:
                await self._extractions.put(None)
                return
            records = [record for batch in batches for record in batch.records]
            metrics.BATCH.labels(STAGE).observe(len(records))
            await self._open({(record.topic, record.partition) for record in records})
            await self._check_gaps(records)
            by_session: dict[_Place, list[Record]] = {}
            for record in records:
                by_session.setdefault((record.topic, record.partition, record.key), []).append(record)
            working = asyncio.create_task(self._work_off(batches, records, by_session, last))
            older, last = last, _Extraction(frozenset(by_session), working)
            await self._extractions.put(last)

    async def _work_off(
        self,
        batches: Sequence[SourceBatch],
        records: Sequence[Record],
        by_session: Mapping[_Place, list[Record]],
        before: _Extraction | None,
    ) -> _Handover:
        """Extract; the sessions that the batch before has as well wait for the state that it leaves."""
        started = time.monotonic()
        late = by_session.keys() & before.places if before is not None else frozenset[_Place]()
        free = [place for place in by_session if place not in late]
        results = asyncio.ensure_future(self._pool.process(self._works(free, by_session)))
        if before is not None and late:
            await before.result
        waited = [place for place in by_session if place in late]
        of_waited = await self._pool.process(self._works(waited, by_session))
        handover = self._handover(
            batches, records, [*zip(free, await results, strict=True), *zip(waited, of_waited, strict=True)]
        )
        took = time.monotonic() - started
        metrics.SECONDS.labels(STAGE, "extract").observe(took)
        self._adapt(len(records), took)
        return handover

    def _adapt(self, records: int, took: float) -> None:
        """Let batches be as large as can be worked off in some seconds."""
        if records >= self._limit // 2:  # a small one says nothing of the rate
            possible = int(records / took * _BATCH_SECONDS)
            self._limit = min(max(possible, _LEAST_BATCH), 2 * self._limit, self._settings.extract_batch)

    async def _next(self) -> list[SourceBatch]:
        """What the source gave and waits, together at most as many records as a batch may have now."""
        await self._arrived.wait()
        if self._finishing:
            return []
        taken = [self._waiting.popleft()]
        size = _weight(taken[0])
        while self._waiting and size + _weight(self._waiting[0]) <= self._limit:
            taken.append(self._waiting.popleft())
            size += _weight(taken[-1])
        if not self._waiting:
            self._arrived.clear()
        self._room.set()
        return taken

    async def _open(self, partitions: Iterable[SourcePartition]) -> None:
        """Take over partitions that come up for the first time: fence their last holder, then read the states back."""
        new = [partition for partition in partitions if partition not in self._outlets]
        outlets = {partition: Outlet(self._settings, self._group, *partition) for partition in new}
        await asyncio.gather(*(outlet.start() for outlet in outlets.values()))
        await self._states.load(number for topic, number in new if topic == Topic.CONVERSATION)
        self._outlets.update(outlets)
        self._upcoming.update(await committed_places(self._settings, self._group, new, self._watch, self._states))

    async def _check_gaps(self, records: Iterable[Record]) -> None:
        """Raise LogMismatch where records were removed from the log before we read them."""
        firsts: dict[SourcePartition, int] = {}
        for record in records:
            firsts.setdefault((record.topic, record.partition), record.offset)
        for source, first in firsts.items():
            tp = TopicPartition(self._settings.topic(Topic(source[0])), source[1])
            await self._watch.check_gap(tp, self._upcoming.get(source, first), first)
        for record in records:
            source = (record.topic, record.partition)
            self._upcoming[source] = max(self._upcoming.get(source, 0), record.offset + 1)

    def _works(self, places: Iterable[_Place], by_session: Mapping[_Place, list[Record]]) -> list[SessionWork]:
        """The sessions with the states that they have now."""
        works = []
        for place in places:
            topic, partition, key = place
            state = self._states.get(partition, key) if topic == Topic.CONVERSATION else b""
            works.append(SessionWork(key, state, by_session[place]))
        return works

    def _handover(
        self,
        batches: Sequence[SourceBatch],
        records: Iterable[Record],
        results: Iterable[tuple[_Place, SessionResult]],
    ) -> _Handover:
        handover = _Handover(list(batches))
        outputs: dict[tuple[str, int, int], Output] = {}
        states: dict[SourcePartition, list[Message]] = {}
        for (topic, partition, key), result in results:
            outputs.update({(topic, partition, output.record.offset): output for output in result.outputs})
            if topic == Topic.CONVERSATION and result.state is not None and key is not None:
                self._states.put(partition, key, result.state)
                message = Message(Topic.SESSION_STATE, key, result.state, partition=partition)
                states.setdefault((topic, partition), []).append(message)
        for record in records:  # patches leave in the order of the log
            source = (record.topic, record.partition)
            handover.offsets[source] = record.offset + 1
            output = outputs.get((*source, record.offset))
            if output is None:
                raise FatalError(
                    f"extraction gave nothing for {record.topic}-{record.partition} offset {record.offset}"
                )
            handover.messages.setdefault(source, []).extend(_messages(output, self._settings.partitions, self._keys))
        for source, messages in states.items():
            handover.messages[source].extend(messages)
        return handover

    async def _hand_over(self) -> None:
        """Batch by batch in order; those that are finished meanwhile go together, in one transaction a partition."""
        line: deque[_Extraction | None] = deque()
        while True:
            if not line:
                line.append(await self._extractions.get())
            head = line.popleft()
            if head is None:
                return
            handover = await head.result
            while not self._extractions.empty():
                line.append(self._extractions.get_nowait())
            while line and (following := line[0]) is not None and following.result.done():
                handover.add(await following.result)
                line.popleft()
            await self._send(handover)

    async def _send(self, handover: _Handover) -> None:
        started = time.monotonic()
        await self._watch.check()  # what was read before is of the topics that we began with
        await asyncio.gather(
            *(
                self._outlets[source].hand_over(messages, self._group, handover.offsets[source])
                for source, messages in handover.messages.items()
            )
        )
        took = time.monotonic() - started
        metrics.SECONDS.labels(STAGE, "hand_over").observe(took)
        for batch in handover.batches:
            await batch.ack()
        # a transaction costs the same for few and for many: under load more of them gather while we rest
        await asyncio.sleep(min(took, _LONGEST_REST))


def _weight(batch: SourceBatch) -> int:
    """How many records a batch counts as: a large one as several, so that what waits is bounded in bytes as well."""
    return sum(1 + len(record.value or b"") // _WEIGHTY for record in batch.records)


def _messages(output: Output, partitions: int, keys: KeyStore | None) -> Iterable[Message]:
    record, refusal = output.record, output.refusal
    for told in output.outcomes:
        metrics.OUTCOMES.labels(*told).inc()
    if output.patch is not None:
        metrics.PATCH_BYTES.observe(len(output.patch))
        for extractor in output.missing:
            metrics.MISSING.labels(extractor).inc()
        yield Message(Topic.PATCHES, output.patch_key, output.patch)
    if output.copy is not None:
        for partition in range(partitions):
            yield Message(Topic.PATCHES, output.patch_key, output.copy, partition=partition)
    if refusal is not None:
        metrics.DEAD_LETTERS.labels(STAGE, refusal.reason.value).inc()
        letter = sealed_letter(keys, write_letter(record, refusal, STAGE))
        yield Message(Topic.DEAD_LETTER, letter.key, letter.value, letter.headers)
    outcome = "refused" if refusal is not None else "repeated" if output.patch is None else "patched"
    outcome = "unreadable" if output.unreadable else outcome
    metrics.EVENTS.labels(STAGE, _type_of(record), outcome).inc()


def _type_of(record: Record) -> str:
    told = next((value for name, value in record.headers if name == "ce_type"), b"").decode("utf-8", "replace")
    return told if told in EVENT_TYPES or told in FORMER_TYPES else "other"
