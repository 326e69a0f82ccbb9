"""Patches into a graph, with the real sink and without a consumer group: the graph itself knows how far it is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import orjson
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from memstream.schemas.errors import BrokerUnavailable
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.sinks.graph_sink import GraphSink
from memstream.streams.monitor import Readiness
from memstream.streams.outlet import Message
from memstream.streams.persistence import CalledOff, Persistence
from memstream.streams.replay.progress import Meter
from memstream.streams.replay.window import Window
from memstream.streams.sink_partition import PartitionSink, event_of
from memstream.streams.topics_admin import partition_counts

_STAGE = "replay"
_AT_ONCE = 4
_WAIT_MS = 500
_FETCH_BYTES = 16 * 2**20


class _ToNobody:
    """Where the letters and changes of a replay go: the live sink has sent them."""

    def __init__(self) -> None:
        self.letters = 0

    async def send(self, messages: Sequence[Message]) -> None:
        """Count what was refused."""
        self.letters += sum(message.topic is Topic.DEAD_LETTER for message in messages)


class PatchReplay:
    """Applies what a patches topic holds when it begins, from where the graph stands. One `run` each.

    `settings` name the topic by `settings.topic(Topic.PATCHES)`; `ends` bound it further, for measuring.
    """

    def __init__(
        self,
        settings: Settings,
        graph: GraphSink,
        window: Window,
        meter: Meter,
        ends: Mapping[int, int] | None = None,
    ) -> None:
        self._settings = settings
        self._graph = graph
        self._window = window
        self._meter = meter
        self._bounds = ends or {}
        self._topic = settings.topic(Topic.PATCHES)
        self._sender = _ToNobody()
        self._sinks: dict[TopicPartition, PartitionSink] = {}
        self._persistence = Persistence(_STAGE, Readiness("replaying"))
        self._at_once = asyncio.Semaphore(_AT_ONCE)
        self.taken = 0
        self.passed_over = 0

    @property
    def unreadable(self) -> int:
        """Patches passed over, since their keys are destroyed."""
        return sum(sink.unreadable for sink in self._sinks.values())

    @property
    def cut(self) -> int:
        """Patches of which a part can't be read any more."""
        return sum(sink.cut for sink in self._sinks.values())

    @property
    def refused(self) -> int:
        """Patches that no graph takes."""
        return self._sender.letters

    async def run(self, stop: asyncio.Event) -> bool:
        """Apply until the end of the log as it is now; False where `stop` came first: it goes on at the same place.

        Raises LogMismatch where the log's beginning is gone or does not fit the graph, BrokerUnavailable.
        """
        calling_off = asyncio.ensure_future(self._call_off_at(stop))
        consumer = AIOKafkaConsumer(
            **kafka_options(self._settings),
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_partition_fetch_bytes=_FETCH_BYTES,
        )
        try:
            await consumer.start()
            count = (await partition_counts(self._settings)).get(self._topic, 0)
            parts = [TopicPartition(self._topic, number) for number in range(count)]
            consumer.assign(parts)
            await self._replay(consumer, parts, stop)
        except KafkaError as error:
            raise BrokerUnavailable(f"{self._topic} could not be read: {error!r}") from error
        except CalledOff:
            return False
        finally:
            calling_off.cancel()
            await consumer.stop()
        return not stop.is_set()

    async def _replay(self, consumer: AIOKafkaConsumer, parts: list[TopicPartition], stop: asyncio.Event) -> None:
        sinks = self._sinks = {tp: self._sink(tp) for tp in parts}
        for sink in sinks.values():
            await sink.open(consumer)
        ends = await consumer.end_offsets(parts)
        bounds = {tp: min(ends[tp], self._bounds.get(tp.partition, ends[tp])) for tp in parts}
        left = {tp: bounds[tp] - await consumer.position(tp) for tp in parts}
        self._meter.begin("apply", sum(bounds.values()) - sum(left.values()), sum(bounds.values()))
        # each partition at its own pace: a long one does not wait for the others
        halt = asyncio.Event()
        ended = await asyncio.gather(
            *(self._partition(consumer, tp, sink, bounds[tp], (stop, halt)) for tp, sink in sinks.items()),
            return_exceptions=True,
        )
        failures = [one for one in ended if isinstance(one, BaseException)]
        if failures:
            raise next((one for one in failures if not isinstance(one, CalledOff)), failures[0])

    def _sink(self, tp: TopicPartition) -> PartitionSink:
        return PartitionSink(self._settings, tp, self._graph, self._sender, self._persistence)

    async def _partition(
        self,
        consumer: AIOKafkaConsumer,
        tp: TopicPartition,
        sink: PartitionSink,
        end: int,
        stops: tuple[asyncio.Event, asyncio.Event],
    ) -> None:
        """Apply one partition up to `end`, unless one of the `stops` is set; a failure sets the second."""
        at = await consumer.position(tp)
        try:
            while at < end and not any(stop.is_set() for stop in stops):
                found = await consumer.getmany(tp, timeout_ms=_WAIT_MS, max_records=min(self._most, end - at))
                if records := found.get(tp, []):
                    async with self._at_once:
                        await self._apply(tp, sink, records)
                before, at = at, await consumer.position(tp)
                self._meter.add(min(at, end) - min(before, end))
        except BaseException:  # goes on as it is; the other partitions end with it, also where it is called off
            stops[1].set()
            raise
        while not any(stop.is_set() for stop in stops) and await sink.erase_on():
            pass

    @property
    def _most(self) -> int:
        return self._settings.sink_batch

    async def _apply(self, tp: TopicPartition, sink: PartitionSink, records: Sequence[ConsumerRecord]) -> None:
        wanted = records if self._window.whole else [record for record in records if self._wants(record)]
        self.taken += len(wanted)
        self.passed_over += len(records) - len(wanted)
        if wanted:
            await sink.apply(wanted)
        last = records[-1]
        if not wanted or wanted[-1].offset != last.offset:
            await self._persistence.insist(
                lambda: self._graph.pass_over(tp.topic, tp.partition, last.offset, event_of(last))
            )

    def _wants(self, record: ConsumerRecord) -> bool:
        """By the origin alone; what has none is left to the sink to refuse."""
        try:
            patch = orjson.loads(record.value or b"")
            scope, recorded_at = patch["origin"]["scope"], patch["origin"]["recorded_at"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return self._window.whole
        return self._window.takes(scope, recorded_at, erases=bool(patch.get("erasures")))

    async def _call_off_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._persistence.call_off()
