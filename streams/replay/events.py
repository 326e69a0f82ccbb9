"""Events into patches, again: the real extraction stage as processes of their own, in a lineage of its own.

The lineage reads the event topics of the live one by a consumer group of its own, so nothing is copied, and every event
has its own place in the log and its own recorded time. Its session states, patches and dead letters are its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from memstream.schemas.errors import BrokerUnavailable, FatalError
from memstream.schemas.topics import EVENT_TOPICS
from memstream.settings import ENV_PREFIX, Settings
from memstream.settings.kafka import kafka_options
from memstream.streams.broker import admin_client
from memstream.streams.extract_process import group_of
from memstream.streams.replay.progress import Meter
from memstream.streams.replay.window import Window
from memstream.streams.supervisor import Supervisor, stage_command

_LOOK_SECONDS = 0.5
_STILL_LOOKS = 6  # how often nothing has moved before the last records are looked at: they may be marks of transactions
_STAGE = "extract"
_OWN = ("topic_prefix", "events_prefix", "patches_prefix", "extractor", "metrics_port_extract")

Offsets = dict[TopicPartition, int]


class EventReplay:
    """Runs the extraction stage of a lineage until it has read what the event topics hold when it begins."""

    def __init__(self, settings: Settings, window: Window, meter: Meter, log: Path, processes: int = 0) -> None:
        self._settings = settings
        self._window = window
        self._meter = meter
        self._log = log
        self._processes = processes
        self.already = False

    async def run(self, stop: asyncio.Event) -> bool:
        """Extract; False where `stop` came first: begun again, it goes on where it was.

        Raises FatalError where the stage can't be kept running, BrokerUnavailable.
        """
        try:
            async with self._consumer() as consumer, admin_client(self._settings) as admin:
                parts = self._partitions()
                begins, ends = await consumer.beginning_offsets(parts), await consumer.end_offsets(parts)
                done = await self._done(admin, begins)
                self._meter.begin("extract", _sum(done, begins), _sum(ends, begins))
                self.already = bool(parts) and all(done[tp] >= ends[tp] for tp in parts)
                if self.already or not any(ends[tp] > begins[tp] for tp in parts):
                    return not stop.is_set()
                return await self._extract(consumer, admin, begins, ends, stop)
        except KafkaError as error:
            raise BrokerUnavailable(f"The event topics could not be looked at: {error!r}") from error

    async def _extract(
        self,
        consumer: AIOKafkaConsumer,
        admin: AIOKafkaAdminClient,
        begins: Offsets,
        ends: Offsets,
        stop: asyncio.Event,
    ) -> bool:
        ended = asyncio.Event()  # of the stage: asked for, reached, or because it could not be kept running
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as output:
            supervisor = Supervisor(
                self._settings,
                (_STAGE,),
                self._processes,
                self._command,
                environment=_environment(self._settings),
                output=output,
            )
            keeping = asyncio.ensure_future(supervisor.keep(ended))
            try:
                reached = await self._until_read(consumer, admin, begins, ends, (stop, ended))
            finally:
                ended.set()
                well = await keeping
        if not well:
            raise FatalError(f"The extraction stage of the replay could not be kept running: {self._log} says why")
        return reached

    async def _until_read(
        self,
        consumer: AIOKafkaConsumer,
        admin: AIOKafkaAdminClient,
        begins: Offsets,
        ends: Offsets,
        stops: Sequence[asyncio.Event],
    ) -> bool:
        before, still = -1, 0
        while not any(event.is_set() for event in stops):
            done = await self._done(admin, begins)
            reached = _sum(done, begins)
            self._meter.reach(reached)
            behind = [tp for tp in ends if done[tp] < ends[tp]]
            if not behind:
                return True
            still = still + 1 if reached == before else 0
            before = reached
            if still >= _STILL_LOOKS and not await _any_left(consumer, behind, done, ends):
                return True
            await asyncio.sleep(_LOOK_SECONDS)
        return False

    async def _done(self, admin: AIOKafkaAdminClient, begins: Offsets) -> Offsets:
        told = await admin.list_consumer_group_offsets(group_of(self._settings))
        return {tp: max(told[tp].offset, begin) if tp in told else begin for tp, begin in begins.items()}

    def _partitions(self) -> list[TopicPartition]:
        names = [self._settings.topic(topic) for topic in EVENT_TOPICS]
        return [TopicPartition(name, number) for name in names for number in range(self._settings.partitions)]

    def _consumer(self) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(**kafka_options(self._settings), enable_auto_commit=False)

    def _command(self, stage: str, instance: str) -> Sequence[str]:
        return (*stage_command(stage, instance), "--window", self._window.encode())


async def _any_left(consumer: AIOKafkaConsumer, behind: list[TopicPartition], done: Offsets, ends: Offsets) -> bool:
    """Whether there is a record behind what is done, and not only marks of transactions."""
    consumer.assign(behind)
    for tp in behind:
        consumer.seek(tp, done[tp])
    for _ in range(2):
        found = await consumer.getmany(*behind, timeout_ms=1_000, max_records=1)
        if any(record.offset < ends[tp] for tp, records in found.items() for record in records):
            return True
    return False


def _sum(offsets: Offsets, begins: Offsets) -> int:
    return sum(offsets[tp] - begin for tp, begin in begins.items())


def _environment(settings: Settings) -> dict[str, str]:
    """What tells the stage's process of its lineage; all else it reads as we did."""
    told = {name: getattr(settings, name) for name in _OWN}
    return {f"{ENV_PREFIX}{name.upper()}": "" if value is None else str(value) for name, value in told.items()}
