"""An event that was refused and is put back wins over its refusal, in any order, with any duplicates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sink_patches import Told
from sink_world import World, world

from memstream.schemas.patch import Patch, Verdict
from memstream.settings import Settings

SCOPE = "tests/refused"

Step = tuple[Patch, bool]
"""A patch, and whether it is the sink that refuses it."""


@pytest.fixture(scope="module")
def graph(stack: Settings) -> Iterator[World]:
    """One scope for all examples."""
    with world(stack, SCOPE) as made:
        made.wipe()
        yield made


def refused(event: str, minute: int, offset: int) -> Patch:
    """The verdict of the extraction stage: nothing of the event, and the lowest generation."""
    told = Told(SCOPE, event, minute, generation=0, offset=offset).patch()
    return told.model_copy(update={"verdict": Verdict.DEAD_LETTERED, "reason": "bad_time: far ahead"})


@st.composite
def steps(draw: st.DrawFn) -> list[Step]:
    """Up to seven patches of three events: refused by either stage, put back, said twice with two contents, erased."""
    made: list[Step] = []
    for offset in range(draw(st.integers(2, 7))):
        event, minute = f"e{draw(st.integers(0, 2))}", draw(st.integers(0, 5))
        kind = draw(st.sampled_from(["refused", "sink", "right", "right", "erased"]))
        told = Told(SCOPE, event, minute, generation=draw(st.integers(1, 2)), offset=offset)
        if kind == "refused":
            made.append((refused(event, minute, offset), False))
        elif kind == "erased":
            made.append((replace(told, event=f"x{offset}").erases("message", event, until=minute).patch(), False))
        else:
            said = told.message(f"said {offset}").lives("Ann", draw(st.sampled_from(["Paris", "Rome"])))
            made.append((said.patch(), kind == "sink"))
    return made


def fed(graph: World, log: Sequence[Step]) -> list[str]:
    """The canonical form after these steps in this order."""
    graph.wipe()
    for patch, by_sink in log:
        [record] = graph.records([patch])
        if by_sink:
            graph.sink.refuse(graph.topic, graph.partition, record, "graph_refused: too much")
        else:
            graph.sink.apply(graph.topic, graph.partition, [record])
    return graph.dump()


def verdict(graph: World, event: str) -> str:
    """What the graph says of an event."""
    [row] = graph.rows("MATCH (e:Event {scope: $scope, event_id: $id}) RETURN e.verdict AS v", id=event)
    return str(row["v"])


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), log=steps())
def test_any_order_of_refusals_and_retries_gives_one_graph(graph: World, data: st.DataObject, log: list[Step]) -> None:
    """A permutation with duplicates ends in the same canonical form; what applies never loses to a refusal."""
    plain = fed(graph, log)
    right = {patch.origin.id for patch, by_sink in log if patch.nodes and not by_sink}
    for event in sorted(right):
        assert verdict(graph, event) in {"applied", "erased"}
    again = data.draw(st.lists(st.sampled_from(log), max_size=3), label="duplicates")
    assert fed(graph, data.draw(st.permutations(log + again), label="order")) == plain


@pytest.mark.parametrize("by_sink", [False, True], ids=["extraction", "sink"])
def test_a_retried_event_replaces_its_refusal(graph: World, by_sink: bool) -> None:
    """Later in the log, of the same generation as the patch that was refused: it counts all the same."""
    graph.wipe()
    wrong = Told(SCOPE, "m1", 1, offset=1).message("wrong").patch() if by_sink else refused("m1", 1, 1)
    fed_first = (wrong, by_sink)
    right = (Told(SCOPE, "m1", 1, recorded=1, offset=9).message("right").patch(), False)
    forward = fed(graph, [fed_first, right])
    assert verdict(graph, "m1") == "applied"
    assert fed(graph, [right, fed_first]) == forward


def test_a_whole_batch_that_was_refused_is_taken_when_it_is_put_back(graph: World) -> None:
    """The very same patches, of the same origin and digest as their refusals: none is passed over as known."""
    graph.wipe()
    patches = [Told(SCOPE, f"b{number}", 1, offset=number).message("said").patch() for number in range(60)]
    for record in graph.records(patches):
        graph.sink.refuse(graph.topic, graph.partition, record, "graph_refused: too much")
    applied = graph.apply(*patches)
    assert (applied.applied, applied.replaced, applied.dropped) == (60, 60, 0)
    assert graph.apply(*patches).dropped == 60
