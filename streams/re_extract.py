"""Events that lack an extractor sent through extraction again, and what is better put beside the patches there are.

Needs no consumer group and no topics of its own: which events are meant stands in the topic of patches, and what comes
of them is of a higher generation, which replaces what was said without the extractor, in whatever order they arrive. So
it may be stopped at any time, and run again. The sessions of these events are read from their beginning, since a patch
is a function of what its session said before; of those messages nobody is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from aiokafka import ConsumerRecord

from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.chunk import ChunkWorker
from memstream.streams.extract_process import config_of, pool_of
from memstream.streams.log_reader import read_to_end
from memstream.streams.marked import Marked, Place
from memstream.streams.outlet import Message
from memstream.streams.pool import Pool
from memstream.streams.records import Output, Record, SessionWork
from memstream.streams.replay.window import Window
from memstream.streams.sender import Sender

_AT_ONCE = 400  # records

Session = tuple[str, int, bytes | None]
"""Topic, partition and key: what orders records."""


@dataclass(slots=True)
class Done:
    """What came of it: events whose patches are complete now, and those that still lack an extractor.

    `gone` events are not in the log any more, can't be read, or are refused today. `stopped`: it was asked to stop, or
    the extractor answered for none of some hundred, so that the rest was left for another time.
    """

    answered: int = 0
    still_missing: int = 0
    gone: int = 0
    stopped: bool = False


@dataclass(slots=True)
class ReExtraction:
    """One run over `marked` events. The sink that runs takes in what comes of it."""

    settings: Settings
    marked: Collection[Marked]
    stop: asyncio.Event
    done: Done = field(default_factory=Done)
    _states: dict[Session, bytes] = field(default_factory=dict)
    _waiting: dict[Session, list[Record]] = field(default_factory=dict)
    _seen: set[Place] = field(default_factory=set)

    async def run(self) -> Done:
        """Send them all through, topic by topic.

        Raises SettingsError where an extractor lacks a setting, BrokerUnavailable, FatalError.
        """
        window = Window(events=frozenset(one.key for one in self.marked))
        pool = pool_of(self.settings, partial(ChunkWorker, config_of(self.settings, window)))
        sender = Sender(self.settings)
        try:
            await pool.warm_up()
            await sender.start()
            for topic in sorted({one.place.topic for one in self.marked}):
                await self._topic(topic, pool, sender)
        finally:
            await sender.stop()
            await pool.close()
        if not self.done.stopped:
            self.done.gone += sum(one.place not in self._seen for one in self.marked)
        return self.done

    async def _topic(self, topic: str, pool: Pool, sender: Sender) -> None:
        wanted = {one.place: one for one in self.marked if one.place.topic == topic}
        partitions = {place.partition for place in wanted}
        last = await self._last(topic, wanted, partitions) if topic == Topic.CONVERSATION else {}
        waiting = 0
        async for found in read_to_end(self.settings, self.settings.topic(Topic(topic)), partitions):
            place = Place(topic, found.partition, found.offset)
            if place not in wanted and found.offset > last.get((found.partition, found.key), -1):
                continue
            self._waiting.setdefault((topic, found.partition, found.key), []).append(_record(topic, found))
            waiting += 1
            if waiting >= _AT_ONCE:
                await self._send_through(pool, sender, wanted)
                waiting = 0
            if self.done.stopped:
                return
        await self._send_through(pool, sender, wanted)

    async def _last(
        self, topic: str, wanted: Collection[Place], partitions: Collection[int]
    ) -> dict[tuple[int, bytes | None], int]:
        """The sessions that these events are of, by partition and key, with the offset of the last event of each."""
        found = read_to_end(self.settings, self.settings.topic(Topic(topic)), partitions)
        return {
            (one.partition, one.key): one.offset
            async for one in found
            if Place(topic, one.partition, one.offset) in wanted
        }

    async def _send_through(self, pool: Pool, sender: Sender, wanted: Mapping[Place, Marked]) -> None:
        works = [
            SessionWork(session[2], self._states.get(session, b""), records)
            for session, records in self._waiting.items()
        ]
        sessions = list(self._waiting)
        self._waiting = {}
        results = await pool.process(works)
        before = self.done.answered, self.done.still_missing
        for session, result in zip(sessions, results, strict=True):
            if result.state is not None and session[0] == Topic.CONVERSATION:
                self._states[session] = result.state
            await sender.send(self._better(result.outputs, wanted))
        nobody = self.done.answered == before[0] and self.done.still_missing > before[1]
        self.done.stopped = self.done.stopped or nobody or self.stop.is_set()

    def _better(self, outputs: Iterable[Output], wanted: Mapping[Place, Marked]) -> Sequence[Message]:
        """The patches that lack less than those there are."""
        messages = []
        for output in outputs:
            place = Place(output.record.topic, output.record.partition, output.record.offset)
            before = wanted.get(place)
            if before is None:
                continue
            self._seen.add(place)
            if output.patch is None or output.refusal is not None or output.unreadable:
                self.done.gone += 1
                continue
            if output.missing:
                self.done.still_missing += 1
            else:
                self.done.answered += 1
            if set(output.missing) < set(before.missing):
                messages.append(Message(Topic.PATCHES, output.patch_key, output.patch))
        return messages


def _record(topic: str, found: ConsumerRecord) -> Record:
    return Record(
        topic=topic,
        partition=found.partition,
        offset=found.offset,
        appended_ms=found.timestamp,
        key=found.key,
        value=found.value,
        headers=tuple((name, value or b"") for name, value in found.headers or ()),
    )
