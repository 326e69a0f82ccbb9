"""How far a graph is behind the log that it was built from."""

from __future__ import annotations

from collections.abc import Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from memstream.schemas.errors import BrokerUnavailable, TopicMismatch
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.streams.topics_admin import partition_counts


async def records_behind(settings: Settings, topic: str, applied: Mapping[int, int]) -> int:
    """Records of a patches topic (full name) above what is applied, by partition; marks of transactions count as well.

    Raises BrokerUnavailable, and TopicMismatch where there is no such topic.
    """
    count = (await partition_counts(settings)).get(topic, 0)
    if not count:
        raise TopicMismatch(f"The topic {topic}, which the graph was built from, is not on {settings.kafka_bootstrap}")
    parts = [TopicPartition(topic, number) for number in range(count)]
    try:
        async with AIOKafkaConsumer(**kafka_options(settings), enable_auto_commit=False) as consumer:
            ends = await consumer.end_offsets(parts)
    except KafkaError as error:
        raise BrokerUnavailable(f"{topic} could not be looked at: {error!r}") from error
    return sum(max(ends[tp] - 1 - applied.get(tp.partition, -1), 0) for tp in parts)
