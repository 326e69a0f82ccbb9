"""What everything rests on is killed while events are published, in short; `make chaos` does it for long."""

from __future__ import annotations

import asyncio
import os
from itertools import islice
from pathlib import Path

from chaos.misfortune import SHORT
from chaos.own_stack import OwnStack
from chaos.run import Plan, run
from chaos.story import events

from memstream.schemas.events import EVENT_TYPES
from memstream.schemas.statement import Erased, ErasureKind
from memstream.settings import Settings

SEED = int(os.environ.get("CHAOS_SEED", "11"))


def test_the_story_has_events_of_all_types_and_erasures_of_all_kinds() -> None:
    """Nothing that can be published is left out of what faults are dealt to."""
    told = list(islice(events(SEED, "chaos"), 6_000))
    assert {event.type for event in told} == set(EVENT_TYPES)
    erasures = [event.data for event in told if isinstance(event.data, Erased)]
    assert {one.kind for one in erasures} == set(ErasureKind)
    assert {(one.children, one.until is not None) for one in erasures} == {(c, u) for c in (0, 1) for u in (0, 1)}
    assert len(erasures) < len(told) / 20


async def test_chaos_loses_nothing_and_changes_nothing(stack: Settings, tmp_path: Path) -> None:
    """Acked events are in the graph or in the dead letters, and the graph is the one that peace makes of the same log.

    Kafka and Neo4j are killed, a sink sleeps past its session and wakes up, connections break in the middle of
    transactions. Workers and their children are killed by tests of their own (test_kills, test_streams_pool). What
    erasures among the events reach is gone, and nothing else.
    """
    own = OwnStack(tmp_path / "stack", stack.jars_dir, partitions=3)
    try:
        await own.up()
        plan = Plan(SEED, SHORT, len(SHORT), rate=12.0, most=500)
        outcome = await run(plan, own, tmp_path / "run", print)
    finally:
        await asyncio.to_thread(own.close)
    assert outcome.wrong == [], f"seed {SEED}"
    assert len(outcome.struck) == len(SHORT)
    assert outcome.counts["events acked"] > 200
    assert outcome.counts["events that are erased"] > 5
    print(outcome)  # noqa: T201
