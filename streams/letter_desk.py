"""Where decisions about dead letters are made: one desk at a time for a lineage of topics.

A decision is a mark, written in a transaction whose id is the desk's: who opens the desk fences whoever had it before,
and then reads all marks there are. The events go out first, outside the transaction, and the mark only after the
broker has acked them: a crash between the two leaves a letter that waits and an event that is known by its id, so that
the next retry changes nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, ProducerFenced

from memstream.schemas.errors import BrokerUnavailable, InvalidPatch, UsageError
from memstream.schemas.patch import Patch, Verdict
from memstream.schemas.topics import Topic
from memstream.sealing.patches import is_sealed_patch, readable_part
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.streams.dead_letters import Mark, Place, read_letter, write_mark
from memstream.streams.letter_book import Filed, read_marks
from memstream.streams.outlet import Message
from memstream.streams.sender import Sender
from memstream.streams.topics_admin import create_topics, partition_counts

_TRANSACTION_SECONDS = 60


class DeskTaken(UsageError):
    """Somebody else began to decide about dead letters meanwhile."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A letter, what is put back for it (None: nothing), and the mark it gets."""

    letter: Filed
    message: Message | None
    mark: Mark


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an event that was put back: a patch (`refused` is None), or refused again with this reason."""

    place: Place
    refused: str | None = None


class Desk:
    """Use with `async with`. Raises BrokerUnavailable where Kafka does not answer, DeskTaken from `decide`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._sender = Sender(settings)
        self._marks: dict[Place, Mark] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._producer = AIOKafkaProducer(
            **kafka_options(settings),
            transactional_id=f"{settings.group_prefix}.{settings.topic_prefix}.dlq",
            transaction_timeout_ms=_TRANSACTION_SECONDS * 1000,
            acks="all",
        )

    async def __aenter__(self) -> Self:
        if self._settings.topic(Topic.DEAD_LETTER_DONE) not in await partition_counts(self._settings):
            await create_topics(self._settings)
        try:
            async with asyncio.timeout(_TRANSACTION_SECONDS):
                await self._producer.start()
        except (KafkaError, TimeoutError) as error:
            raise BrokerUnavailable(f"Kafka does not let us decide about dead letters: {error!r}") from error
        await self._sender.start()
        self._marks = await read_marks(self._settings)
        self._ends = await self._ends_now()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._sender.stop()
        await self._producer.stop()

    async def decide(self, decided: Sequence[Decided]) -> list[Mark]:
        """Put back what is to be put back, then mark all: the marks that were made.

        Letters that are marked already are passed over. Raises DeskTaken where somebody opened the desk after us: what
        is not marked then still waits.
        """
        fresh = [one for one in decided if one.mark.place not in self._marks]
        sending = [one.message for one in fresh if one.message is not None]
        places = iter(zip(sending, await self._sender.send(sending), strict=True))
        marks = [one.mark if one.message is None else _sent(one.mark, *next(places)) for one in fresh]
        if not marks:
            return []
        try:
            async with asyncio.timeout(_TRANSACTION_SECONDS), self._producer.transaction():
                await asyncio.gather(*[await self._mark(mark) for mark in marks])
        except ProducerFenced as error:
            raise DeskTaken(
                "Somebody else retries or drops dead letters at this moment. What was put back is taken once by its "
                "id; what is left is shown by `memstream dlq list`"
            ) from error
        except (KafkaError, TimeoutError) as error:
            raise BrokerUnavailable(f"Dead letters could not be marked as done: {error!r}") from error
        self._marks.update({mark.place: mark for mark in marks})
        return marks

    async def outcomes(self, marks: Sequence[Mark], seconds: float) -> list[Outcome]:
        """What became of what was put back, as far as it is known within these seconds.

        Of a patch that was put back only a refusal is told: the sink answers in the graph.
        """
        waiting = {mark.sent for mark in marks if mark.sent is not None and mark.sent[0] != Topic.PATCHES}
        found: list[Outcome] = []
        if not waiting:
            return found
        consumer = AIOKafkaConsumer(
            **kafka_options(self._settings), enable_auto_commit=False, isolation_level="read_committed"
        )
        try:
            await consumer.start()
            consumer.assign(list(self._ends))
            for tp, offset in self._ends.items():
                consumer.seek(tp, offset)
            deadline = time.monotonic() + seconds
            while waiting and time.monotonic() < deadline:
                for records in (await consumer.getmany(timeout_ms=200, max_records=500)).values():
                    found += [one for record in records if (one := self._outcome(record)) and one.place in waiting]
                    waiting -= {one.place for one in found}
        except KafkaError as error:
            raise BrokerUnavailable(f"What became of the retried events could not be read: {error!r}") from error
        finally:
            await consumer.stop()
        return found

    async def _mark(self, mark: Mark) -> asyncio.Future[object]:
        message = write_mark(mark)
        future: asyncio.Future[object] = await self._producer.send(
            self._settings.topic(message.topic), value=message.value, key=message.key
        )
        return future

    async def _ends_now(self) -> dict[TopicPartition, int]:
        topics = [self._settings.topic(topic) for topic in (Topic.PATCHES, Topic.DEAD_LETTER)]
        counts = await partition_counts(self._settings)
        tps = [TopicPartition(topic, number) for topic in topics for number in range(counts.get(topic, 0))]
        consumer = AIOKafkaConsumer(**kafka_options(self._settings), enable_auto_commit=False)
        try:
            await consumer.start()
            ends: dict[TopicPartition, int] = await consumer.end_offsets(tps)
        except KafkaError as error:
            raise BrokerUnavailable(f"Kafka does not say where its topics end: {error!r}") from error
        finally:
            await consumer.stop()
        return ends

    def _outcome(self, record: object) -> Outcome | None:
        topic, headers, value = record.topic, record.headers, record.value  # type: ignore[attr-defined] # untyped
        if topic == self._settings.topic(Topic.DEAD_LETTER):
            told = read_letter(headers, None)
            return Outcome(told.place, f"{told.reason}: {told.message}")
        try:
            patch = Patch.decode(readable_part(value) if is_sealed_patch(value) else value)
        except InvalidPatch:
            return None
        place = (patch.origin.topic, patch.origin.partition, patch.origin.offset)
        return Outcome(place, patch.reason if patch.verdict is Verdict.DEAD_LETTERED else None)


def _sent(mark: Mark, message: Message, acked: tuple[int, int]) -> Mark:
    return replace(mark, sent=(message.topic.value, *acked))
