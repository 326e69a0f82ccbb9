"""Every statement of the sinks finds what it wants by a key or an index, at a cost that does not grow."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from sink_world import World, world

import memstream.sinks
from memstream.schemas.ids import event_key, named_id
from memstream.schemas.patch import Label
from memstream.settings import Settings
from memstream.sinks.migrations import migrate
from memstream.sinks.sessions import AFTER, BEFORE, BETWEEN
from memstream.sinks.slots import LAST_LEAD, LAST_TURN, RUNS_AT, RUNS_FROM, SAID_FROM
from memstream.sinks.statements import REGISTRY, Statement
from memstream.sinks.unfold import EDGES_OF

for module in pkgutil.walk_packages(memstream.sinks.__path__, "memstream.sinks."):
    importlib.import_module(module.name)

# what walks all nodes, all of a label or all of a type
SCANS = ("AllNodesScan", "LabelScan", "LabelsScan", "TypeScan", "RelationshipsScan", "RelationshipTypesScan")
NAMES = ("rows", "slots", "eids", "keys", "scopes", "ids")
PARAMETERS: dict[str, Any] = {name: [] for name in NAMES} | {
    "topic": "t",
    "partition": 0,
    "partitions": 1,
    "worker": "w",
    "offset": 1,
    "event": "e",
    "scope": "s",
    "props": {},
    "name": "n",
    "mark": "m",
    "version": 1,
    "dimensions": 1,
    "id": "i",
    "claim": "c",
    "end": "t",
    "below": "s/",
    "page": 10,
    "lines": 1,
    "number": 1,
    "walk": 1,
    "after": "a",
    "seen": 1,
    "most": 10,
    "loose": "t/0",
    "pending": "t/0",
    "prefix": "s/",
    "cursor": "",
    "until": None,
    "names": [],
    "own": {},
    "index": "memstream_text",
    "query": "word",
    "changed": 1,
    "size": 10,
    "norm": "n",
}


@pytest.fixture
def graph(stack: Settings, scope: str) -> Iterator[World]:
    """A scope of this test alone, in a graph that has its indexes."""
    with world(stack, scope) as made:
        migrate(made.store.driver, made.store.database)
        yield made


def operators(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All operators of a plan."""
    yield plan
    for child in plan.get("children", ()):
        yield from operators(child)


def hits(graph: World, what: Statement, **parameters: Any) -> int:
    """How often the store was asked while the statement ran, by a planner that knows what is there."""
    graph.rows("CALL db.prepareForReplanning()")
    text = "PROFILE " + what.text
    with graph.store.driver.session(database=graph.store.database) as session:
        result = session.run(text, parameters)
        return sum(step["args"].get("DbHits", 0) for step in operators(result.consume().profile or {}))


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_statement_never_scans(stack: Settings, shared_graph: World, name: str) -> None:
    """No plan walks all nodes, all nodes of a label or all relationships of a type."""
    result = shared_graph.store.driver.execute_query(
        "EXPLAIN " + REGISTRY[name].text,
        PARAMETERS,
        database_=shared_graph.store.database,
    )
    found = [step["operatorType"].split("@")[0] for step in operators(dict(result.summary.plan or {}))]
    assert found
    assert not [kind for kind in found if any(scan in kind for scan in SCANS)]


@pytest.fixture(scope="module")
def shared_graph(stack: Settings) -> Iterator[World]:
    """One world for all plans, with some edges in it: in a graph without any the planner walks all of them."""
    with world(stack, "tests/plans") as made:
        migrate(made.store.driver, made.store.database)
        made.rows(
            "UNWIND range(1, 2000) AS i CREATE (:Event {scope: $scope, id: 'e' + i})-[:WROTE]->(:Event {scope: $scope})"
        )
        made.rows("CALL db.prepareForReplanning()")
        yield made


