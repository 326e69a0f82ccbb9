"""The state of every session whose partition we hold: in memory, and in the compacted topic it is read back from."""

from __future__ import annotations

from collections.abc import Iterable

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from memstream.schemas.errors import BrokerUnavailable
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.streams import metrics

_READ_AT_ONCE = 2_000


class SessionStates:
    """State by partition and key, as bytes. A partition is loaded before the first of its records is worked on."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._held: dict[int, dict[bytes, bytes]] = {}

    def holds(self, partition: int) -> bool:
        """Whether the partition was loaded."""
        return partition in self._held

    def get(self, partition: int, key: bytes | None) -> bytes:
        """The session's state; b"" at its start."""
        return self._held[partition].get(key, b"") if key is not None else b""

    def put(self, partition: int, key: bytes, state: bytes) -> None:
        """Keep the state that a session has now."""
        before = self._held[partition].get(key)
        self._held[partition][key] = state
        metrics.SESSIONS.inc(before is None)
        metrics.SESSION_BYTES.inc(len(state) - len(before or b""))

    def forget(self, partition: int) -> None:
        """Drop a partition: another process has it, or it will be loaded again."""
        self._held.pop(partition, None)
        self._count()

    async def load(self, partitions: Iterable[int]) -> None:
        """Read the partitions of the state topic to their end. Whoever wrote them must have been fenced before.

        Raises BrokerUnavailable.
        """
        wanted = sorted(set(partitions) - self._held.keys())
        if wanted:
            try:
                self._held.update(await self._read(wanted))
            except KafkaError as error:
                raise BrokerUnavailable(f"The states of sessions could not be read back: {error!r}") from error
            self._count()

    async def _read(self, partitions: list[int]) -> dict[int, dict[bytes, bytes]]:
        topic = Topic.SESSION_STATE.named(self._settings.topic_prefix)
        read: dict[int, dict[bytes, bytes]] = {partition: {} for partition in partitions}
        consumer = AIOKafkaConsumer(
            **kafka_options(self._settings), enable_auto_commit=False, isolation_level="read_committed"
        )
        await consumer.start()
        try:
            left = [TopicPartition(topic, partition) for partition in partitions]
            consumer.assign(left)
            await consumer.seek_to_beginning(*left)
            ends = await consumer.end_offsets(left)
            while left := [tp for tp in left if await consumer.position(tp) < ends[tp]]:
                batches = await consumer.getmany(*left, timeout_ms=500, max_records=_READ_AT_ONCE)
                for tp, records in batches.items():
                    _take(read[tp.partition], records)
        finally:
            await consumer.stop()
        return read

    def _count(self) -> None:
        metrics.SESSIONS.set(sum(len(held) for held in self._held.values()))
        metrics.SESSION_BYTES.set(sum(len(state) for held in self._held.values() for state in held.values()))


def _take(states: dict[bytes, bytes], records: Iterable[object]) -> None:
    for record in records:
        key, value = record.key, record.value  # type: ignore[attr-defined]
        if value is None:
            states.pop(key, None)
        else:
            states[key] = value
