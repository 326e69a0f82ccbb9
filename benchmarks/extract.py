"""The extraction stage against the same models bare: from topic to patch, with and without vectors.

A lineage of its own is filled with messages, then the real worker is started. Patches come in bursts, one for each
batch that is handed over; the clock runs from the end of the burst in which warming up ended to the last patch, by the
times that the patches have on the broker. Bare runs stand before and after each run of the worker, and each ratio is of
a run to the mean of its two neighbours: so a machine that slows down slows both.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchmarks import lineage as own
from benchmarks.bare import NO_VECTORS, bare_rate
from benchmarks.counted import cpu_seconds, events_done
from benchmarks.figures import Aim, Figure, Section
from benchmarks.texts import Corpus, corpus, events, texts_of
from memstream.client import AsyncPublisher
from memstream.deploy.apps import EXTRACT
from memstream.schemas.errors import NotVisibleError
from memstream.schemas.events import Event
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.log_reader import read_to_end

NAME = "extract"
_AIM = Aim(0.8)
_WARM_UP, _MESSAGES, _ROUNDS = 1_000, 4_000, 3
_QUICK = (300, 1_200, 1)
_PATIENCE = 900.0
_PAUSE = 0.5


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    warm_up: int
    messages: int
    rounds: int

    @classmethod
    def of(cls, quick: bool) -> Plan:
        """A whole run, or a quick one whose figures are rough."""
        return cls(*(_QUICK if quick else (_WARM_UP, _MESSAGES, _ROUNDS)))


@dataclass(frozen=True, slots=True)
class Measured:
    """Rates in turn: bare, stage, bare, stage, …, bare."""

    bare: list[float]
    stage: list[float]
    cpu: list[dict[str, float]]

    @property
    def ratios(self) -> list[float]:
        """Each run of the stage to the mean of the bare runs before and after it."""
        return [rate / statistics.mean(pair) for rate, pair in zip(self.stage, pairwise(self.bare), strict=True)]


async def run(stack: Settings, *, quick: bool) -> Section:
    """Measure without vectors, then with them."""
    plan, found = Plan.of(quick), corpus()
    processes = stack.extract_process_count
    figures: list[Figure] = []
    detail: dict[str, Any] = {"processes": processes, "messages": plan.messages, "texts": found.origin}
    for embedder, words in ((NO_VECTORS, "without vectors"), ("minilm", "with vectors")):
        measured = await _measure(stack, plan, found, embedder, processes)
        figures += [
            Figure(f"stage, {words}", statistics.median(measured.stage), "messages/s"),
            Figure(f"the models bare, {words}", statistics.median(measured.bare), "messages/s"),
            Figure(f"ratio, {words}", statistics.median(measured.ratios), aim=_AIM),
        ]
        detail[words] = {"bare": measured.bare, "stage": measured.stage, "ratios": measured.ratios, "cpu": measured.cpu}
    how = (
        f"{plan.messages:,} messages of {found.origin} after {plan.warm_up:,} to warm up, no text twice, "
        f"{processes} extraction processes in both, {plan.rounds} pairs of runs; medians.",
    )
    return Section(NAME, "Extraction stage: from topic to patch", figures, how, detail)


async def _measure(stack: Settings, plan: Plan, found: Corpus, embedder: str, processes: int) -> Measured:
    texts = texts_of(events(found, "bare", plan.warm_up + plan.messages))
    warm_up, timed = texts[: plan.warm_up], texts[plan.warm_up :]
    measured = Measured([await bare_rate(warm_up, timed, processes, embedder)], [], [])
    for _ in range(plan.rounds):
        rate, cpu = await _stage_rate(stack, plan, found, embedder)
        measured.stage.append(rate)
        measured.cpu.append(cpu)
        measured.bare.append(await bare_rate(warm_up, timed, processes, embedder))
    return measured


async def _stage_rate(stack: Settings, plan: Plan, found: Corpus, embedder: str) -> tuple[float, dict[str, float]]:
    async with own.lineage(stack, embedder=embedder) as lineage:
        made = events(found, lineage.root, plan.warm_up + plan.messages)
        await publish(lineage.settings, made)
        await lineage.start(EXTRACT)
        await until_patched(lineage.settings, len(made))
        cpu = cpu_seconds(lineage.processes)
        await asyncio.to_thread(lineage.stop)  # so that the last transaction is over
        topic = Topic.PATCHES.named(lineage.settings.topic_prefix)
        stamps = [record.timestamp / 1_000 async for record in read_to_end(lineage.settings, topic)]
    return steady_rate(stamps, plan.warm_up), cpu


async def publish(settings: Settings, made: Sequence[Event]) -> None:
    """Publish all and wait for the acks."""
    async with AsyncPublisher(settings=settings) as publisher:
        await publisher.publish_many(made)
        await publisher.flush()


async def until_patched(settings: Settings, number: int) -> None:
    """Return when the stage has made this many patches. Raises NotVisibleError where that takes too long."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _PATIENCE
    while (done := await events_done(settings.metrics_port_extract)) < number:
        if loop.time() > deadline:
            raise NotVisibleError(f"the extraction stage made {done:.0f} of {number} patches in {_PATIENCE:.0f} s")
        await asyncio.sleep(_PAUSE)


def steady_rate(stamps: Sequence[float], warm_up: int) -> float:
    """Patches a second, from the end of the burst in which the `warm_up`-th was made to the end of the last one."""
    ordered = sorted(stamps)
    gaps = [later - earlier for earlier, later in pairwise(ordered)]
    between = max(gaps) / 4  # in a burst patches stand far closer together
    first = next(i for i, gap in enumerate(gaps) if i + 1 >= warm_up and gap > between)
    return (len(ordered) - first - 1) / (ordered[-1] - ordered[first])
