"""Records that are sent outside a transaction: each is awaited until all replicas have it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from memstream.schemas.errors import BrokerUnavailable
from memstream.schemas.limits import MAX_DEAD_LETTER_BYTES
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.streams.outlet import OVERHEAD, Message, check_size


class Sender:
    """An idempotent producer. `start` before use, `stop` after."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer = AIOKafkaProducer(
            **kafka_options(settings),
            acks="all",
            enable_idempotence=True,
            compression_type="lz4",
            max_request_size=MAX_DEAD_LETTER_BYTES + OVERHEAD,
            max_batch_size=512_000,
        )

    async def start(self) -> None:
        """Connect. Raises BrokerUnavailable."""
        try:
            await self._producer.start()
        except KafkaError as error:
            raise BrokerUnavailable(f"Kafka does not take a producer: {error!r}") from error

    async def send(self, messages: Sequence[Message]) -> list[tuple[int, int]]:
        """Send all; when this returns they are durable: partition and offset of each.

        Raises BrokerUnavailable, after which some may be.
        """
        for message in messages:
            check_size(message)
        try:
            sent = [
                await self._producer.send(
                    self._settings.topic(message.topic),
                    value=message.value,
                    key=message.key,
                    headers=list(message.headers),
                    partition=message.partition,
                )
                for message in messages
            ]
            acked = await asyncio.gather(*sent)
        except KafkaError as error:
            raise BrokerUnavailable(f"Kafka did not take what was sent: {error!r}") from error
        return [(ack.partition, ack.offset) for ack in acked]

    async def stop(self) -> None:
        """Close the connections."""
        await self._producer.stop()
