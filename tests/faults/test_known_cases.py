"""Cases in which memories of this kind are known to go wrong, each shown not to happen, on the real graph."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from neo4j import GraphDatabase
from patches import patches_of
from served import served
from sink_patches import SOURCE, Told, moment
from sink_world import PARTITIONS, World, world

from memstream.schemas.errors import TransientError
from memstream.schemas.events import Event
from memstream.schemas.feedback import Rated, Target, TargetKind
from memstream.schemas.ids import named_id
from memstream.schemas.patch import Edge, Label
from memstream.settings import Settings
from memstream.sinks import batch, graph_sink
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.records import Applied, PatchRecord, Written

WRITERS = 16


@pytest.fixture
def graph(stack: Settings, scope: str) -> Iterator[World]:
    """A scope of this test alone, in the real graph."""
    with world(stack, scope) as made:
        yield made


def at_once(stack: Settings, works: list[Callable[[GraphSink], object]], database: str) -> None:
    """Run each in a thread with a sink and connections of its own; all begin together."""
    start, errors = threading.Barrier(len(works)), list[BaseException]()

    def run(name: str, work: Callable[[GraphSink], object]) -> None:
        try:
            with GraphDatabase.driver(stack.neo4j_uri, auth=stack.neo4j_auth) as driver:
                driver.verify_connectivity()
                start.wait(timeout=60)
                work(GraphSink(driver, database, name))
        except BaseException as error:  # noqa: BLE001 - told in the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(f"writer-{n}", work)) for n, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert errors == []


def test_twenty_names_by_sixteen_writers_at_once_are_twenty_nodes(graph: World, stack: Settings) -> None:
    """Each writer has a batch that names all twenty; whoever comes first or last, a name is one node."""
    names = [f"Person {n}" for n in range(20)]

    def naming(number: int) -> list[PatchRecord]:
        told = graph.say(f"m{number}", number).message("all of them")
        for name in names:
            told.mention(name)
        return graph.records([told])

    batches = [naming(number) for number in range(WRITERS)]
    # every writer has the whole log, as after a rebalance that each takes for its own
    log = [record for batch in batches for record in batch]

    def apply_all(sink: GraphSink) -> None:
        for at in range(0, len(log), 4):
            sink.apply(graph.topic, 0, log[at : at + 4])

    at_once(stack, [apply_all] * WRITERS, graph.store.database)
    found = graph.rows("MATCH (e:Entity {scope: $scope}) WHERE e.id IS NOT NULL RETURN e.name AS name")
    assert sorted(row["name"] for row in found) == sorted(names)
    mentions = graph.rows("MATCH (:Message {scope: $scope})-[r:MENTIONS]->(:Entity) RETURN count(r) AS n")
    assert mentions == [{"n": WRITERS * len(names)}]
    assert graph.chain() == [f"m{n}" for n in range(WRITERS)]


@pytest.mark.parametrize("same", [True, False], ids=["the same records", "one record each"])
def test_two_sinks_on_one_scope_leave_one_current_value(graph: World, stack: Settings, same: bool) -> None:
    """A MERGE locks nothing: two that read the slot at once would both leave their value. Writing the lock first does.

    The race is run until it would have been lost many times. Whoever has the later record may come first: then the
    earlier one is dropped, and the offset does not go back.
    """
    log = graph.records([graph.say(f"m{n}", n).message().lives("Ann", f"Town {n}") for n in range(16)])
    for at in range(0, len(log), 2):
        pair = log[at : at + 2]
        done: list[Applied] = []

        def work(given: list[PatchRecord], done: list[Applied], sink: GraphSink) -> None:
            done.append(sink.apply(graph.topic, 0, given))

        each = [pair, pair] if same else [pair[1:], pair[:1]]
        at_once(stack, [partial(work, given, done) for given in each], graph.store.database)
        assert not same or sorted(one.applied for one in done) == [0, 2]
        current = graph.rows(
            "MATCH (f:Fact {scope: $scope}) WHERE f.id IS NOT NULL AND f.ended_at IS NULL AND f.holds "
            "RETURN f.text AS text"
        )
        assert current == [{"text": f"Ann lives in Town {at + 1}"}]
        assert graph.sink.resume(graph.topic, 0, PARTITIONS).offset == at + 1


def test_one_wrong_invalidation_ends_one_value_only(graph: World) -> None:
    """A denial, a correction and a new value touch their own slot; the other facts of the scope stay as they were."""
    for n in range(0, 40, 10):
        graph.apply(*(graph.say(f"m{k}", k).message().lives(f"P{k}", "Paris") for k in range(n, n + 10)))
    before = set(graph.facts())
    graph.apply(
        graph.say("x1", 100).message().lives("P1", "Paris", negated=True, text="P1 lives in Paris"),
        graph.say("x2", 101).takes_back("m2"),
        graph.say("x3", 102).message().lives("P3", "Rome"),
        graph.say("x4", 103).unsays("P4", "Rome"),  # never said
        graph.say("x5", 104).message().lives("Nobody", "Paris", negated=True),
        graph.say("x6", 105).message().lives("P5", "Rome", negated=True),  # who lives in Paris
    )
    after = set(graph.facts())
    gone = {line.split(" lives")[0] for line in before - after}
    assert gone == {"P1", "P2", "P3"}
    assert sum(line.endswith("*") and not line.startswith("not ") for line in after) == 38


def test_the_same_value_at_two_disjoint_times_is_two_facts(graph: World) -> None:
    """Paris twice, with Rome or with nothing between: two intervals, never one."""
    graph.apply(
        graph.say("m1", 1).message().lives("Ann", "Paris", valid_from="2010", valid_to="2012"),
        graph.say("m2", 2).message().lives("Ann", "Paris", valid_from="2016"),
    )
    assert graph.facts() == ["Ann lives in Paris [2010, 2012)", "Ann lives in Paris [2016, )*"]
    graph.apply(graph.say("m3", 3).message().lives("Ann", "Rome", valid_from="2013", valid_to="2014"))
    assert graph.facts() == [
        "Ann lives in Paris [2010, 2012)",
        "Ann lives in Rome [2013, 2014)",
        "Ann lives in Paris [2016, )*",
    ]


def test_the_same_memory_said_twice_stays_and_has_two_sources(graph: World) -> None:
    """Said again it is not deleted as its own duplicate; with one saying taken back the other carries it."""
    graph.apply(graph.say("m1", 1).message().lives("Ann", "Paris").likes("Ann", "tea"))
    graph.apply(graph.say("m2", 2).message().lives("Ann", "Paris").likes("Ann", "tea"))
    assert graph.facts() == [f"Ann lives in Paris [{moment(1)}, )*"]
    sources = (
        "MATCH (f:Fact {scope: $scope})-[:SOURCED_FROM]->(m:Message) WHERE f.ended_at IS NULL AND f.id IS NOT NULL "
    )
    assert graph.rows(sources + "RETURN count(DISTINCT m) AS n") == [{"n": 2}]
    tastes = "MATCH (p:Preference {scope: $scope}) WHERE p.ended_at IS NULL AND p.id IS NOT NULL AND p.holds RETURN p"
    assert len(graph.rows(tastes)) == 1
    graph.apply(graph.say("r1", 3).takes_back("m1"))
    assert graph.facts() == [f"Ann lives in Paris [{moment(2)}, )*"]


def test_nothing_grows_on_redelivery(graph: World) -> None:
    """The same records at new offsets, in other batches, twice: support, sources and digest are the same."""
    told = [graph.say(f"m{n}", n).message().mention("Ann").lives("Ann", "Paris").likes("Ann", "tea") for n in range(4)]
    told.append(graph.say("j", 9).same("Ann", "Anna"))
    graph.apply(*told)
    before = graph.dump()
    assert graph.rows("MATCH (f:Fact {scope: $scope}) WHERE f.id IS NOT NULL RETURN f.support AS n") == [{"n": 4}]
    for cut in (2, 5):
        for at in range(0, len(told), cut):
            assert graph.apply(*told[at : at + cut]).applied == 0
    assert graph.apply(*told * 11).applied == 0  # as many as are looked at before any is read in full
    assert graph.dump() == before


def test_no_write_lands_in_another_tenant(graph: World, stack: Settings, scope: str) -> None:
    """Two scopes say the same of the same names; one even names ids of the other: nothing of the other changes."""
    with world(stack, f"{scope}b") as other:
        other.apply(other.say("m1", 1).message("theirs").mention("Ann").lives("Ann", "Paris"))
        before = other.dump()
        theirs = other.say("m1", 1)
        their_ann = theirs.entity("Ann")
        mine = graph.say("m1", 1).message("mine").mention("Ann").lives("Ann", "Rome")
        mine.edge(Edge.REPLY_TO, (Label.MESSAGE, mine.key), (Label.MESSAGE, theirs.key))
        mine.edge(Edge.MENTIONS, (Label.MESSAGE, mine.key), (Label.ENTITY, their_ann))
        mine.share(Label.ENTITY, their_ann, "named", {"name": "Stolen", "type": "Person", "norm": "stolen"}, key="~")
        crossing = (
            "MATCH (a {scope: $scope})-[r]-(b) WHERE b.scope IS NOT NULL AND b.scope <> $scope RETURN type(r) AS t"
        )
        for told in (mine, graph.say("r", 2).takes_back("m1"), graph.say("x", 3).erases("scope")):
            graph.apply(told)
            assert other.dump() == before
            assert graph.rows(crossing) == []


async def test_no_read_is_torn(graph: World, stack: Settings) -> None:
    """Who asks the service while events land sees of each its mention, its fact, its source and the end of the last."""
    seen: list[tuple[int, list[tuple[str, list[str]]]]] = []
    done = asyncio.Event()

    async def ask(client: httpx.AsyncClient) -> None:
        while not done.is_set():
            answer = await client.get("/v1/entities/Ann", params={"scope": graph.scope})
            assert answer.status_code == 200, answer.text
            told = answer.json()
            facts = [(fact["text"], [source["event_id"] for source in fact["sources"]]) for fact in told["facts"]]
            seen.append((told["entities"][0]["mentions"], facts))

    def moves(number: int) -> Told:
        return graph.say(f"m{number}", number).message().mention("Ann").lives("Ann", f"Town {number}")

    graph.apply(moves(0))
    async with served(stack) as client:
        asking = [asyncio.create_task(ask(client)) for _ in range(3)]
        try:
            for number in range(1, 25):
                await asyncio.to_thread(graph.apply, moves(number))
        finally:
            done.set()
            await asyncio.gather(*asking)
    assert len({mentions for mentions, _ in seen}) > 10, "the readers saw the graph grow"
    whole = {n: [(f"Ann lives in Town {n - 1}", [f"m{n - 1}"])] for n in range(1, 26)}
    assert [(mentions, facts) for mentions, facts in seen if facts != whole[mentions]] == []


def test_an_edge_whose_ends_come_later_is_not_lost(graph: World) -> None:
    """In one batch or the next, in any order: the edge leads to what its owner completes."""
    trace, step = named_id("trace", graph.scope, "t"), named_id("step", graph.scope, "t\x1f1")
    early = graph.say("e", 1).edge(Edge.HAS_STEP, (Label.TRACE, trace), (Label.STEP, step))
    graph.apply(early)
    assert graph.dump() != []
    graph.apply(graph.say("s", 2).share(Label.STEP, step, "said", {"step_id": "1", "trace_id": "t"}))
    graph.apply(graph.say("t", 3).share(Label.TRACE, trace, "started", {"trace_id": "t", "task": "find"}))
    walked = (
        "MATCH (t:ReasoningTrace {scope: $scope, id: $id})-[:HAS_STEP]->(s) RETURN t.task AS task, s.step_id AS step"
    )
    assert graph.rows(walked, id=trace) == [{"task": "find", "step": "1"}]


def test_a_denial_that_arrives_first_ends_what_arrives_later(graph: World) -> None:
    """In any order of arrival: held from eight to nine, then denied."""
    said = [
        graph.say("m1", 8).message().lives("Ann", "Paris"),
        graph.say("m2", 9).message().lives("Ann", "Paris", negated=True, text="Ann lives in Paris"),
    ]
    for order in (said, said[::-1]):
        graph.wipe()
        for told in order:
            graph.apply(told)
        assert graph.facts()[0] == f"Ann lives in Paris [{moment(8)}, {moment(9)})"
        assert not any(line.endswith("*") and not line.startswith("not") for line in graph.facts())


def test_paris_until_2015_leaves_berlin_whatever_comes_first(graph: World) -> None:
    """An end with an unknown start ends its own value only."""
    said: list[Told] = [
        graph.say("m1", 10).message().lives("Ann", "Berlin"),
        graph.say("m2", 20).message().lives("Ann", "Paris", valid_to="2015"),
    ]
    for order in (said, said[::-1]):
        graph.wipe()
        for told in order:
            graph.apply(told)
        assert graph.facts() == ["Ann lives in Paris [?, 2015)", f"Ann lives in Berlin [{moment(10)}, )*"]


def test_a_worker_that_sleeps_in_its_transaction_does_not_hold_the_scope(
    graph: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neo4j ends what takes too long: the successor goes on, and the sleeper that wakes up writes nothing."""
    records = graph.records([graph.say("m1", 1).message("once")])
    monkeypatch.setattr(graph_sink, "MOST_SECONDS", 2.0)
    asleep, awake, ends = threading.Event(), threading.Event(), list[object]()
    apply = batch.apply

    def sleeps(*arguments: Any, **more: Any) -> Written:
        applied = apply(*arguments, **more)
        if threading.current_thread() is sleeper:
            asleep.set()
            assert awake.wait(timeout=60)
        return applied

    def work() -> None:
        try:
            ends.append(GraphSink(graph.store.driver, graph.store.database, "sleeper").apply(graph.topic, 0, records))
        except TransientError as error:
            ends.append(error)

    monkeypatch.setattr(batch, "apply", sleeps)
    sleeper = threading.Thread(target=work)
    sleeper.start()
    assert asleep.wait(timeout=30)
    monkeypatch.setattr(graph_sink, "MOST_SECONDS", 60.0)
    assert graph.sink.apply(graph.topic, 0, records).applied == 1
    before = graph.dump()
    awake.set()
    sleeper.join(timeout=60)
    [end] = ends
    assert isinstance(end, TransientError) or (isinstance(end, Applied) and end.applied == 0)
    assert graph.dump() == before


