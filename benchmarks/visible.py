"""When what was published became visible: the sealed positions of a topic, looked at again and again.

Looking costs the graph one small read each time. Afterwards the patches topic tells which event lies at which offset,
and an event was visible at the first look that found its offset sealed: late by at most the time between two looks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from neo4j import READ_ACCESS, AsyncDriver, AsyncGraphDatabase

from benchmarks.counted import events_done
from memstream.schemas.errors import NotVisibleError
from memstream.schemas.patch import Patch
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.log_reader import read_to_end

_ASK_SECONDS = 0.5

# Index: (topic, partition), by its first part.
SEALED = """
MATCH (o:StreamOffset {topic: $topic}) WHERE o.partition IS NOT NULL
RETURN o.partition AS partition, o.sealed AS sealed
"""


@dataclass(slots=True)
class Watch:
    """What was seen of one patches topic. Times are of this machine's monotonic clock."""

    settings: Settings
    driver: AsyncDriver
    _looks: dict[int, list[tuple[float, int]]] = field(default_factory=dict)

    @property
    def topic(self) -> str:
        """The topic's full name."""
        return Topic.PATCHES.named(self.settings.topic_prefix)

    async def look(self) -> None:
        """Note what is sealed now."""
        async with self.driver.session(
            database=self.settings.neo4j_database, default_access_mode=READ_ACCESS
        ) as session:
            result = await session.run(SEALED, topic=self.topic)
            rows = [(row["partition"], row["sealed"]) async for row in result]
        now = time.monotonic()
        for partition, sealed in rows:
            looks = self._looks.setdefault(partition, [])
            if sealed is not None and (not looks or looks[-1][1] < sealed):
                looks.append((now, sealed))

    async def until_all(self, number: int, every: float, patience: float) -> dict[str, float]:
        """Look until the sink has applied this many events in all: when each became visible, by its id.

        Raises NotVisibleError where there is no news for `patience` seconds.
        """
        news, asked, done = time.monotonic(), 0.0, -1.0
        while done < number:
            await self.look()
            now = time.monotonic()
            if now - asked > _ASK_SECONDS:
                asked, before = now, done
                done = await events_done(self.settings.metrics_port_sink, "applied")
                if done > before:
                    news = now
                elif now - news > patience:
                    raise NotVisibleError(
                        f"{done:.0f} of {number} events are in the graph, without news for {patience:.0f} s"
                    )
            await asyncio.sleep(every)
        await self.look()
        return await self._times()

    async def _times(self) -> dict[str, float]:
        found: dict[str, float] = {}
        async for record in read_to_end(self.settings, self.topic):
            seen = next((at for at, sealed in self._looks.get(record.partition, ()) if sealed >= record.offset), None)
            if seen is not None:
                found[Patch.decode(record.value).origin.id] = seen
        return found


@asynccontextmanager
async def watch(settings: Settings) -> AsyncIterator[Watch]:
    """A watch with a connection of its own."""
    async with AsyncGraphDatabase.driver(settings.neo4j_uri, auth=settings.neo4j_auth) as driver:
        yield Watch(settings, driver)
