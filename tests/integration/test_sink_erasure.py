"""Forgetting is real: what an erasure reaches is gone with all that followed from it, and does not come back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sink_patches import Told, moment
from sink_world import World, world

from memstream.settings import Settings


@pytest.fixture
def graph(stack: Settings, scope: str) -> Iterator[World]:
    """A scope of this test alone, in the real graph."""
    with world(stack, scope) as made:
        yield made


def texts(graph: World) -> set[str]:
    """Every text that is left anywhere in the scope: in nodes of any label, and on edges."""
    left: set[str] = set()
    rows = graph.rows(
        "MATCH (n {scope: $scope}) OPTIONAL MATCH (n)-[r]->() RETURN properties(n) AS n, properties(r) AS r"
    )
    for row in rows:
        for props in (row["n"], row["r"] or {}):
            left |= {str(value) for value in props.values()}
    return left


def secret(graph: World) -> Told:
    """A message that is to be forgotten, with a fact, a name and a taste of its own."""
    told = graph.say("m1", 1, session="s", subject="user-1").message("secret word", vector=[0.5])
    return told.mention("Secretive").lives("Ann", "Secretville").likes("Ann", "secret tea")


ERASURES = {
    "message": ("message", "m1"),
    "event": ("event", "KEY"),
    "session": ("session", "s"),
    "user": ("user", "user-1"),
    "scope": ("scope",),
}


@pytest.mark.parametrize("order", ["before", "after", "together"])
@pytest.mark.parametrize("kind", sorted(ERASURES))
def test_what_is_erased_leaves_no_word_whatever_came_first(graph: World, kind: str, order: str) -> None:
    """No text, name, vector, fact or version of it is left; its event says that it was erased."""
    told = secret(graph)
    named = [told.key if word == "KEY" else word for word in ERASURES[kind]]
    erasure = graph.say("x1", 9, session=None).erases(*named)
    if order == "together":
        graph.apply(told, erasure)
    else:
        for one in (erasure, told) if order == "before" else (told, erasure):
            graph.apply(one)
    assert not [text for text in texts(graph) if "ecret" in text]
    assert graph.facts() == []
    events = graph.rows(
        "MATCH (e:Event {scope: $scope}) WHERE e.id IS NOT NULL RETURN e.event_id AS id, e.verdict AS v"
    )
    assert sorted((row["id"], row["v"]) for row in events) == [("m1", "erased"), ("x1", "applied")]


def test_an_erasure_reaches_no_further_than_its_time(graph: World) -> None:
    """What was recorded later stays, in the same session and of the same person."""
    graph.apply(secret(graph))
    graph.apply(graph.say("x1", 5, session=None).erases("session", "s"))
    graph.apply(graph.say("m2", 7, session="s", subject="user-1").message("kept").lives("Ann", "Oslo"))
    assert graph.chain() == ["m2"]
    assert graph.facts() == [f"Ann lives in Oslo [{moment(7)}, )*"]


def test_what_others_said_of_the_same_stays(graph: World) -> None:
    """A fact with two sources loses one; a name that others use is theirs; the chain closes over the gap."""
    for minute in (1, 2, 3):
        graph.apply(graph.say(f"m{minute}", minute).message(f"text {minute}").lives("Ann", "Paris"))
    graph.apply(graph.say("x", 9, session=None).erases("message", "m2"))
    assert graph.chain() == ["m1", "m3"]
    assert graph.facts() == [f"Ann lives in Paris [{moment(1)}, )*"]
    (row,) = graph.rows(
        "MATCH (f:Fact {scope: $scope}) WHERE f.ended_at IS NULL AND f.id IS NOT NULL RETURN f.support AS n"
    )
    assert row == {"n": 2}
    graph.apply(graph.say("y", 10, session=None).erases("message", "m1", "m3"))
    assert graph.facts() == []
    assert graph.rows("MATCH (n:Entity {scope: $scope}) WHERE n.id IS NOT NULL RETURN n") == []


def test_a_correction_that_is_erased_gives_the_older_fact_back(graph: World) -> None:
    """Without the move of house the old home holds; no closed version tells of the other."""
    graph.apply(graph.say("m1", 1).message("one").lives("Ann", "Paris"))
    graph.apply(graph.say("m2", 2).message("two").lives("Ann", "Secretville"))
    graph.apply(graph.say("x", 9, session=None).erases("message", "m2"))
    assert graph.facts() == [f"Ann lives in Paris [{moment(1)}, )*"]
    assert not [text for text in texts(graph) if "Secretville" in text]
    assert graph.rows("MATCH (f:Fact {scope: $scope}) WHERE f.valid_to IS NOT NULL RETURN f") == []


def test_erased_events_do_not_come_back_with_a_better_patch(graph: World) -> None:
    """Neither a copy nor a new generation of an erased event is applied, and erasing twice is erasing once."""
    graph.apply(secret(graph), graph.say("x", 9, session=None).erases("session", "s"))
    before = graph.dump()
    again = secret(graph)
    again.generation = 2
    applied = graph.apply(secret(graph), again, graph.say("x", 9, session=None).erases("session", "s"))
    assert applied.applied == 0
    assert not [text for text in texts(graph) if "ecret" in text]
    assert len(graph.dump()) == len(before)


def test_an_erasure_is_not_erased_itself(graph: World) -> None:
    """Forgetting a scope keeps the erasures that were made in it, so that they hold on replay."""
    graph.apply(graph.say("x1", 5, session=None).erases("message", "m1"))
    graph.apply(graph.say("x2", 6, session=None).erases("scope"))
    graph.apply(graph.say("m1", 1).message("secret word"))
    assert len(graph.rows("MATCH (x:Erasure {scope: $scope}) WHERE x.id IS NOT NULL RETURN x")) == 2
    assert not [text for text in texts(graph) if "ecret" in text]
