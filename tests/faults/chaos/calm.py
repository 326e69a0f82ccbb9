"""The same again in peace: a copy of the event log, and one worker of each stage that nobody disturbs."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from aiokafka import AIOKafkaProducer, ConsumerRecord
from aiokafka.admin import NewTopic
from neo4j import Driver

from chaos import graphs
from chaos.fleet import Fleet
from memstream.schemas.topics import EVENT_TOPICS, TOPICS, Topic
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.streams.broker import admin_client
from memstream.streams.log_reader import read_to_end
from memstream.streams.topics_admin import create_topics

_LAST = 12  # of the last offsets of a partition some are markers of transactions


async def copy_events(chaotic: Settings, calm: Settings) -> int:
    """The event topics, record by record with place and append time, so that their patches must be the same bytes."""
    # a copy carries the append time of the first appearance, so its topics keep the time that they are given
    topics = [
        NewTopic(
            topic.named(calm.topic_prefix),
            calm.partitions,
            1,
            topic_configs={**TOPICS[topic].broker_config(), "message.timestamp.type": "CreateTime"},
        )
        for topic in EVENT_TOPICS
    ]
    async with admin_client(calm) as admin:
        await admin.create_topics(topics)
    await create_topics(calm)
    copied = 0
    async with AIOKafkaProducer(**kafka_options(calm), acks="all", enable_idempotence=True) as producer:
        for topic in EVENT_TOPICS:
            by_partition: dict[int, list[ConsumerRecord]] = defaultdict(list)
            async for record in read_to_end(chaotic, topic.named(chaotic.topic_prefix)):
                by_partition[record.partition].append(record)
            for partition, records in by_partition.items():
                copied += await _copy(producer, topic.named(calm.topic_prefix), partition, records)
    return copied


async def _copy(producer: AIOKafkaProducer, topic: str, partition: int, records: Sequence[ConsumerRecord]) -> int:
    sent = [
        await producer.send(
            topic,
            record.value,
            key=record.key,
            partition=partition,
            timestamp_ms=record.timestamp,
            headers=list(record.headers),
        )
        for record in records
    ]
    acks = await asyncio.gather(*sent)
    assert [ack.offset for ack in acks] == [record.offset for record in records], f"{topic} was copied with gaps"
    assert all(ack.timestamp_type == 0 for ack in acks), f"{topic} did not keep the times of its records"
    return len(acks)


async def is_extracted(settings: Settings) -> bool:
    """Whether the extraction stage is past all that the event topics have."""
    group = f"{settings.group_prefix}.{settings.topic_prefix}.extract"
    async with admin_client(settings) as admin:
        committed = await admin.list_consumer_group_offsets(group)
    done = {(tp.topic, tp.partition): found.offset for tp, found in committed.items()}
    for topic in EVENT_TOPICS:
        async for record in read_to_end(settings, topic.named(settings.topic_prefix), last=1):
            if done.get((record.topic, record.partition), 0) <= record.offset:
                return False
    return True


async def is_sunk(settings: Settings, driver: Driver) -> bool:
    """Whether the graph is past all patches, and has done what erasures among them left to do."""
    topic = Topic.PATCHES.named(settings.topic_prefix)
    there = await asyncio.to_thread(graphs.reached, driver, settings.neo4j_database, topic)
    async for record in read_to_end(settings, topic, last=_LAST):
        if there.get(record.partition, -1) < record.offset:
            return False
    return await asyncio.to_thread(graphs.is_done_erasing, driver, settings.neo4j_database)


@asynccontextmanager
async def worker(settings: Settings, folder: Path, *stages: str) -> AsyncIterator[Fleet]:
    """One worker of each of these stages; stopped at the end."""
    fleet = Fleet(settings, folder, {"MEMSTREAM_EXTRACT_PROCESSES": "1"})
    try:
        for stage in stages:
            fleet.start(stage)
        yield fleet
    finally:
        await asyncio.to_thread(fleet.close)