def summed(graph: World) -> list[dict[str, Any]]:
    """The current facts with all that adds up on them, and the state of their fold; without what is arrival's."""
    found = graph.rows("MATCH (f:Fact {scope: $scope}) WHERE f.id IS NOT NULL AND f.current RETURN properties(f) AS f")
    arrival = {"id", "at", "changed"}
    facts = [{name: value for name, value in row["f"].items() if name not in arrival} for row in found]
    return sorted(facts, key=lambda fact: (fact["slot"], fact["name"]))


@pytest.mark.parametrize("how", ["taken back", "erased", "replaced", "erased before it came"])
def test_sums_are_as_if_what_was_taken_back_was_never_said(graph: World, how: str) -> None:
    """Support, confidence and the fold's state, to the byte: nothing is subtracted, what is left is folded anew.

    The surest and the last sources go; each is delivered again as well.
    """
    sure = [0.1, 0.3, 0.7, 0.2, 0.95]

    def says(number: int, **more: Any) -> Told:
        return graph.say(f"m{number}", number, session=f"s{number}", **more)

    said = [says(n).message().lives("Ann", "Paris", confidence=sure[n]).lives("Bob", "Rome") for n in range(5)]
    gone = ("m2", "m4")
    graph.apply(*(one for one in said if one.event not in gone))
    calm = summed(graph)
    assert {(fact["support"], fact["confidence"]) for fact in calm} == {(3, 0.3), (3, 1.0)}
    graph.wipe()
    erasures = [graph.say("x", 20, session=None).erases("session", "s2", "s4")]
    if how == "erased before it came":
        graph.apply(*erasures)
    graph.apply(*said[:3])
    graph.apply(*said[2:])
    match how:
        case "taken back":
            graph.apply(*(graph.say(f"r{e}{n}", 20).takes_back(e, n) for e in gone for n in (0, 1)))
        case "erased":
            graph.apply(*erasures)
        case "replaced":
            graph.apply(*(says(int(event[1:]), generation=2).message() for event in gone))
    graph.apply(*said)
    graph.apply(*said)
    assert summed(graph) == calm


