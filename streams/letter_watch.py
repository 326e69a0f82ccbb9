"""How many dead letters wait for a decision, as a metric: both topics are followed from their beginning."""

from __future__ import annotations

import asyncio

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from memstream.schemas.errors import BrokerUnavailable, Reason
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.streams import metrics
from memstream.streams.dead_letters import Place, read_letter, read_mark
from memstream.streams.topics_admin import partition_counts

log = structlog.get_logger(__name__)

_TOPICS = (Topic.DEAD_LETTER, Topic.DEAD_LETTER_DONE)
_WAIT_MS = 1_000
_PAUSE_SECONDS = 10.0
_FETCH_BYTES = 2**21
_REASONS = frozenset(reason.value for reason in Reason)


class Waiting:
    """Dead letters that nobody has retried or dropped, by reason; what is added may come in any order."""

    def __init__(self) -> None:
        self._reasons: dict[Place, str] = {}
        self._done: set[Place] = set()
        self._shown: set[str] = set()

    def refused(self, place: Place, reason: str) -> None:
        """A letter was written."""
        if place not in self._done:
            self._reasons[place] = reason if reason in _REASONS else "other"  # labels must have a bound

    def done(self, place: Place) -> None:
        """A letter was marked."""
        self._done.add(place)
        self._reasons.pop(place, None)

    def counts(self) -> dict[str, int]:
        """How many wait, by reason; a reason that was there once stays, with 0."""
        counts = dict.fromkeys(sorted(self._shown | set(self._reasons.values())), 0)
        for reason in self._reasons.values():
            counts[reason] += 1
        self._shown |= counts.keys()
        return counts


async def watch_letters(settings: Settings) -> None:
    """Keep the metric right until cancelled. Where Kafka is away it begins again, from the beginning."""
    while True:
        try:
            await _follow(settings)
        except (KafkaError, BrokerUnavailable) as error:
            log.info("dead_letters_not_counted", why=str(error), next_try_seconds=_PAUSE_SECONDS)
        await asyncio.sleep(_PAUSE_SECONDS)


async def _follow(settings: Settings) -> None:
    names = {settings.topic(topic): topic for topic in _TOPICS}
    counts = await partition_counts(settings)
    tps = [TopicPartition(name, number) for name in names for number in range(counts.get(name, 0))]
    if not tps:
        return
    waiting = Waiting()
    consumer = AIOKafkaConsumer(
        **kafka_options(settings),
        enable_auto_commit=False,
        isolation_level="read_committed",
        max_partition_fetch_bytes=_FETCH_BYTES,
    )
    try:
        await consumer.start()
        consumer.assign(tps)
        await consumer.seek_to_beginning(*tps)
        while True:
            taken = await consumer.getmany(timeout_ms=_WAIT_MS, max_records=500)
            for tp, records in taken.items():
                for record in records:
                    _add(waiting, names[tp.topic], record)
            for reason, count in waiting.counts().items():
                metrics.DEAD_LETTERS_WAITING.labels(reason).set(count)
    finally:
        await consumer.stop()


def _add(waiting: Waiting, topic: Topic, record: object) -> None:
    headers, key, value = record.headers, record.key, record.value  # type: ignore[attr-defined] # aiokafka is untyped
    if topic is Topic.DEAD_LETTER:
        told = read_letter(headers, None)
        waiting.refused(told.place, told.reason)
    elif (mark := read_mark(key, value)) is not None:
        waiting.done(mark.place)
