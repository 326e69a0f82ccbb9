"""Resolution in the real graph: it stands behind what people say, goes with what is erased, and converges."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from sink_patches import Told
from sink_world import World, world

from memstream.extractors.vectors.embedders import NoEmbedder
from memstream.schemas.ids import entity_id
from memstream.settings import Settings
from memstream.sinks.migrations import migrate
from memstream.sinks.resolving import Place, ScopeReader
from memstream.streams.resolution import Resolved, resolve_scope

PEOPLE = ("Robert Hale", "Bob Hale", "Robert Finch", "Bob Finch", "P. Nadar", "Priya Nadar", "Anna Weber", "Anna Lind")
ONE = {frozenset(("Robert Hale", "Bob Hale")), frozenset(("Robert Finch", "Bob Finch"))}
MAYBE = {frozenset(("P. Nadar", "Priya Nadar"))}
EDGES = """
MATCH (a:Entity {scope: $scope})-[r:SAME_AS]->(b:Entity) WHERE a.id IS NOT NULL
RETURN a.name AS a, b.name AS b, r.status AS status, r.score AS score, r.reason AS reason, r.at AS at,
  coalesce(r.derived, false) AS derived
"""


@pytest.fixture
def graph(stack: Settings, scope: str) -> Iterator[World]:
    """A scope of this test alone, in a graph that has its indexes."""
    with world(stack, scope) as made:
        migrate(made.store.driver, made.store.database)
        yield made


def look(graph: World) -> Resolved:
    """One run of resolution over the scope, without sending what it says."""
    reader = ScopeReader(graph.store.driver, graph.store.database)
    (place,) = reader.places(graph.scope)
    return resolve_scope(reader, place, NoEmbedder())


def run(graph: World) -> Resolved:
    """One run of resolution, whose patches the sink applies."""
    found = look(graph)
    if found.patches:
        graph.apply(*found.patches)
    return found


def edges(graph: World, status: str) -> set[frozenset[str]]:
    """The names of the pairs with this status."""
    return {frozenset((row["a"], row["b"])) for row in graph.rows(EDGES) if row["status"] == status}


def tell(graph: World, names: Sequence[str] = PEOPLE) -> None:
    """A message that names each, in a batch of its own."""
    for minute, name in enumerate(names):
        graph.apply(graph.say(f"m-{name}", minute).message().mention(name))


def told(graph: World, name: str, minute: int) -> Told:
    """A message that names somebody."""
    return graph.say(f"m-{name}", minute).message().mention(name)


def test_what_it_finds_is_in_the_graph_with_score_and_reason(graph: World) -> None:
    """Sure pairs are accepted, likely ones proposed; the edge says how sure and why, and from which position on."""
    tell(graph)
    found = run(graph)
    assert (found.entities, found.accepted, found.proposed, found.changed) == (8, 2, 1, 3)
    assert edges(graph, "accepted") == ONE
    assert edges(graph, "proposed") == MAYBE
    assert {row["at"] for row in graph.rows(EDGES)} == {graph.next - 1}
    assert all(row["derived"] and row["reason"] and row["score"] >= 0.7 for row in graph.rows(EDGES))


def test_a_second_run_says_nothing_and_a_patch_applied_twice_changes_nothing(graph: World) -> None:
    """It is done when there is nothing new to say, and duplicates make no second edge."""
    tell(graph)
    found = run(graph)
    before = graph.rows(EDGES)
    assert look(graph).patches == ()
    graph.apply(*found.patches)
    assert graph.rows(EDGES) == before


def test_the_order_of_arrival_makes_no_difference(graph: World) -> None:
    """The same events in any order, resolved in between or at the end: the same pairs, scores and reasons."""
    shuffle = random.Random(7)  # noqa: S311 - an order, no secret
    seen = []
    for way in range(3):
        names = list(PEOPLE)
        shuffle.shuffle(names)
        for minute, name in enumerate(names):
            graph.apply(graph.say(f"m-{name}", minute).message().mention(name))
            if way == 1:
                run(graph)
        run(graph)
        assert look(graph).patches == ()
        kept = ("a", "b", "status", "score", "reason")
        seen.append(sorted(tuple(row[name] for name in kept) for row in graph.rows(EDGES)))
        graph.wipe()
    assert seen[0] == seen[1] == seen[2]


def test_what_was_found_too_early_is_taken_back(graph: World) -> None:
    """Initials that fit one are his; where they fit two that differ, they are nobody's until a person says so."""
    tell(graph, ("R. J. Hale", "Robert James Hale"))
    run(graph)
    one = frozenset(("R. J. Hale", "Robert James Hale"))
    assert edges(graph, "accepted") == {one}
    graph.apply(told(graph, "Rita Jane Hale", 30))
    run(graph)
    assert edges(graph, "accepted") == set()
    assert edges(graph, "proposed") == {one, frozenset(("R. J. Hale", "Rita Jane Hale"))}


