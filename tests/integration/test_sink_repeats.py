"""Batches of patches that the graph has already are passed over as a whole; nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sink_patches import Told
from sink_world import PARTITIONS, World, world

from memstream.schemas.errors import LogMismatch
from memstream.settings import Settings
from memstream.sinks.migrations import migrate
from memstream.sinks.repeats import LEAST

MANY = LEAST + 10


@pytest.fixture
def graph(stack: Settings, scope: str) -> Iterator[World]:
    """A scope of this test alone, in a graph that has its indexes."""
    with world(stack, scope) as made:
        migrate(made.store.driver, made.store.database)
        yield made


def said(graph: World, *more: Told) -> list[Told]:
    """A batch that is large enough to be looked at before it is read."""
    return [*(graph.say(f"e{n}", n).message().lives(f"Person {n}", "Porto") for n in range(MANY)), *more]


def test_a_batch_of_repeats_is_passed_over(graph: World) -> None:
    """Nothing changes but the offset."""
    graph.apply(*said(graph))
    before = graph.dump()
    again = graph.apply(*said(graph))
    assert (again.applied, again.dropped, again.last_offset) == (0, MANY, 2 * MANY - 1)
    assert graph.dump() == before
    assert graph.sink.resume(graph.topic, graph.partition, PARTITIONS).offset == 2 * MANY - 1


def test_one_stranger_among_repeats_is_applied(graph: World) -> None:
    """Wherever it stands in the batch."""
    graph.apply(*said(graph))
    again = graph.apply(*said(graph, graph.say("new", 5).message("news")))
    assert (again.applied, again.dropped) == (1, MANY)


def test_a_better_patch_among_repeats_replaces(graph: World) -> None:
    """What came earlier in the log, or is of a higher generation, is no repeat."""
    graph.apply(*said(graph))
    better = replace(graph.say("e3", 3, generation=2).message("better"))
    again = graph.apply(*said(graph)[:3], better, *said(graph)[4:])
    assert (again.applied, again.replaced) == (1, 1)
    texts = graph.rows("MATCH (m:Message {scope: $scope}) WHERE m.event_id = 'e3' RETURN m.text AS text")
    assert [row["text"] for row in texts] == ["better"]


def test_repeats_of_another_log_are_refused_as_ever(graph: World) -> None:
    """The same patches from another topic: the graph belongs to the first."""
    graph.apply(*said(graph))
    first = graph.topic
    graph.new_log()
    with pytest.raises(LogMismatch, match=f"was built from partition 0 of {first}"):
        graph.apply(*said(graph))
    graph.topic = first