def rating(graph: World, event: str, minute: int, **more: Any) -> Event:
    """A recall, or a rating of it and of a run."""
    time = datetime.fromisoformat(moment(minute))
    data = Rated(recall_id="r", target=Target(kind=TargetKind.TRACE, id="t"), **more)
    return Event.of(data, id=event, source=SOURCE, time=time, scope=graph.scope)


def test_ratings_add_up_to_nothing_that_would_have_to_be_subtracted(graph: World, tmp_path: Path) -> None:
    """Each is kept as it was said: said twice it is one, and erased it is as if it had never been."""
    good = rating(graph, "good", 1, useful=("a",), reward=0.1)
    bad = rating(graph, "bad", 2, not_useful=("a",), reward=-0.3)

    def apply(*events: Event) -> None:
        records = [PatchRecord(graph.next + n, *pair) for n, pair in enumerate(patches_of(events, tmp_path))]
        graph.next += len(records)
        graph.sink.apply(graph.topic, graph.partition, records)

    def ratings() -> list[dict[str, Any]]:
        return graph.rows(
            "MATCH (r:Rating {scope: $scope}) WHERE r.id IS NOT NULL AND r.event IS NOT NULL "
            "OPTIONAL MATCH (r)-[e:RATES]->(of) WITH r, of ORDER BY of.id "
            "RETURN r.event AS event, r.reward AS reward, r.useful AS useful, collect(of.id) AS of ORDER BY reward"
        )

    apply(good)
    once = ratings()
    assert [(row["reward"], row["useful"], len(row["of"])) for row in once] == [(0.1, ["a"], 2)]
    alone = kept_lines(graph)
    apply(bad, good)
    apply(good, bad)
    assert [row["reward"] for row in ratings()] == [-0.3, 0.1]
    graph.apply(graph.say("x", 9, session=None).erases("event", "bad"))
    apply(bad)
    assert ratings() == once
    assert kept_lines(graph) == alone


def kept_lines(graph: World) -> list[str]:
    """The canonical form without what says that an erasure was."""
    return [line for line in graph.dump() if not any(word in line for word in ('"Erasure"', '"erased"', '"x"'))]
