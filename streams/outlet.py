"""Where the results of one source partition go: one Kafka transaction for all of a batch.

The transactional id names group, topic and partition, so starting an outlet fences whoever held the partition before:
a transaction that it left open is aborted, and it can't begin another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, ProducerFenced

from memstream.schemas.errors import BrokerUnavailable, FatalError
from memstream.schemas.limits import MAX_PATCH_BYTES
from memstream.schemas.topics import TOPICS, Topic
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options

_TRANSACTION_SECONDS = 60
OVERHEAD = 60_000  # what key, headers and framing may add to a topic's limit (schemas.topics has 64,000)


@dataclass(frozen=True, slots=True)
class Message:
    """A record to send. Without `partition` the key decides."""

    topic: Topic
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    partition: int | None = None


class Fenced(FatalError):
    """Another process has taken over the partition: this one must not go on with it."""


class Outlet:
    """A transactional producer for one source partition. `start` before use, `stop` after."""

    def __init__(self, settings: Settings, group: str, topic: str, partition: int) -> None:
        self._settings = settings
        self._source = TopicPartition(settings.topic(Topic(topic)), partition)
        self._name = f"{group}-{self._source.topic}-{partition}"
        self._producer = AIOKafkaProducer(
            **kafka_options(settings),
            transactional_id=self._name,
            transaction_timeout_ms=_TRANSACTION_SECONDS * 1000,
            acks="all",
            compression_type="lz4",
            max_request_size=MAX_PATCH_BYTES + OVERHEAD,
            max_batch_size=512_000,
        )

    async def start(self) -> None:
        """Fence the partition's holder before us. Raises BrokerUnavailable."""
        try:
            async with asyncio.timeout(_TRANSACTION_SECONDS):
                await self._producer.start()
        except (KafkaError, TimeoutError) as error:
            raise BrokerUnavailable(f"Kafka does not let {self._name} begin: {_said(error)}") from error

    async def hand_over(self, messages: Sequence[Message], group: str, next_offset: int) -> None:
        """Send all in one transaction, and with them that the group goes on at `next_offset` of the source partition.

        When this returns all is durable and readable, else none of it ever is.
        Raises Fenced where another process has the partition, BrokerUnavailable where the transaction failed.
        """
        for message in messages:
            check_size(message)
        try:
            async with asyncio.timeout(_TRANSACTION_SECONDS), self._producer.transaction():
                await asyncio.gather(*[await self._send(message) for message in messages])
                await self._producer.send_offsets_to_transaction({self._source: next_offset}, group)
        except ProducerFenced as error:
            raise Fenced(
                f"Another worker has taken over {self._name}. This one stops and starts anew; nothing is lost"
            ) from error
        except (KafkaError, TimeoutError) as error:
            raise BrokerUnavailable(f"The transaction of {self._name} failed: {_said(error)}") from error

    async def stop(self) -> None:
        """Close its connections."""
        await self._producer.stop()

    async def _send(self, message: Message) -> asyncio.Future[object]:
        future: asyncio.Future[object] = await self._producer.send(
            self._settings.topic(message.topic),
            value=message.value,
            key=message.key,
            partition=message.partition,
            headers=list(message.headers),
        )
        return future


def check_size(message: Message) -> None:
    """Raise FatalError for a record that its topic would refuse: a producer never recovers from that."""
    size = len(message.key or b"") + len(message.value or b"")
    size += sum(len(name) + len(value) for name, value in message.headers)
    limit = TOPICS[message.topic].max_bytes + OVERHEAD
    if size > limit:
        raise FatalError(f"A record for {message.topic.value} has {size:,} bytes, more than the topic's {limit:,}")


def _said(error: BaseException) -> str:
    return f"no answer within {_TRANSACTION_SECONDS} s" if isinstance(error, TimeoutError) else repr(error)
