"""Events for tests, published as an agent's client would send them, and topics read back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from aiokafka import AIOKafkaProducer, ConsumerRecord

from memstream.schemas.cloudevents import encode
from memstream.schemas.conversation import Message, Role, SessionStarted
from memstream.schemas.events import Event
from memstream.schemas.patch import Patch
from memstream.schemas.tools import ToolCall, ToolStatus
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.streams.log_reader import read_to_end

TIME = datetime(2026, 3, 6, 9, 0, tzinfo=UTC)


def message(scope: str, number: int, text: str, session: str = "s1", role: Role = Role.USER) -> Event:
    """A message, its id from its number."""
    data = Message(session_id=session, role=role, content=text, metadata={})
    return Event.of(data, id=f"m{number}", source="tests", time=TIME, scope=scope)


def started(scope: str, number: int, session: str) -> Event:
    """A session that begins."""
    data = SessionStarted(session_id=session, metadata={})
    return Event.of(data, id=f"b{number}", source="tests", time=TIME, scope=scope)


def tool_call(scope: str, number: int, session: str = "s1") -> Event:
    """A tool call that went well."""
    data = ToolCall(
        call_id=f"c{number}",
        tool="lookup",
        status=ToolStatus.SUCCESS,
        arguments={"number": number},
        result={"ok": True},
        session_id=session,
        metadata={},
    )
    return Event.of(data, id=f"t{number}", source="tests", time=TIME, scope=scope)


async def publish(settings: Settings, events: Iterable[Event]) -> list[tuple[str, int, int]]:
    """Send events and wait for all acks: topic, partition and offset of each."""
    async with AIOKafkaProducer(**kafka_options(settings), acks="all", enable_idempotence=True) as producer:
        sent = []
        for event in events:
            key, value, headers = encode(event)
            topic = event.kind.topic.named(settings.topic_prefix)
            sent.append(await producer.send(topic, key=key, value=value, headers=headers))
        acked = await asyncio.gather(*sent)
    return [(ack.topic, ack.partition, ack.offset) for ack in acked]


async def publish_raw(
    settings: Settings,
    records: Sequence[tuple[Topic, bytes | None, bytes | None, list[tuple[str, bytes]]]],
    **options: Any,
) -> list[tuple[str, int, int]]:
    """Send records as they are, valid or not: topic, key, value, headers of each."""
    async with AIOKafkaProducer(**kafka_options(settings), acks="all", **options) as producer:
        acks = [
            await producer.send_and_wait(topic.named(settings.topic_prefix), key=key, value=value, headers=headers)
            for topic, key, value, headers in records
        ]
    return [(ack.topic, ack.partition, ack.offset) for ack in acks]


async def read(settings: Settings, topic: Topic) -> list[ConsumerRecord]:
    """All committed records of a topic."""
    return [record async for record in read_to_end(settings, topic.named(settings.topic_prefix))]


async def read_patches(settings: Settings) -> list[Patch]:
    """All patches of a lineage."""
    return [Patch.decode(record.value) for record in await read(settings, Topic.PATCHES)]
