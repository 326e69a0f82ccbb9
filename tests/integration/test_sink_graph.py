"""What patches become in the real graph: nodes, edges, facts, chains, and what comes before what it is about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sink_patches import moment
from sink_world import World, world

from memstream.schemas.ids import named_id
from memstream.schemas.patch import Edge, Label
from memstream.settings import Settings


@pytest.fixture
def graph(stack: Settings, scope: str) -> Iterator[World]:
    """A scope of this test alone, in the real graph."""
    with world(stack, scope) as made:
        yield made


def test_a_message_stands_in_its_session_with_what_it_names(graph: World) -> None:
    """Nodes, edges and an Event, each with its position, come from one patch."""
    applied = graph.apply(graph.say("m1", 1).message("Ann says hello", vector=[0.5, 0.25]).mention("Ann"))
    assert (applied.applied, applied.dropped, applied.replaced, applied.last_offset) == (1, 0, 0, 0)
    (row,) = graph.rows(
        "MATCH (c:Conversation {scope: $scope})-[h:HAS_MESSAGE]->(m:Message)-[:MENTIONS {text: 'Ann'}]->(e:Person) "
        "WHERE c.id IS NOT NULL RETURN m, e.name AS name, c.first_time AS time, h.event AS event, labels(m) AS labels"
    )
    assert (row["name"], row["time"], row["event"]) == ("Ann", moment(1), row["m"]["event"])
    assert row["m"]["embedding"] == [0.5, 0.25]
    assert set(row["labels"]) == {"Message", "Source"}
    assert (row["m"]["at"], row["m"]["recorded_at"]) == (0, moment(1))
    (event,) = graph.rows("MATCH (e:Event {scope: $scope}) WHERE e.id IS NOT NULL RETURN e")
    assert (event["e"]["event_id"], event["e"]["verdict"], event["e"]["at"]) == ("m1", "applied", 0)


def test_what_is_applied_is_sealed_and_resumed_from(graph: World) -> None:
    """After a batch the partition is sealed up to it, and a new worker starts behind it."""
    graph.apply(graph.say("m1", 1).message(), graph.say("m2", 2).message())
    (row,) = graph.rows("MATCH (o:StreamOffset {topic: $topic, partition: 0}) RETURN o", topic=graph.topic)
    assert (row["o"]["offset"], row["o"]["sealed"]) == (1, 1)
    resumed = graph.sink.resume(graph.topic, 0, 3)
    assert (resumed.offset, resumed.event) == (1, graph.say("m2", 2).key)


def test_messages_of_a_session_are_chained_in_their_order_whatever_came_first(graph: World) -> None:
    """A late message goes between its neighbours; the first is the earliest."""
    graph.apply(graph.say("m2", 2).message(), graph.say("m5", 5).message())
    assert graph.chain() == ["m2", "m5"]
    graph.apply(graph.say("m4", 4).message(), graph.say("m1", 1).message(), graph.say("x", 3, session="t").message())
    assert graph.chain() == ["m1", "m2", "m4", "m5"]
    assert graph.chain("t") == ["x"]
    graph.apply(graph.say("m3", 3).message())
    assert graph.chain() == ["m1", "m2", "m3", "m4", "m5"]


def test_a_reply_before_its_message_waits_at_a_stub(graph: World) -> None:
    """An edge whose end is not there yet leads to a stub without a position, which its owner completes."""
    graph.apply(graph.say("m2", 2).message(reply_to="m1"))
    stub = "MATCH (:Message {scope: $scope})-[:REPLY_TO]->(m:Message) RETURN m.at AS at, m.text AS text"
    assert graph.rows(stub) == [{"at": None, "text": None}]
    graph.apply(graph.say("m1", 1).message("first"))
    assert graph.rows(stub) == [{"at": 1, "text": "first"}]
    assert graph.chain() == ["m1", "m2"]


def test_the_end_of_a_tool_call_wins_over_its_start_whatever_came_first(graph: World) -> None:
    """The part with the greatest key shows, and each say is kept."""
    call = named_id("call", graph.scope, "c1")

    def status(event: str, minute: int, rank: str, **props: str) -> object:
        told = graph.say(event, minute)
        return told.share(Label.TOOL_CALL, call, "status", {"call_id": "c1", **props}, key=rank + told.order)

    graph.apply(status("end", 9, "1", status="success", result="42"))  # type: ignore[arg-type]
    graph.apply(status("start", 10, "0", status="pending", offload="x"))  # type: ignore[arg-type]
    (row,) = graph.rows("MATCH (c:ToolCall {scope: $scope, id: $id}) RETURN c", id=call)
    assert (row["c"]["status"], row["c"]["result"], row["c"].get("offload")) == ("success", "42", None)
    assert (row["c"]["at"], row["c"]["changed"], row["c"]["recorded_at"]) == (0, 0, moment(9))
    assert len(graph.rows("MATCH (:ToolCall {scope: $scope, id: $id})<-[w:WROTE]-(:Event) RETURN w", id=call)) == 2


def test_a_part_that_is_said_anew_leaves_nothing_of_what_it_said_before(graph: World) -> None:
    """A property that the new winner does not give is gone; what other parts give stays."""
    chat = named_id("session", graph.scope, "s")
    old, new = {"session_id": "s", "title": "old", "user_id": "u"}, {"session_id": "s", "title": "new"}
    for minute, props in ((1, old), (2, new)):
        graph.apply(graph.say(f"e{minute}", minute).share(Label.CONVERSATION, chat, "started", props))
    graph.apply(graph.say("e3", 3).share(Label.CONVERSATION, chat, "ended", {"session_id": "s", "reason": "done"}))
    graph.apply(graph.say("e4", 4).share(Label.CONVERSATION, chat, "started", {"title": "last"}))
    (row,) = graph.rows("MATCH (c:Conversation {scope: $scope, id: $id}) RETURN c", id=chat)
    told = {name: row["c"].get(name) for name in ("session_id", "title", "user_id", "reason")}
    assert told == {"session_id": "s", "title": "last", "user_id": None, "reason": "done"}


def test_a_move_of_house_supersedes_and_never_overwrites(graph: World) -> None:
    """The old home stays as a closed version and as an ended fact; the typed edge follows the new one."""
    graph.apply(graph.say("m1", 1).message().lives("Ann", "Paris"))
    assert graph.facts() == [f"Ann lives in Paris [{moment(1)}, )*"]
    walk = "MATCH (:Person {scope: $scope, name: 'Ann'})-[r:LIVES_IN]->(p:Location) RETURN p.name AS name"
    assert graph.rows(walk) == [{"name": "Paris"}]
    graph.apply(graph.say("m2", 2).message().lives("Ann", "Berlin"))
    assert graph.facts() == [
        f"Ann lives in Paris [{moment(1)}, {moment(2)})",
        f"Ann lives in Berlin [{moment(2)}, )*",
    ]
    assert graph.rows(walk) == [{"name": "Berlin"}]
    closed = graph.rows(
        "MATCH (f:Fact {scope: $scope}) WHERE f.id IS NOT NULL AND f.ended_at = 1 RETURN f.text AS t, f.holds AS h"
    )
    assert closed == [{"t": "Ann lives in Paris", "h": True}]
    chain = graph.rows(
        "MATCH (a:Fact {scope: $scope})-[:SUPERSEDES]->(b:Fact) WHERE a.ended_at IS NULL AND b.ended_at IS NULL "
        "MATCH (a)-[:SOURCED_FROM]->(s:Source) RETURN a.object_name AS a, b.object_name AS b, s.event_id AS source"
    )
    assert chain == [{"a": "Berlin", "b": "Paris", "source": "m2"}]


def test_the_same_again_adds_a_source_and_no_version(graph: World) -> None:
    """A fact that is said again has one more source, from the position at which it was said."""
    graph.apply(graph.say("m1", 1).message().lives("Ann", "Paris", confidence=0.5))
    graph.apply(graph.say("m2", 2).message().lives("Ann", "Paris", confidence=0.75))
    (row,) = graph.rows("MATCH (f:Fact {scope: $scope}) WHERE f.id IS NOT NULL RETURN f")
    assert (row["f"]["at"], row["f"]["support"], row["f"]["confidence"], row["f"]["changed"]) == (0, 2, 0.75, 1)
    assert row["f"]["said_last"] == moment(2)
    sources = graph.rows(
        "MATCH (:Fact {scope: $scope})-[r:SOURCED_FROM]->(s) RETURN s.event_id AS e, r.at AS at ORDER BY at"
    )
    assert sources == [{"e": "m1", "at": 0}, {"e": "m2", "at": 1}]


def test_an_older_value_heard_later_goes_before(graph: World) -> None:
    """What begins earlier is the predecessor, though it came last."""
    graph.apply(graph.say("m1", 10).message().lives("Ann", "Berlin"))
    graph.apply(graph.say("m2", 20).message().lives("Ann", "Paris", valid_from="2012"))
    assert graph.facts() == [f"Ann lives in Paris [2012, {moment(10)})", f"Ann lives in Berlin [{moment(10)}, )*"]


def test_paris_until_2015_leaves_berlin_alone(graph: World) -> None:
    """An end without a start ends no other value."""
    graph.apply(
        graph.say("m1", 10).message().lives("Ann", "Berlin", valid_from="2010"),
        graph.say("m2", 20).message().lives("Ann", "Paris", valid_to="2015"),
    )
    assert graph.facts() == ["Ann lives in Paris [?, 2015)", "Ann lives in Berlin [2010, )*"]


def test_a_negation_that_comes_first_takes_effect_when_its_fact_arrives(graph: World) -> None:
    """Denied at nine, asserted at eight, heard in the other order: ended, with no successor and no typed edge."""
    graph.apply(graph.say("m2", 9).message().lives("Ann", "Paris", negated=True, text="Ann lives in Paris"))
    graph.apply(graph.say("m1", 8).message().lives("Ann", "Paris"))
    assert graph.facts() == [
        f"Ann lives in Paris [{moment(8)}, {moment(9)})",
        f"not Ann lives in Paris [{moment(9)}, )*",
    ]
    assert graph.rows("MATCH (:Person {scope: $scope})-[r:LIVES_IN]->() RETURN r") == []


def test_a_retraction_before_its_assertion_takes_effect_when_it_arrives(graph: World) -> None:
    """By the assertion's id or by what it says, a retraction waits for what it takes back."""
    graph.apply(graph.say("r1", 5).takes_back("m1"), graph.say("r2", 6).unsays("Ann", "Rome"))
    graph.apply(
        graph.say("m1", 1).message().lives("Ann", "Paris"),
        graph.say("m2", 2).message().lives("Ann", "Rome"),
        graph.say("m3", 3).message().lives("Ann", "Oslo"),
    )
    assert graph.facts() == [f"Ann lives in Oslo [{moment(3)}, )*"]


