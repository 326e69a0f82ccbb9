"""Erasures in any order: with what used the erased, cards that rest on it, and steps: one graph comes out."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from unittest.mock import patch as patched

import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sink_patches import Told
from sink_world import World, world

from memstream.schemas.extraction import EntityType
from memstream.schemas.ids import entity_id
from memstream.schemas.patch import Label, Patch
from memstream.settings import Settings
from memstream.sinks import erase_steps
from memstream.sinks.migrations import migrate

SCOPE = "tests/erasures"
PEOPLE, PLACES = ("Ann", "Bob"), ("Paris", "Rome")


@pytest.fixture(scope="module")
def graph(stack: Settings) -> Iterator[World]:
    """One scope for all examples: ids depend on the scope."""
    with world(stack, SCOPE) as made:
        migrate(made.store.driver, made.store.database)
        made.wipe()
        yield made


def told_of(number: int, pick: random.Random, recorded: int, generation: int) -> Told:
    """One event: something said, maybe by the help of others of its session; a card that rests on any; an erasure."""
    told = Told(
        SCOPE,
        f"e{number}",
        number,
        session=("s1", "s2")[number % 2],
        subject=pick.choice((None, "u1")),
        generation=generation,
        recorded=recorded,
        offset=recorded,
    )
    helped = [f"e{pick.randrange(number % 2, 8, 2)}"] if pick.random() < 0.5 else []
    kind = pick.choices(("said", "card", "erasure"), (6, 2, 3))[0]
    if kind == "card":
        props = {"title": f"card {number}", "evidence": [f"e{pick.randrange(8)}", "a ticket"]}
        return told.share(Label.MEMORY, f"card-{pick.randrange(2)}", "card", props)
    if kind == "erasure":
        entity = entity_id(SCOPE, EntityType.PERSON, pick.choice(PEOPLE))
        named = pick.choice(
            (("message", f"e{pick.randrange(8)}"), ("session", "s1"), ("user", "u1"), ("entity", entity))
        )
        return told.erases(*named, until=pick.randrange(8))
    who, where = pick.choice(PEOPLE), pick.choice(PLACES)
    told.message(f"{who} {where}").mention(who, used=helped)
    return told.lives(who, where, used=told.keys(helped), single=pick.random() < 0.7)


@st.composite
def logs(draw: st.DrawFn) -> list[Patch]:
    """Up to eight events; some of them are recorded once more, or read by a newer extractor."""
    seed = draw(st.integers(0, 2**32))
    pick = random.Random(seed)  # noqa: S311
    numbers = [*range(draw(st.integers(3, 8))), *(pick.randrange(8) for _ in range(draw(st.integers(0, 3))))]
    return [
        told_of(number, random.Random(f"{seed} {number}"), recorded, pick.choice((1, 1, 2))).patch()  # noqa: S311
        for recorded, number in enumerate(numbers)
    ]


def fed(graph: World, log: Sequence[Patch], cuts: Sequence[int], step: int) -> list[str]:
    """The canonical form of the graph after these patches, cut into batches, with steps of a size between them."""
    graph.wipe()
    rest = list(log)
    with patched.object(erase_steps, "STEP", step):
        for cut in [*cuts, len(rest)]:
            if batch := rest[:cut]:
                graph.apply(*batch)
                graph.erase_on(1)
            rest = rest[cut:]
        graph.erase_on()
    return graph.dump()


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), log=logs())
def test_erasures_in_any_order_and_any_steps_give_one_graph(
    graph: World, data: st.DataObject, log: list[Patch]
) -> None:
    """A permutation with duplicates, in batches of any size and steps of one event, ends in the same canonical form."""
    plain = fed(graph, log, [], 1_000)
    again = data.draw(st.lists(st.sampled_from(log), max_size=3), label="duplicates")
    shuffled = data.draw(st.permutations(log + again), label="order")
    cuts = data.draw(st.lists(st.integers(1, 4), max_size=6), label="batches")
    assert fed(graph, shuffled, cuts, 1) == plain
