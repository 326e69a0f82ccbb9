"""The whole way, publish to visible: the sustained rate, the latency at a tenth of it, and the memory it takes.

All workers and the query service run as a person starts them, with the default extractor and embedder. Warm-up messages
go first, until they are visible. For the rate all messages are published as fast as the broker takes them, and the
clock runs from the first call to the moment when the last one is visible: filling and draining the pipeline counts.
"""

from __future__ import annotations

import asyncio
import math
import statistics
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from benchmarks import lineage as own
from benchmarks.bare import bare_rate
from benchmarks.counted import cpu_seconds, peak_memory
from benchmarks.figures import Aim, Figure, Section
from benchmarks.lineage import Lineage
from benchmarks.texts import Corpus, corpus, events, texts_of
from benchmarks.visible import Watch, watch
from memstream.client import AsyncPublisher
from memstream.deploy.apps import EXTRACT, QUERY, SINK
from memstream.deploy.processes import ProcessTable
from memstream.schemas.events import Event
from memstream.settings import Settings

PIPELINE, LATENCY, MEMORY = "pipeline", "latency", "memory"
_P95_SECONDS = Aim(1.0, most=True)
_WARM_UP, _MESSAGES, _LATENCY_SECONDS = 500, 4_000, 60.0
_QUICK = (200, 1_000, 20.0)
_LOOK_SECONDS, _LOOK_OFTEN = 0.25, 0.02
_PATIENCE = 300.0
_SHARE = 10  # latency is measured at the sustained rate divided by this
_MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    warm_up: int
    messages: int
    latency_seconds: float

    @classmethod
    def of(cls, quick: bool) -> Plan:
        """A whole run, or a quick one whose figures are rough."""
        return cls(*(_QUICK if quick else (_WARM_UP, _MESSAGES, _LATENCY_SECONDS)))


@dataclass(slots=True)
class _Way:
    """Messages that are published one part after the other, and a watch on them."""

    lineage: Lineage
    watch: Watch
    made: list[Event]
    published: int = 0

    def take(self, number: int) -> list[Event]:
        """The next messages."""
        taken = self.made[self.published : self.published + number]
        self.published += len(taken)
        return taken


async def run(stack: Settings, wanted: Collection[str], *, quick: bool) -> list[Section]:
    """The sections wanted, of PIPELINE, LATENCY and MEMORY. The rate is measured for each of them."""
    plan, found = Plan.of(quick), corpus()
    bare = [await _bare(stack, plan)] if PIPELINE in wanted else []
    sections: list[Section] = []
    async with (
        own.lineage(stack, embedder=stack.embedder, extractor=stack.extractor) as lineage,
        watch(lineage.settings) as watching,
    ):
        # twice as many as the rate needs: what the latency takes is far less
        way = _Way(lineage, watching, events(found, lineage.root, plan.warm_up + 2 * plan.messages))
        await lineage.start(EXTRACT, SINK, QUERY)
        await _publish(way, way.take(plan.warm_up), _LOOK_SECONDS)
        rate, used = await _rate(way, way.take(plan.messages))
        if LATENCY in wanted:
            sections.append(await _latency(way, rate / _SHARE, plan.latency_seconds))
        if MEMORY in wanted:
            sections.append(_memory(lineage.processes, stack))
    if PIPELINE in wanted:
        bare.append(await _bare(stack, plan))
        sections.insert(0, _pipeline(rate, bare, used, plan, found))
    return sections


async def _bare(stack: Settings, plan: Plan) -> float:
    texts = texts_of(events(corpus(), "bare", plan.warm_up + plan.messages))
    return await bare_rate(texts[: plan.warm_up], texts[plan.warm_up :], stack.extract_process_count)


async def _publish(way: _Way, made: Sequence[Event], every: float) -> tuple[float, Mapping[str, float]]:
    """Publish at full speed: when that began, and when each was visible."""
    watching = asyncio.ensure_future(way.watch.until_all(way.published, every, _PATIENCE))
    begun = time.monotonic()
    async with AsyncPublisher(settings=way.lineage.settings) as publisher:
        await publisher.publish_many(made)
    return begun, await watching


async def _rate(way: _Way, made: Sequence[Event]) -> tuple[float, Mapping[str, float]]:
    """Messages a second, and the CPU seconds that each kind of process used meanwhile."""
    before = cpu_seconds(way.lineage.processes)
    begun, visible = await _publish(way, made, _LOOK_SECONDS)
    used = {kind: round(now - before.get(kind, 0.0), 1) for kind, now in cpu_seconds(way.lineage.processes).items()}
    return len(made) / (max(visible[event.id] for event in made) - begun), used


def _pipeline(rate: float, bare: Sequence[float], used: Mapping[str, float], plan: Plan, found: Corpus) -> Section:
    mean = statistics.mean(bare)
    figures = (
        Figure("published until visible, sustained", rate, "messages/s"),
        Figure("nlp.pipe bare", mean, "messages/s"),
        Figure("ratio to nlp.pipe bare", rate / mean),
    )
    how = (
        f"{plan.messages:,} messages of {found.origin} after {plan.warm_up:,} to warm up, no text twice, vectors "
        "included, from the first call of publish until the last one is visible.",
        "Bare: nlp.pipe alone, without vectors, in as many processes, with the whole machine to itself.",
    )
    detail = {"bare": list(bare), "cpu_seconds": dict(used)}
    return Section(PIPELINE, "The whole way: publish to visible", figures, how, detail)


async def _latency(way: _Way, rate: float, seconds: float) -> Section:
    """Publish evenly, one message after the other, and see when each is visible."""
    made = way.take(max(20, round(rate * seconds)))
    watching = asyncio.ensure_future(way.watch.until_all(way.published, _LOOK_OFTEN, _PATIENCE))
    called: dict[str, float] = {}
    async with AsyncPublisher(settings=way.lineage.settings) as publisher:
        begun = time.monotonic()
        for number, event in enumerate(made):
            await asyncio.sleep(max(begun + number / rate - time.monotonic(), 0))
            called[event.id] = time.monotonic()
            await publisher.publish(event)
    visible = await watching
    took = sorted(visible[event_id] - at for event_id, at in called.items())
    figures = (
        Figure("p50", quantile(took, 0.5), "s"),
        Figure("p95", quantile(took, 0.95), "s", _P95_SECONDS),
        Figure("most", took[-1], "s"),
    )
    how = (
        f"{len(took):,} messages, {rate:.1f} a second: a tenth of the sustained rate. From the call of publish until "
        f"reads see it, looked at every {_LOOK_OFTEN * 1000:.0f} ms.",
    )
    return Section(LATENCY, "Latency from publish to visible", figures, how, {"seconds": [round(s, 3) for s in took]})


def quantile(ordered: Sequence[float], share: float) -> float:
    """The least of the ordered values that at least this share of them does not exceed."""
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


def _memory(processes: ProcessTable, stack: Settings) -> Section:
    local = ProcessTable(stack.data_dir / "run", stack.data_dir / "logs")
    figures = [
        Figure(f"{kind} {number}" if len(sizes) > 1 else kind, size / _MEGABYTE, "MB")
        for kind, sizes in {**peak_memory(processes), **peak_memory(local, ("kafka", "neo4j"))}.items()
        for number, size in enumerate(sizes, start=1)
    ]
    how = ("Resident memory at its peak; of Kafka and Neo4j, where they run here, since they were started.",)
    return Section(MEMORY, "Peak memory", figures, how)