def test_a_retraction_takes_effect_on_what_is_there(graph: World) -> None:
    """Berlin was a mistake: Paris goes on, and what was believed before stays as a closed version."""
    graph.apply(graph.say("m1", 1).message().lives("Ann", "Paris"), graph.say("m2", 2).message().lives("Ann", "Rome"))
    graph.apply(graph.say("r", 3).takes_back("m2"))
    assert graph.facts() == [f"Ann lives in Paris [{moment(1)}, )*"]
    assert len(graph.rows("MATCH (f:Fact {scope: $scope}) WHERE f.ended_at = 2 RETURN f")) == 2


def test_preferences_fold_like_facts(graph: World) -> None:
    """A taste that changes ends the one before; it is held by its holder."""
    graph.apply(
        graph.say("m1", 1).message().likes("Ann", "tea"), graph.say("m2", 2).message().likes("Ann", "tea", "dislike")
    )
    rows = graph.rows(
        "MATCH (p:Preference {scope: $scope})-[:HELD_BY]->(e:Person) WHERE p.ended_at IS NULL "
        "RETURN p.polarity AS polarity, p.holds AS holds, p.holder = e.id AS held, p.value AS value "
        "ORDER BY p.said_first"
    )
    assert [(r["polarity"], r["holds"], r["held"], r["value"]) for r in rows] == [
        ("like", False, True, "tea"),
        ("dislike", True, True, "tea"),
    ]