@pytest.mark.parametrize("what", [BEFORE, AFTER], ids=["before", "after"])
def test_a_neighbour_in_a_long_session_costs_what_it_costs_in_a_short_one(graph: World, what: Statement) -> None:
    """Among 1,000 messages of a session the neighbours of one are found with a few look-ups."""
    order = graph.say("x", 0)
    graph.rows(
        "UNWIND range(1, 1000) AS i CREATE (:Message {scope: $scope, id: 'm' + i, session_id: 's', at: 0, "
        "order: right('00000' + i, 5)})"
    )
    rows = [{"i": 0, "scope": order.scope, "session": "s", "order": "00500", "id": "m500"}]
    assert hits(graph, what, rows=rows) < 25


def test_what_lies_between_two_places_of_a_session_is_read_alone(graph: World) -> None:
    """Among 1,000 messages the few from one to another, and of many no more than is asked for."""
    graph.rows(
        "UNWIND range(1, 1000) AS i CREATE (:Message {scope: $scope, id: 'm' + i, session_id: 's', at: 0, "
        "order: right('00000' + i, 5)})"
    )
    row = {"i": 0, "scope": graph.scope, "session": "s", "first": "00500", "last": "00504"}
    assert hits(graph, BETWEEN, rows=[row], most=30) < 60
    assert hits(graph, BETWEEN, rows=[row | {"last": "00999"}], most=30) < 300


@pytest.mark.parametrize("what", [RUNS_FROM["Fact"], LAST_LEAD["Fact"], LAST_TURN["Fact"], RUNS_AT["Fact"], SAID_FROM])
def test_the_neighbours_in_a_long_slot_cost_what_they_cost_in_a_short_one(graph: World, what: Statement) -> None:
    """Among 1,000 runs and assertions of a slot the last ones before a place and those from it on are a few hits."""
    graph.rows(
        "UNWIND range(1, 1000) AS i WITH i, right('00000' + i, 5) AS place "
        "CREATE (:Fact {scope: $scope, id: 'f' + i, slot: 'slot', at: i, last_place: place, lead: 'l|' + place, "
        "turn: 't|' + place}) CREATE (:Assertion {scope: $scope, id: 'a' + i, slot: 'slot', place: place})"
    )
    row = "t|" if what is LAST_TURN["Fact"] else "l|"
    asked = {"i": 0, "scope": graph.scope, "slot": "slot", "place": "00999", "row": row, "before": row + "00999"}
    assert hits(graph, what, rows=[asked | {"turn": "t|00500"}]) < 60


def test_taking_back_an_event_does_not_walk_the_edges_of_a_hub(graph: World) -> None:
    """Among 1,000 messages of a session the one edge of an event is found from its other end."""
    chat = named_id("session", graph.scope, "s")
    graph.apply(*(graph.say(f"m{i}", i, session="s").message() for i in range(20)))
    graph.rows(
        "MATCH (c:Conversation {scope: $scope, id: $chat}) UNWIND range(1, 1000) AS i "
        "CREATE (c)-[:HAS_MESSAGE {event: 'other'}]->(:Message {scope: $scope, id: 'n' + i})",
        chat=chat,
    )
    key = event_key(graph.scope, "tests", "m7")
    (ends,) = graph.rows(
        "MATCH (c:Conversation {scope: $scope, id: $chat}), (m:Message {scope: $scope, id: $key}) "
        "RETURN elementId(c) AS a, elementId(m) AS b",
        chat=chat,
        key=key,
    )
    assert hits(graph, EDGES_OF["HAS_MESSAGE"], rows=[ends | {"event": key}]) < 50


def test_a_node_that_everybody_names_is_not_written_each_time(graph: World) -> None:
    """A hundredth mention leaves the entity as it is: its own change is where its name was first said."""
    graph.apply(graph.say("m0", 0).message().mention("Ann"))
    for batch in range(1, 4):
        graph.apply(*(graph.say(f"m{batch}{i}", batch * 10 + i).message().mention("Ann") for i in range(5)))
    (row,) = graph.rows(f"MATCH (e:{Label.ENTITY} {{scope: $scope}}) WHERE e.id IS NOT NULL RETURN e")
    assert (row["e"]["at"], row["e"]["changed"]) == (0, 0)
