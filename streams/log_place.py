"""Where the extraction stage goes on in the event topics, and whether that is still a place in the same log."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from memstream.schemas.errors import BrokerUnavailable, LogMismatch
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.streams.broker import admin_client
from memstream.streams.faust_source import SourcePartition
from memstream.streams.log_watch import LogWatch
from memstream.streams.state_store import SessionStates

log = structlog.get_logger(__name__)

_READ_SECONDS = 20.0
_WHAT_TO_DO = (
    "was recreated, or cut back, under what was worked off already. Bring the old log back, or begin a new lineage "
    "(MEMSTREAM_TOPIC_PREFIX)"
)


async def committed_places(
    settings: Settings, group: str, sources: Collection[SourcePartition], watch: LogWatch, states: SessionStates
) -> dict[SourcePartition, int]:
    """The offset at which each of these partitions goes on, as far as the group has one.

    Raises LogMismatch where the log does not reach there any more, or holds other records than those that the
    sessions' states have covered.
    """
    by_tp = {TopicPartition(settings.topic(Topic(topic)), number): (topic, number) for topic, number in sources}
    if not by_tp:
        return {}
    async with admin_client(settings) as admin:
        committed = {tp: found.offset for tp, found in (await admin.list_consumer_group_offsets(group)).items()}
    bounds = await watch.bounds(list(by_tp))
    places: dict[SourcePartition, int] = {}
    covered: dict[TopicPartition, tuple[bytes, int]] = {}
    for tp, source in by_tp.items():
        (begin, end), place = bounds[tp], committed.get(tp, -1)
        latest = states.latest(tp.partition) if source[0] == Topic.CONVERSATION else None
        if latest is not None and latest[1] >= begin:
            covered[tp] = latest
        if place > end or (latest is not None and latest[1] >= end):
            raise LogMismatch(
                f"{tp.topic}-{tp.partition} ends at offset {end}, before {max(place, 0)}: it {_WHAT_TO_DO}"
            )
        if place >= 0:
            await watch.check_gap(tp, place, begin)
            places[source] = place
        elif latest is not None:
            log.warning("offsets_forgotten", topic=tp.topic, partition=tp.partition, going_on_at=begin)
    await _check_covered(settings, covered)
    return places


async def _check_covered(settings: Settings, covered: dict[TopicPartition, tuple[bytes, int]]) -> None:
    """The record that a session's state covered last must be one of that session."""
    if not covered:
        return
    consumer = AIOKafkaConsumer(**kafka_options(settings), enable_auto_commit=False)
    try:
        async with asyncio.timeout(_READ_SECONDS):
            await consumer.start()
            consumer.assign(list(covered))
            for tp, (key, offset) in covered.items():
                consumer.seek(tp, offset)
                found = await consumer.getone(tp)
                if found.offset == offset and found.key != key:
                    raise LogMismatch(
                        f"{tp.topic}-{tp.partition} offset {offset} is of another session than the one whose state "
                        f"covers it: the topic {_WHAT_TO_DO}"
                    )
    except (KafkaError, TimeoutError) as error:
        raise BrokerUnavailable(f"the event topics could not be read: {error!r}") from error
    finally:
        await consumer.stop()