def test_a_rejected_pair_never_comes_back(graph: World) -> None:
    """Neither in this graph nor in one that is built again from the log, derived patches and all."""
    tell(graph)
    first = run(graph)
    no = graph.say("no", 30).same("P. Nadar", "Priya Nadar", same=False)
    graph.apply(no)
    assert edges(graph, "proposed") == set()
    assert look(graph).patches == ()
    graph.wipe()
    tell(graph)
    graph.apply(no)
    graph.apply(*first.patches)
    assert edges(graph, "proposed") == set()
    assert edges(graph, "accepted") == ONE
    assert look(graph).patches == ()


def test_an_accepted_pair_stands_on_the_word_of_who_accepted_it(graph: World) -> None:
    """It is accepted at once, no longer derived, and resolution has nothing to add to it."""
    tell(graph)
    run(graph)
    graph.apply(graph.say("yes", 30).same("P. Nadar", "Priya Nadar"))
    assert edges(graph, "accepted") == ONE | MAYBE
    assert [row["derived"] for row in graph.rows(EDGES) if "Priya Nadar" in (row["a"], row["b"])] == [False]
    assert look(graph).patches == ()


def test_a_word_that_is_taken_back_lets_resolution_speak_again(graph: World) -> None:
    """Where the event that rejected a pair is erased, the pair is for review again."""
    tell(graph)
    run(graph)
    no = graph.say("no", 30).same("P. Nadar", "Priya Nadar", same=False)
    graph.apply(no)
    graph.apply(graph.say("gone", 31, session=None).erases("event", no.key))
    graph.erase_on()
    assert edges(graph, "proposed") == set()
    run(graph)
    assert edges(graph, "proposed") == MAYBE


def test_what_is_erased_takes_its_pairs_with_it(graph: World) -> None:
    """Of an entity that is forgotten no pair is left, at once, and nothing brings one back."""
    tell(graph)
    found = run(graph)
    bob = entity_id(graph.scope, "Person", "Bob Hale")
    graph.apply(graph.say("gone", 30, session=None).erases("entity", bob))
    graph.erase_on()
    assert edges(graph, "accepted") == {frozenset(("Robert Finch", "Bob Finch"))}
    graph.apply(*found.patches)
    run(graph)
    assert edges(graph, "accepted") == {frozenset(("Robert Finch", "Bob Finch"))}
    assert graph.rows("MATCH (e:Entity {scope: $scope, id: $id}) RETURN e", id=bob) == []


def test_what_rests_on_something_erased_goes_until_it_is_found_without_it(graph: World) -> None:
    """A pair of an entity that is named by two messages goes with either of them, and comes back by the other."""
    tell(graph)
    graph.apply(graph.say("again", 20).message().mention("Bob Hale"))
    run(graph)
    graph.apply(graph.say("gone", 30, session=None).erases("event", graph.say("m-Bob Hale", 1).key))
    graph.erase_on()
    assert edges(graph, "accepted") == {frozenset(("Robert Finch", "Bob Finch"))}
    run(graph)
    assert edges(graph, "accepted") == ONE


def test_what_was_found_before_an_erasure_does_not_come_after_it(graph: World) -> None:
    """A run that read what is forgotten by now says nothing, whether it comes with the erasure or behind it."""
    tell(graph)
    graph.apply(graph.say("again", 20).message().mention("Bob Hale"))
    early = look(graph)
    gone = graph.say("gone", 30, session=None).erases("event", graph.say("m-Bob Hale", 1).key)
    graph.apply(gone, *early.patches)
    graph.erase_on()
    graph.apply(*early.patches)
    assert graph.rows(EDGES) == []
    run(graph)
    assert edges(graph, "accepted") == ONE


def test_an_erased_scope_has_no_pairs(graph: World) -> None:
    """Nothing of it is left but that it was."""
    tell(graph)
    run(graph)
    graph.apply(graph.say("gone", 40, session=None).erases("scope"))
    graph.erase_on()
    assert graph.rows("MATCH (a:Entity {scope: $scope}) WHERE a.id IS NOT NULL RETURN a") == []


def test_the_canonical_form_is_without_it(graph: World) -> None:
    """Whether resolution ran makes no difference to what is compared, exported and digested."""
    tell(graph)
    before = graph.dump()
    run(graph)
    assert graph.dump() == before


def test_scopes_are_apart(graph: World, stack: Settings) -> None:
    """An entity of another scope is in no pair, and a row that names one changes nothing."""
    tell(graph, ("Robert Hale",))
    with world(stack, f"{graph.scope}/below") as other:
        tell(other, ("Bob Hale",))
        assert run(other).sames == ()
        assert run(graph).sames == ()


def test_a_large_scope_is_read_page_by_page(graph: World) -> None:
    """However small the page: every entity once."""
    tell(graph)
    reader = ScopeReader(graph.store.driver, graph.store.database)
    names = [one.profile.name for one in reader.entities(graph.scope, page=3)]
    assert sorted(names) == sorted(PEOPLE)
    assert isinstance(reader.places(graph.scope)[0], Place)