def test_whether_two_names_are_one_is_decided_by_what_was_said_last(graph: World) -> None:
    """Joined and parted: the greatest key decides in any order."""
    joined = "MATCH (:Entity {scope: $scope})-[r:SAME_AS]->() RETURN r"
    graph.apply(graph.say("l1", 5).same("Tom", "Tom Hale"))
    assert len(graph.rows(joined)) == 1
    graph.apply(graph.say("l0", 3).same("Tom", "Tom Hale", same=False))
    assert len(graph.rows(joined)) == 1
    graph.apply(graph.say("l2", 7).same("Tom", "Tom Hale", same=False))
    assert graph.rows(joined) == []


def test_an_edge_said_by_two_events_stands_twice(graph: World) -> None:
    """Edges belong to events; a reader takes them once."""
    trace, chat = named_id("trace", graph.scope, "t"), named_id("session", graph.scope, "s")
    for event in ("a", "b"):
        graph.apply(graph.say(event, 1).edge(Edge.HAS_TRACE, (Label.CONVERSATION, chat), (Label.TRACE, trace)))
    rows = graph.rows("MATCH (:Conversation {scope: $scope})-[r:HAS_TRACE]->() RETURN r.event AS event")
    assert sorted(row["event"] for row in rows) == sorted([graph.say("a", 1).key, graph.say("b", 1).key])


def test_an_event_without_rows_is_an_event_all_the_same(graph: World) -> None:
    """Who waits for an event gets an answer, though it means nothing for the graph."""
    graph.apply(graph.say("nothing", 1))
    (row,) = graph.rows("MATCH (e:Event {scope: $scope}) WHERE e.id IS NOT NULL RETURN e.verdict AS verdict")
    assert row == {"verdict": "empty"}


def test_changes_wait_in_the_outbox_until_they_are_forgotten(graph: World) -> None:
    """What became true is told with its position, and is pending until it was sent."""
    applied = graph.apply(graph.say("m1", 1).message().lives("Ann", "Paris"))
    again = graph.apply(graph.say("m2", 2).lives("Ann", "Rome"))
    pending = graph.sink.pending_changes(graph.topic, 0)
    assert pending == [*applied.changes, *again.changes]
    assert [(c.offset, c.payload["kind"]) for c in pending] == [
        (0, "message"),
        (0, "fact.new"),
        (1, "fact.superseded"),
        (1, "fact.new"),
    ]
    graph.sink.forget_changes([c.id for c in applied.changes])
    assert graph.sink.pending_changes(graph.topic, 0) == again.changes
