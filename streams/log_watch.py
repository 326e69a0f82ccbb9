"""Whether the topics are still those that the process began with: one deleted or recreated underneath must stop it.

A consumer does not tell: where its place in a topic is gone, it goes to the beginning, and passes over in silence what
was published before it noticed. So the identity that the broker gives a topic is compared before anything that was
read from it is handed on, and where a place is passed over, the broker is asked whether records were lost there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any, Self

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import IncompatibleBrokerVersion, KafkaError
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    AbstractType,
    Boolean,
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Schema,
    TaggedFields,
)

from memstream.schemas.errors import BrokerUnavailable, LogMismatch, TopicMismatch
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options

log = structlog.get_logger(__name__)

_LOOK_SECONDS = 2.0
_LOOKS = 6  # a broker that has just started may not know all topics yet
_PAUSE = 0.5
_NO_ID = bytes(16)


class _Uuid(AbstractType[bytes]):  # type: ignore[misc] # aiokafka is untyped
    @classmethod
    def encode(cls, value: bytes) -> bytes:
        return value

    @classmethod
    def decode(cls, data: BytesIO) -> bytes:
        return data.read(16)


_TOPIC_ID = ("topic_id", _Uuid)
_TAGS = ("tags", TaggedFields)


class _MetadataResponse(Response):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 12
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            CompactArray(("node", Int32), ("host", CompactString()), ("port", Int32), ("rack", CompactString()), _TAGS),
        ),
        ("cluster_id", CompactString()),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                ("error_code", Int16),
                ("name", CompactString()),
                _TOPIC_ID,
                ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline", CompactArray(Int32)),
                        _TAGS,
                    ),
                ),
                ("operations", Int32),
                _TAGS,
            ),
        ),
        _TAGS,
    )


class _MetadataRequest(RequestStruct):  # type: ignore[misc]
    """The version of Kafka 2.8 and later: the first beyond aiokafka's that tells a topic's identity."""

    FLEXIBLE_VERSION = True
    API_KEY = 3
    API_VERSION = 12
    RESPONSE_TYPE = _MetadataResponse
    SCHEMA = Schema(
        ("topics", CompactArray(_TOPIC_ID, ("name", CompactString()), _TAGS)),
        ("allow_auto_topic_creation", Boolean),
        ("include_operations", Boolean),
        _TAGS,
    )


class _TopicIds(Request[_MetadataRequest]):  # type: ignore[misc]
    API_KEY = 3

    def __init__(self, topics: Iterable[str]) -> None:
        self._topics = list(topics)

    def build(self, request_struct_class: type[_MetadataRequest]) -> _MetadataRequest:
        return request_struct_class([(_NO_ID, name, {}) for name in self._topics], False, False, {})


class LogWatch:
    """Watches over some topics of a lineage. `start` before use, `stop` after."""

    def __init__(self, settings: Settings, topics: Iterable[Topic]) -> None:
        self._names = sorted(settings.topic(topic) for topic in topics)
        self._consumer = AIOKafkaConsumer(**kafka_options(settings), enable_auto_commit=False)
        self._ids: Mapping[str, bytes] = {}
        self._knows = True

    async def start(self) -> None:
        """Take the topics as they are now for the right ones. Raises TopicMismatch, BrokerUnavailable."""
        try:
            await self._consumer.start()
        except KafkaError as error:
            raise BrokerUnavailable(f"Kafka does not take a consumer: {error!r}") from error
        self._ids = await self._read()

    async def stop(self) -> None:
        """Close the connections."""
        await self._consumer.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def check(self) -> None:
        """Raise LogMismatch where a topic is another one now, TopicMismatch where it is gone, and BrokerUnavailable."""
        if not self._knows:
            return
        now = await self._read()
        changed = sorted(name for name, topic_id in self._ids.items() if now[name] != topic_id)
        if changed:
            raise LogMismatch(
                f"{', '.join(changed)} was deleted and made again while this process ran: nothing of the new one was "
                "taken in. Mend the log or begin a new lineage (MEMSTREAM_TOPIC_PREFIX), then start the worker again"
            )

    async def run(self) -> None:
        """Check every few seconds, until cancelled. Raises what `check` does, but passes over a broker that is away."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                await self.check()
            except BrokerUnavailable as error:
                log.debug("topics_not_checked", why=str(error))

    async def check_gap(self, tp: TopicPartition, expected: int, found: int) -> None:
        """Raise LogMismatch where records between these offsets were removed before they were read.

        A gap alone means nothing: transactions leave markers, compaction leaves holes.
        """
        if found <= expected:
            return
        begin = (await self.bounds([tp]))[tp][0]
        if begin > expected:
            raise LogMismatch(
                f"{tp.topic}-{tp.partition} begins at offset {begin} now, and {begin - expected} records from "
                f"{expected} on were removed before they were read: bring them back, or see docs/faults.md on going on "
                "without them"
            )

    async def bounds(self, partitions: list[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """The first offset of each partition, and the one that comes next. Raises BrokerUnavailable."""
        try:
            begins = await self._consumer.beginning_offsets(partitions)
            ends = await self._consumer.end_offsets(partitions)
        except KafkaError as error:
            raise BrokerUnavailable(f"Kafka does not tell how far its topics reach: {error!r}") from error
        return {tp: (begins[tp], ends[tp]) for tp in partitions}

    async def _read(self) -> dict[str, bytes]:
        for _ in range(_LOOKS):
            found = await self._ask()
            if found.keys() >= set(self._names) or not self._knows:
                return found
            await asyncio.sleep(_PAUSE)
        gone = sorted(set(self._names) - found.keys())
        raise TopicMismatch(
            f"The topics {', '.join(gone)} are not there any more: they were deleted underneath this process. What "
            "they held and was not yet worked off is gone with them; bring them back, or make them anew, empty, with "
            "`memstream topics create`"
        )

    async def _ask(self) -> dict[str, bytes]:
        client: Any = self._consumer._client
        try:
            answer = await client.send(client.get_random_node(), _TopicIds(self._names))
        except (NotImplementedError, IncompatibleBrokerVersion):
            self._knows = False  # an older broker: its topics have no identity
            return {}
        except KafkaError as error:
            raise BrokerUnavailable(f"Kafka does not tell of its topics: {error!r}") from error
        return {name: topic_id for code, name, topic_id, *_ in answer.topics if code == 0}
