"""The same patches give the same graph: in any order, with any duplicates, cut into any batches."""

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

from memstream.schemas.ids import named_id
from memstream.schemas.patch import Label, Patch
from memstream.settings import Settings
from memstream.sinks import folding

PEOPLE = ("Ann", "Bob")
PLACES = ("Paris", "Rome", "Oslo")
DATES = (None, None, "2012", "2026-03-01")


@pytest.fixture(scope="module")
def graph(stack: Settings) -> Iterator[World]:
    """One scope for all examples: ids depend on the scope."""
    with world(stack, "tests/convergence") as made:
        made.wipe()
        yield made


def homes(told: Told, pick: random.Random) -> Told:
    """Where someone lives, or lived, or does not."""
    who, where = pick.choice(PEOPLE), pick.choice(PLACES)
    dates = {"valid_from": pick.choice(DATES), "valid_to": pick.choice((None, None, None, "2015"))}
    return told.message(f"{who} {where}").lives(
        who, where, negated=pick.random() < 0.2, single=pick.random() < 0.8, **dates
    )


def calls(told: Told, pick: random.Random) -> Told:
    """A tool call's start or end, and what the session is called."""
    call = named_id("call", told.scope, "c")
    rank, status = pick.choice((("0", "pending"), ("1", "success")))
    told.share(Label.TOOL_CALL, call, "status", {"call_id": "c", "status": status}, key=rank + told.order)
    chat = named_id("session", told.scope, "s1")
    title = {"title": pick.choice("xy")} if pick.random() < 0.5 else {"user_id": "u"}
    return told.share(Label.CONVERSATION, chat, "started", {"session_id": "s1", **title})


def other(told: Told, pick: random.Random) -> Told:
    """Retractions, links, tastes, replies, erasures, and events that mean nothing."""
    earlier, who = f"e{pick.randrange(8)}", pick.choice(PEOPLE)
    erased = pick.choice((("message", earlier), ("session", "s2"), ("user", "u1"), ("scope", "")))
    kinds = (
        lambda: told,
        lambda: told.takes_back(earlier),
        lambda: told.unsays(who, pick.choice(PLACES)),
        lambda: told.same(*PEOPLE, same=pick.random() < 0.5),
        lambda: told.message("taste").likes("Ann", "tea", pick.choice(("like", "dislike"))),
        lambda: told.message("reply", reply_to=earlier).mention(who),
        lambda: told.erases(*erased, until=pick.randrange(0, 12)),
    )
    return pick.choice(kinds)()


@st.composite
def logs(draw: st.DrawFn) -> list[Patch]:
    """Up to nine patches of up to seven events: some events come twice, with another text or generation."""
    pick = random.Random(draw(st.integers(0, 2**32)))  # noqa: S311
    made = []
    for number in range(draw(st.integers(2, 9))):
        event = f"e{pick.randrange(7)}"
        told = Told(
            "tests/convergence",
            event,
            minute=pick.randrange(10),
            session=pick.choice(("s1", "s2")),
            generation=pick.choice((1, 1, 2)),
            subject=pick.choice((None, "u1")),
            offset=number,
        )
        made.append(pick.choices((homes, calls, other), (5, 2, 4))[0](told, pick).patch())
    return made


def fed(graph: World, log: Sequence[Patch], cuts: Sequence[int], few: int = folding.FEW) -> list[str]:
    """The canonical form of the graph after these patches, in this order, cut into batches.

    `few` is how many versions of a slot are read at once: of more, each is looked up.
    """
    graph.wipe()
    rest = list(log)
    with patched.object(folding, "FEW", few):
        for cut in [*cuts, len(rest)]:
            if batch := rest[:cut]:
                graph.apply(*batch)
            rest = rest[cut:]
    return graph.dump()


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), log=logs())
def test_any_order_any_duplicates_any_batches_give_one_graph(
    graph: World, data: st.DataObject, log: list[Patch]
) -> None:
    """A permutation of the log with duplicates, in batches of any size, ends in the same canonical form."""
    plain = fed(graph, log, [])
    again = data.draw(st.lists(st.sampled_from(log), max_size=4), label="duplicates")
    shuffled = data.draw(st.permutations(log + again), label="order")
    cuts = data.draw(st.lists(st.integers(1, 4), max_size=6), label="batches")
    few = data.draw(st.sampled_from((0, 1, folding.FEW)), label="versions read at once")
    assert fed(graph, shuffled, cuts, few) == plain


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(log=logs())
def test_a_log_read_twice_changes_nothing(graph: World, log: list[Patch]) -> None:
    """All patches again, at later offsets: all are known."""
    before = fed(graph, log, [2, 2])
    applied = graph.apply(*log)
    assert (applied.applied, applied.replaced, applied.dropped) == (0, 0, len(log))
    assert graph.dump() == before
