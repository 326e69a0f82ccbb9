"""Replay from patches against the same rows sent bare, and duplicates against events that come for the first time.

A replay reads a topic and applies it with the real sink, as `memstream replay --from patches` does; bare are the same
rows as in the section of the sink. Duplicates are the patches of events that the graph has, at offsets of their own:
each is decoded, found by its event and dropped.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiokafka import AIOKafkaProducer

from benchmarks import lineage as own
from benchmarks import sink as bare
from benchmarks.figures import Aim, Figure, Section
from benchmarks.wipe import wipe_store
from memstream.extractors.vectors.dims import dimensions_of
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.migrations import migrate
from memstream.sinks.records import PatchRecord
from memstream.sinks.stores import Store, Stores
from memstream.streams.collector import search_seldom
from memstream.streams.replay.patches import PatchReplay
from memstream.streams.replay.progress import Meter
from memstream.streams.replay.window import Window

REPLAY, DUPLICATES = "replay", "duplicates"
_TO_BARE, _TO_FIRST = Aim(0.7), Aim(5.0)
_BATCH, _BATCHES, _QUICK_BATCHES, _WARM_UP = 1_000, 8, 3, 1

Row = dict[str, Any]


async def run_replay(stack: Settings, *, quick: bool) -> Section:
    """Patches a second out of a topic into the graph, with and without vectors, and each against bare."""
    batches = _QUICK_BATCHES if quick else _BATCHES
    figures: list[Figure] = []
    detail: Row = {}
    search_seldom()  # as the command does
    for words, dims in (("with vectors", dimensions_of(stack.embedder)), ("without vectors", 0)):
        told = await _replayed(stack, batches, dims)
        detail[words] = told
        figures += [
            Figure(f"replay from patches, {words}", told["replay"], "patches/s"),
            Figure(f"bare UNWIND … MERGE, {words}", told["bare"], "patches/s"),
            Figure(f"replay to bare, {words}", told["replay"] / told["bare"], "", _TO_BARE),
        ]
    how = (
        f"{batches} parts of {_BATCH:,} patches of a topic with one partition, each part then sent bare, after one of "
        "each to warm up. The clock runs from the first fetch to the last seal.",
    )
    return Section(REPLAY, "Replay from patches", figures, how, detail)


async def run_duplicates(stack: Settings, *, quick: bool) -> Section:
    """Known events a second, dropped, and new ones, applied."""
    told = await asyncio.to_thread(_dropped, stack, _QUICK_BATCHES if quick else _BATCHES)
    figures = (
        Figure("events for the first time", told["first"], "patches/s"),
        Figure("duplicates", told["again"], "patches/s"),
        Figure("duplicates to first", told["again"] / told["first"], "", _TO_FIRST),
    )
    how = ("The patches of the section of the sink, without vectors; each batch is applied, then given once more.",)
    return Section(DUPLICATES, "Duplicates are dropped", figures, how, told)


@dataclass(slots=True)
class _Course:
    """One measurement: a lineage with its store, and the scopes of both sides."""

    settings: Settings
    store: Store
    root: str
    took: dict[str, list[float]] = field(default_factory=lambda: {REPLAY: [], "bare": []})

    @property
    def topic(self) -> str:
        """The patches topic."""
        return self.settings.topic(Topic.PATCHES)

    async def publish(self, parts: Sequence[Sequence[PatchRecord]]) -> None:
        """Send all patches to the topic, part after part."""
        async with AIOKafkaProducer(**kafka_options(self.settings), acks="all", enable_idempotence=True) as producer:
            for part in parts:
                sent = [await producer.send(self.topic, key=one.key, value=one.value) for one in part]
                await asyncio.gather(*sent)

    async def part(self, graph: GraphSink, number: int) -> None:
        """Replay one part, then send its rows bare."""
        meter = Meter()
        replay = PatchReplay(self.settings, graph, Window(), meter, {0: (number + 1) * _BATCH})
        await replay.run(asyncio.Event())
        self.took[REPLAY].append(meter.seconds["apply"])
        rows = await asyncio.to_thread(
            bare.Bare.read, self.store, f"{self.root}/replay", f"{self.root}/bare", number * _BATCH
        )
        self.took["bare"].append(await asyncio.to_thread(bare.timed, partial(rows.send, self.store)))


async def _replayed(stack: Settings, batches: int, dims: int) -> Row:
    async with own.lineage(stack, partitions=1, sink_batch=_BATCH) as lineage:
        with Stores.connect(stack) as stores:
            store = stores.of("benchmarks")
            migrate(store.driver, store.database, dimensions_of(stack.embedder))
            course = _Course(lineage.settings, store, f"benchmarks/{secrets.token_hex(4)}")
            graph = GraphSink(store.driver, store.database, "benchmark", announce=False)
            numbers = range(batches + _WARM_UP)
            try:
                scope = f"{course.root}/replay"
                await course.publish(
                    [bare.records(bare.patches(scope, number, dims), number * _BATCH) for number in numbers]
                )
                for number in numbers:
                    await course.part(graph, number)
            finally:
                await asyncio.to_thread(
                    wipe_store, store, (f"{course.root}/replay", f"{course.root}/bare"), course.topic
                )
    return {**_rates(course.took), "seconds": course.took}


def _dropped(stack: Settings, batches: int) -> Row:
    took: dict[str, list[float]] = {"first": [], "again": []}
    scope, topic = f"benchmarks/{secrets.token_hex(4)}", f"b{secrets.token_hex(5)}.patches"
    with Stores.connect(stack) as stores:
        store = stores.of("benchmarks")
        migrate(store.driver, store.database, dimensions_of(stack.embedder))
        graph = GraphSink(store.driver, store.database, "benchmark", announce=False)
        graph.resume(topic, 0, 1)
        try:
            for number in range(batches + _WARM_UP):
                made = bare.patches(scope, number, 0)
                for turn, name in enumerate(took):
                    records = bare.records(made, (2 * number + turn) * _BATCH)
                    took[name].append(bare.timed(partial(graph.apply, topic, 0, records)))
        finally:
            wipe_store(store, (scope,), topic)
    return {**_rates(took), "seconds": took}


def _rates(took: dict[str, list[float]]) -> Row:
    return {name: (len(times) - _WARM_UP) * _BATCH / sum(times[_WARM_UP:]) for name, times in took.items()}
