"""The sink's loop: take what its partitions have, apply it to the graph, and only then commit to Kafka.

The graph's own offset is the truth; what is committed to Kafka is for people and for lag. A partition that comes to us
is sought to where the graph is. While Neo4j is away nothing is fetched, the heartbeats go on, and no record is lost.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TypeVar

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from memstream.schemas.errors import BrokerUnavailable
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.sinks.graph_sink import GraphSink
from memstream.streams import metrics
from memstream.streams.log_watch import LogWatch
from memstream.streams.monitor import Readiness
from memstream.streams.offload import OffloadStore
from memstream.streams.persistence import CalledOff, Persistence
from memstream.streams.sender import Sender
from memstream.streams.sink_partition import STAGE, PartitionSink, apply_together, together

log = structlog.get_logger(__name__)

T = TypeVar("T")

_AT_ONCE = 4
_WAIT_MS = 250
_TOGETHER = 250  # records of a transaction that partitions share: with so many its price does not count any more
_FEW = 20  # records of a transaction: it costs hardly more than with a single one
_REST_SECONDS = 0.5
_FETCH_BYTES = 4 * 2**20
_BEAT_SECONDS = 3.0
_NEVER_MS = 2**31 - 1  # how long a poll may keep us waiting: Neo4j may be away for hours, heartbeats show that we live


class SinkLoop(ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka is untyped
    """A member of the sink's group. One `run` in the life of a process."""

    def __init__(self, settings: Settings, group: str, instance: str, graph: GraphSink, ready: Readiness) -> None:
        self._settings = settings
        self._graph = graph
        self._ready = ready
        self._topic = settings.topic(Topic.PATCHES)
        self._consumer = AIOKafkaConsumer(
            **kafka_options(settings),
            group_id=group,
            group_instance_id=f"{group}.{instance}",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            max_poll_interval_ms=_NEVER_MS,
            session_timeout_ms=round(1000 * settings.session_timeout),
            heartbeat_interval_ms=round(1000 * min(_BEAT_SECONDS, settings.session_timeout / 3)),
            max_partition_fetch_bytes=_FETCH_BYTES,
        )
        self._sender = Sender(settings)
        self._watch = LogWatch(settings, (Topic.PATCHES, Topic.CHANGES, Topic.DEAD_LETTER))
        self._offload = OffloadStore(settings.offload_url)
        self._persistence = Persistence(STAGE, ready)
        self._at_once = asyncio.Semaphore(_AT_ONCE)
        self._busy = asyncio.Lock()  # held by a round; a rebalance waits for its end
        self._assigned: dict[TopicPartition, PartitionSink] = {}
        self._open: set[TopicPartition] = set()
        self._next: dict[TopicPartition, int] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Apply until `stop`; the transactions in flight are finished. Raises what makes it impossible to go on."""
        calling_off = asyncio.ensure_future(self._call_off_at(stop))
        watching = asyncio.ensure_future(asyncio.sleep(0))
        try:
            await self._start()
            watching = asyncio.ensure_future(self._watch.run())
            while not stop.is_set():
                await self._unless_changed(watching)
        except KafkaError as error:
            raise BrokerUnavailable(f"The sink's consumer failed: {error!r}") from error
        finally:
            calling_off.cancel()
            watching.cancel()
            await self._watch.stop()
            await self._sender.stop()
            await self._consumer.stop()

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:  # noqa: ARG002 - all are
        """Let the round end, without insisting on what fails: whoever has the partitions next begins at the graph."""
        self._persistence.call_off()
        async with self._busy:
            self._assigned.clear()
            self._open.clear()
            self._persistence.resume()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Remember what is ours now; the next round opens it."""
        self._assigned = {
            tp: PartitionSink(self._settings, tp, self._graph, self._sender, self._persistence, offload=self._offload)
            for tp in assigned
        }
        self._ready.has()
        log.info("partitions_assigned", count=len(self._assigned))

    async def _start(self) -> None:
        await self._watch.start()
        await self._sender.start()
        await self._consumer.start()
        self._consumer.subscribe([self._topic], listener=self)

    async def _call_off_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._persistence.call_off()

    async def _unless_changed(self, watching: asyncio.Future[None]) -> None:
        """One round; of a topic that is gone it would never end."""
        working = asyncio.ensure_future(self._round_unless_rebalanced())
        try:
            await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                await watching
            await working
        finally:
            working.cancel()

    async def _round_unless_rebalanced(self) -> None:
        try:
            async with self._busy:
                rest = await self._round()
            await asyncio.sleep(rest)
        except IllegalStateError as error:  # partitions left us in the middle: those that stay are opened again
            log.info("round_passed_over", why=str(error))
            self._open.clear()

    async def _round(self) -> float:
        """Seconds to rest afterwards: a transaction has its price however little is in it, so let more gather."""
        await self._each(self._open_one(tp) for tp in list(self._assigned.keys() - self._open))
        ready = sorted(self._open)
        if not ready:
            return _WAIT_MS / 1000
        erasing = [tp for tp in ready if self._assigned[tp].erasing]
        taken = await self._consumer.getmany(*ready, timeout_ms=0 if erasing else _WAIT_MS)
        await self._measure(ready)
        begun, few = time.monotonic(), False
        if taken:
            await self._watch.check()  # what was fetched before is of the topic that we began with
            shared = list(together(taken, min(_TOGETHER, self._settings.sink_batch)))
            done = await self._each(self._apply(group) for group in shared)
            await self._commit([tp for group in done for tp in group])
            few = sum(map(len, taken.values())) < _FEW * len(shared)
        await self._each(self._erase_one(tp) for tp in erasing if tp not in taken)
        if taken and not erasing and few:
            return min(time.monotonic() - begun, _REST_SECONDS)
        return 0.0

    async def _open_one(self, tp: TopicPartition) -> TopicPartition:
        async with self._at_once:
            await self._assigned[tp].open(self._consumer)
            self._next[tp] = await self._consumer.position(tp)
        self._open.add(tp)
        return tp

    async def _apply(self, group: Mapping[TopicPartition, Sequence[ConsumerRecord]]) -> list[TopicPartition]:
        """Apply what was taken of some partitions; returns these."""
        async with self._at_once:
            for tp, records in group.items():
                if records[0].offset < self._next[tp]:  # the consumer's place was gone: see again where the graph is
                    raise IllegalStateError(f"{tp.topic}-{tp.partition} went back to offset {records[0].offset}")
                await self._watch.check_gap(tp, self._next[tp], records[0].offset)
            await apply_together({self._assigned[tp]: records for tp, records in group.items()})
            for tp, records in group.items():
                self._next[tp] = records[-1].offset + 1
        return list(group)

    async def _erase_one(self, tp: TopicPartition) -> TopicPartition:
        async with self._at_once:
            await self._assigned[tp].erase_on()
        return tp

    async def _each(self, works: Iterable[Awaitable[T]]) -> list[T]:
        """Await all, however they end; raise the first failure, pass over what was called off."""
        ended = await asyncio.gather(*works, return_exceptions=True)
        failures = [one for one in ended if isinstance(one, BaseException) and not isinstance(one, CalledOff)]
        if failures:
            raise failures[0]
        return [one for one in ended if not isinstance(one, BaseException)]

    async def _commit(self, done: list[TopicPartition]) -> None:
        offsets = {tp: await self._consumer.position(tp) for tp in done if tp in self._open}
        try:
            if offsets:
                await self._consumer.commit(offsets)
        except (CommitFailedError, IllegalStateError) as error:  # a rebalance came between: the graph knows its place
            log.info("commit_passed_over", why=str(error))

    async def _measure(self, ready: Iterable[TopicPartition]) -> None:
        for tp in ready:
            end = self._consumer.last_stable_offset(tp)
            if end is not None and end >= 0:
                lag = max(end - await self._consumer.position(tp), 0)
                metrics.LAG.labels(STAGE, Topic.PATCHES.value, tp.partition).set(lag)
