"""One replay from its beginning to its end: look at the graph, empty it if asked, extract if from events, apply."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.sinks.mark import Mark, Phase
from memstream.sinks.stores import Store, Stores
from memstream.streams.replay.events import EventReplay
from memstream.streams.replay.patches import PatchReplay
from memstream.streams.replay.plan import Plan, Source
from memstream.streams.replay.progress import Meter
from memstream.streams.replay.target import Target, TargetRefused, until_no_sink_lives
from memstream.streams.topics_admin import create_topics


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a replay did. `finished` is False where it was stopped: the same command goes on.

    `unreadable` patches were passed over, since what they say is sealed by a key that is destroyed; of those that are
    `cut` a part was.
    """

    finished: bool
    lineage: str
    graph: str
    extracted: int = 0
    patches: int = 0
    passed_over: int = 0
    refused: int = 0
    unreadable: int = 0
    cut: int = 0
    nothing_new: bool = False


@dataclass(slots=True)
class Replay:
    """A plan with what it is carried out with. `log` is where the extraction stage writes."""

    plan: Plan
    settings: Settings
    meter: Meter
    log: Path
    metrics_port: int
    processes: int = 0

    async def wants_wipe(self) -> bool:
        """Whether this would empty a graph that holds something. Raises TargetRefused, and what is transient."""
        if self.plan.live:
            return False
        settings = self._target()
        with Stores.connect(settings) as stores:
            return await asyncio.to_thread(self._graph(stores, settings).must_wipe, self.plan.wipe)

    async def run(self, stop: asyncio.Event) -> Outcome:
        """Replay until all is done or `stop` is set.

        Raises TargetRefused where the graph must not be filled, LogMismatch, FatalError, and what is transient.
        """
        self.plan.check()
        settings = self._target()
        if self.plan.live:
            return await self._into_live(settings, stop)
        with Stores.connect(settings) as stores:
            target = self._graph(stores, settings)
            if await asyncio.to_thread(target.must_wipe, self.plan.wipe):
                await self._empty(target)
            if stop.is_set():
                return Outcome(False, settings.topic_prefix, settings.neo4j_uri)
            return await self._into(target, stop)

    def _target(self) -> Settings:
        return self.plan.target(self.settings).model_copy(update={"metrics_port_extract": self.metrics_port})

    def _graph(self, stores: Stores, settings: Settings) -> Target:
        partial_one = not self.plan.window.whole
        [store] = stores.all()
        return Target(store, settings, Mark(self.plan.run(self.settings), str(self.plan), partial_one, Phase.FILLING))

    async def _into_live(self, settings: Settings, stop: asyncio.Event) -> Outcome:
        """Newer patches into the live patches topic: by their generation they replace the older ones in its graph."""
        await create_topics(settings)
        events = self._events(settings)
        finished = await events.run(stop)
        return self._outcome(settings, finished, events, None)

    async def _into(self, target: Target, stop: asyncio.Event) -> Outcome:
        settings = target.settings
        graph = await asyncio.to_thread(target.begin)
        events: EventReplay | None = None
        if self.plan.source is Source.EVENTS:
            await create_topics(settings)
            events = self._events(settings)
            if not await events.run(stop):
                return self._outcome(settings, False, events, None)
        # what a lineage of its own extracted is in the window already
        window = self.plan.window
        patches = PatchReplay(settings, graph, window, self.meter)
        finished = await patches.run(stop)
        if finished:
            await asyncio.to_thread(target.finish)
        return self._outcome(settings, finished, events, patches)

    async def _empty(self, target: Target) -> None:
        await self._check_nobody_writes(target)
        self.meter.begin("wipe", 0, 0)
        await asyncio.to_thread(target.empty, self.meter.reach)

    async def _check_nobody_writes(self, target: Target) -> None:
        """A sink that goes on while its graph is emptied would fail; and whoever runs it has not meant this graph."""
        live = self.settings.topic(Topic.PATCHES)
        topics = set(await asyncio.to_thread(target.topics)) - {live}
        with Stores.connect(self.settings) as stores:
            [own] = stores.all()
            if self.plan.into is None or await asyncio.to_thread(partial(_same, target, own)):
                topics.add(live)
        living = await until_no_sink_lives(self.settings, sorted(topics))
        if living:
            raise TargetRefused(
                f"A sink writes to the graph at {target.settings.neo4j_uri} (consumer group {', '.join(living)} has "
                "members): stop it first, then run this again"
            )

    def _events(self, settings: Settings) -> EventReplay:
        return EventReplay(settings, self.plan.window, self.meter, self.log, self.processes)

    def _outcome(
        self, settings: Settings, finished: bool, events: EventReplay | None, patches: PatchReplay | None
    ) -> Outcome:
        return Outcome(
            finished=finished,
            lineage=settings.topic_prefix,
            graph=settings.neo4j_uri,
            extracted=self.meter.counted.get("extract", 0),
            patches=patches.taken if patches else 0,
            passed_over=patches.passed_over if patches else 0,
            refused=patches.refused if patches else 0,
            unreadable=patches.unreadable if patches else 0,
            cut=patches.cut if patches else 0,
            nothing_new=bool(events and events.already and not (patches and patches.taken)),
        )


def _same(target: Target, own: Store) -> bool:
    return target.is_store_of(own)
