"""Reading a topic from somewhere to the end it has now, without a consumer group."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from memstream.schemas.errors import BrokerUnavailable, TopicMismatch
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.streams.topics_admin import partition_counts

_READ_AT_ONCE = 2_000
_FETCH_BYTES = 16 * 2**20


async def read_to_end(
    settings: Settings, topic: str, partitions: Collection[int] | None = None, last: int | None = None
) -> AsyncIterator[ConsumerRecord]:
    """The committed records of some partitions (or all), as far as they reach when this begins.

    `topic` is the full name. With `last`, only about that many from the end of each partition.
    Raises BrokerUnavailable, and TopicMismatch where the topic or a partition of it is not there.
    """
    left = await _partitions(settings, topic, partitions)
    consumer = AIOKafkaConsumer(
        **kafka_options(settings),
        enable_auto_commit=False,
        isolation_level="read_committed",
        max_partition_fetch_bytes=_FETCH_BYTES,
    )
    try:
        await consumer.start()
        consumer.assign(left)
        await _seek(consumer, left, last)
        ends = await consumer.end_offsets(left)
        while left := [tp for tp in left if await consumer.position(tp) < ends[tp]]:
            for records in (await consumer.getmany(*left, timeout_ms=500, max_records=_READ_AT_ONCE)).values():
                for record in records:
                    yield record
    except KafkaError as error:
        raise BrokerUnavailable(f"{topic} could not be read: {error!r}") from error
    finally:
        await consumer.stop()


async def _partitions(settings: Settings, topic: str, wanted: Collection[int] | None) -> list[TopicPartition]:
    there = range((await partition_counts(settings)).get(topic, 0))
    lacking = sorted(set(wanted or ()) - set(there))
    if not there or lacking:
        lacks = f"lacks the partitions {lacking}" if there else "is not there"
        raise TopicMismatch(f"The topic {topic} {lacks}: see `memstream topics list`")
    return [TopicPartition(topic, number) for number in sorted(there if wanted is None else wanted)]


async def _seek(consumer: AIOKafkaConsumer, assigned: list[TopicPartition], last: int | None) -> None:
    starts = await consumer.beginning_offsets(assigned)
    ends = await consumer.end_offsets(assigned)
    for tp in assigned:
        consumer.seek(tp, starts[tp] if last is None else max(starts[tp], ends[tp] - last))
