"""Patches as the extraction stage makes them, without it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from aiokafka import AIOKafkaProducer

from memstream.extractors.vectors.embedders import create_embedder
from memstream.schemas.cloudevents import encode
from memstream.schemas.events import Event
from memstream.schemas.extraction import Extraction, SessionExtraction, SessionTurns
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.streams.chunk import ChunkConfig, ChunkWorker
from memstream.streams.records import Output, Record, SessionWork


class SilentExtractor:
    """Says nothing of any text."""

    name = "silent"
    generation = 1

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """Nothing for each turn."""
        return [SessionExtraction(session.state, [Extraction() for _ in session.turns]) for session in sessions]


def patches_of(events: Iterable[Event], offload: Path) -> list[tuple[bytes, bytes]]:
    """Key and value of the patch of each event."""
    config = ChunkConfig(offload_url=offload.as_uri())
    worker = ChunkWorker(config, extractor=SilentExtractor(), embedder=create_embedder("none"))
    works = []
    for offset, event in enumerate(events):
        key, value, headers = encode(event)
        appended = int(event.time.timestamp() * 1000)
        record = Record(event.kind.topic.value, 0, offset, appended, key, value, tuple(headers))
        works.append(SessionWork(key, b"", [record]))
    return [_sent(output) for result in worker.process(works) for output in result.outputs]


def _sent(output: Output) -> tuple[bytes, bytes]:
    assert output.patch_key is not None
    assert output.patch is not None
    return output.patch_key, output.patch


async def publish_patches(settings: Settings, patches: Sequence[tuple[bytes, bytes]]) -> list[tuple[int, int]]:
    """Send patches: partition and offset of each."""
    topic = Topic.PATCHES.named(settings.topic_prefix)
    async with AIOKafkaProducer(**kafka_options(settings), acks="all", enable_idempotence=True) as producer:
        acks = [await producer.send_and_wait(topic, key=key, value=value) for key, value in patches]
    return [(ack.partition, ack.offset) for ack in acks]
