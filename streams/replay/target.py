"""The graph that a replay fills: whether it may be filled, emptying it, and the mark that says what it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from aiokafka.admin import AIOKafkaAdminClient

from memstream.extractors.vectors.dims import dimensions_of
from memstream.schemas.errors import UsageError
from memstream.schemas.topics import Topic
from memstream.sealing import open_keys
from memstream.settings import Settings
from memstream.sinks import mark, wipe
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.mark import Mark, Phase
from memstream.sinks.migrations import migrate
from memstream.sinks.stores import Store
from memstream.streams.broker import admin_client

_SESSION_SECONDS = 35.0
_MEMBERS = 5  # their place in Kafka's description of a group


class TargetRefused(UsageError):
    """A graph that a replay must not fill; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Target:
    """A store with the lineage that it is filled from. All of it blocks: call it from a thread."""

    store: Store
    settings: Settings
    mark: Mark

    def found(self) -> Mark | None:
        """What an earlier replay left."""
        return mark.read(self.store.driver, self.store.database)

    def must_wipe(self, asked: bool) -> bool:
        """Whether the graph is to be emptied first: asked for, and not done already by the same replay.

        Raises TargetRefused where the graph holds something else and nobody asked for that.
        """
        migrate(self.store.driver, self.store.database)
        found = self.found()
        ours = found is not None and found.run == self.mark.run
        if ours and found is not None and found.phase is Phase.FILLING:
            return False
        if asked:
            return (found is not None and found.phase is Phase.WIPING) or not self._empty()
        if ours or self._empty() or self._same_log(found):
            return False
        topics = ", ".join(self.topics()) or "nothing that was applied to its end"
        raise TargetRefused(
            f"The graph at {self.settings.neo4j_uri} is not empty (it holds {topics}): add --wipe to empty it first, "
            "or take another Neo4j"
        )

    def empty(self, report: Callable[[int], None]) -> None:
        """Remove what the graph holds. Marked as being emptied meanwhile, so that no sink begins in it."""
        mark.write(self.store.driver, self.store.database, replace(self.mark, phase=Phase.WIPING))
        wipe.wipe(self.store.driver, self.store.database, report)

    def begin(self) -> GraphSink:
        """The sink that fills it, with its constraints and indexes made and its mark set."""
        migrate(self.store.driver, self.store.database, dimensions_of(self.settings.embedder))
        mark.write(self.store.driver, self.store.database, self.mark)
        worker = f"replay.{self.mark.run[:8]}"
        keys = open_keys(self.settings)
        return GraphSink(
            self.store.driver, self.store.database, worker, announce=False, replay=self.mark.run, keys=keys
        )

    def finish(self) -> None:
        """Say that all is there."""
        mark.write(self.store.driver, self.store.database, replace(self.mark, phase=Phase.DONE))

    def is_store_of(self, other: Store) -> bool:
        """Whether another address leads to the same database."""
        ids = [wipe.store_id(store.driver, store.database) for store in (self.store, other)]
        return ids[0] == ids[1]

    def topics(self) -> list[str]:
        """The patches topics that it was built from."""
        return wipe.topics(self.store.driver, self.store.database)

    def _empty(self) -> bool:
        return wipe.is_empty(self.store.driver, self.store.database)

    def _same_log(self, found: Mark | None) -> bool:
        """Whether it is a whole graph of the same log, which only has to catch up."""
        whole = not self.mark.partial and (found is None or not found.partial)
        return whole and self.topics() == [self.settings.topic(Topic.PATCHES)]


async def until_no_sink_lives(settings: Settings, topics: list[str], patience: float = _SESSION_SECONDS) -> list[str]:
    """The consumer groups of sinks of these patches topics that still have members after `patience` seconds.

    Kafka counts a member for some time after it has stopped. Raises BrokerUnavailable.
    """
    suffix = f".{Topic.PATCHES.value}"
    groups = [f"{settings.group_prefix}.{topic.removesuffix(suffix)}.sink" for topic in topics]
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    async with admin_client(settings) as admin:
        while living := [group for group in groups if await _members(admin, group)]:
            if loop.time() > deadline:
                break
            await asyncio.sleep(1.0)
    return living


async def _members(admin: AIOKafkaAdminClient, group: str) -> int:
    [answer] = await admin.describe_consumer_groups([group])
    return sum(len(described[_MEMBERS]) for described in answer.groups)
