"""Crashes, rivals, poison and worlds that changed underneath: nothing is lost, applied twice or applied in part."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from neo4j import GraphDatabase
from sink_patches import moment
from sink_world import World, world

from memstream.schemas.errors import (
    FatalError,
    GraphUnavailable,
    InvalidPatch,
    LogMismatch,
    PoisonError,
    TopicMismatch,
    TransientError,
)
from memstream.schemas.patch import Label, NodeRow
from memstream.settings import Settings
from memstream.sinks import batch
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.records import Applied, PatchRecord, Place, decode


@pytest.fixture
def graph(stack: Settings, scope: str) -> Iterator[World]:
    """A scope of this test alone, in the real graph."""
    with world(stack, scope) as made:
        yield made


def offsets(graph: World) -> tuple[int | None, int | None]:
    """Applied and sealed."""
    (row,) = graph.rows(
        "MATCH (o:StreamOffset {topic: $topic, partition: 0}) RETURN o.offset AS a, o.sealed AS s", topic=graph.topic
    )
    return row["a"], row["s"]


def commit_without_seal(graph: World, records: list[PatchRecord]) -> Applied:
    """What a worker does that dies between its two transactions."""
    place = Place(graph.topic, 0, "dies")
    with graph.store.driver.session(database=graph.store.database) as session:
        return session.execute_write(
            lambda tx: batch.apply(tx, {place: [decode(record) for record in records]}, announce=True).parts[place]
        )


def test_a_worker_that_dies_between_commit_and_seal_leaves_the_seal_to_its_successor(graph: World) -> None:
    """Committed and unsealed is not readable; who resumes seals it, and the same batch again applies nothing."""
    records = graph.records([graph.say("m1", 1).message(), graph.say("m2", 2).message()])
    commit_without_seal(graph, records)
    assert offsets(graph) == (1, None)
    before = graph.dump()
    assert graph.sink.resume(graph.topic, 0, 3).offset == 1
    assert offsets(graph) == (1, 1)
    again = graph.sink.apply(graph.topic, 0, records)
    assert (again.applied, again.dropped, again.last_offset) == (0, 2, 1)
    assert graph.dump() == before


def test_the_same_batch_again_seals_what_was_committed(graph: World) -> None:
    """A commit whose answer was lost is tried again: nothing is applied twice, and it is sealed."""
    records = graph.records([graph.say("m1", 1).message()])
    commit_without_seal(graph, records)
    graph.sink.apply(graph.topic, 0, records)
    assert offsets(graph) == (0, 0)


def test_a_transaction_that_fails_leaves_nothing(graph: World) -> None:
    """A batch of which one row can't be applied applies none of them, and moves no offset."""
    bad = graph.say("m2", 2).message()
    bad.nodes.append(NodeRow(label=Label.TOOL, id="t", owned=True, props={"nested": {"a": 1}}))
    with pytest.raises(PoisonError):
        graph.apply(graph.say("m1", 1).message(), bad)
    assert offsets(graph) == (None, None)
    assert graph.dump() == []


def test_a_worker_that_lost_its_partition_applies_nothing(graph: World) -> None:
    """Its records lie at or below the offset that its successor has reached."""
    records = graph.records([graph.say("m1", 1).message("old"), graph.say("m2", 2).message("new")])
    graph.sink.apply(graph.topic, 0, records)
    before = graph.dump()
    zombie = GraphSink(graph.store.driver, graph.store.database, "zombie")
    assert zombie.apply(graph.topic, 0, records[:1]).applied == 0
    assert offsets(graph) == (1, 1)
    assert graph.dump() == before


def test_two_workers_with_the_same_records_at_once_apply_them_once(graph: World, stack: Settings) -> None:
    """They queue at the partition's lock, and the second finds its records applied: one value holds."""
    records = graph.records([graph.say(f"m{i}", i).message().lives("Ann", f"Town {i}") for i in range(12)])
    done: list[Applied] = []
    errors: list[BaseException] = []
    start = threading.Barrier(2)

    def work(name: str) -> None:
        try:
            with GraphDatabase.driver(stack.neo4j_uri, auth=stack.neo4j_auth) as driver:
                sink = GraphSink(driver, graph.store.database, name)
                start.wait()
                done.extend(sink.apply(graph.topic, 0, records[i : i + 3]) for i in range(0, 12, 3))
        except BaseException as error:  # noqa: BLE001 - told in the test's own thread
            errors.append(error)

    workers = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
    assert errors == []
    assert sum(one.applied for one in done) == 12
    holding = graph.rows("MATCH (f:Fact {scope: $scope}) WHERE f.ended_at IS NULL AND f.holds RETURN f.text AS text")
    assert holding == [{"text": "Ann lives in Town 11"}]
    assert graph.chain() == [f"m{i}" for i in range(12)]


@pytest.mark.parametrize("first", ["better", "worse"])
def test_of_two_patches_of_one_event_the_higher_generation_counts(graph: World, first: str) -> None:
    """What the other one made is taken back, whichever came first."""
    worse = graph.say("m1", 1).message("said").lives("Ann", "Paris").mention("Bob")
    better = graph.say("m1", 1, generation=2).message("said").lives("Ann", "Rome")
    applied = [graph.apply(one) for one in ((better, worse) if first == "better" else (worse, better))]
    assert (applied[1].replaced, applied[1].dropped) == ((0, 1) if first == "better" else (1, 0))
    assert graph.facts() == [f"Ann lives in Rome [{moment(1)}, )*"]
    names = graph.rows(
        "MATCH (e:Entity {scope: $scope}) WHERE e.at IS NOT NULL AND e.id IS NOT NULL RETURN e.name AS n"
    )
    assert sorted(row["n"] for row in names) == ["Ann", "Rome"]


@pytest.mark.parametrize("first", ["early", "late"])
def test_of_two_contents_of_one_event_the_one_first_in_the_log_counts(graph: World, first: str) -> None:
    """A publisher that reuses an id is told by the log, not by luck."""
    early = graph.say("m1", 1, recorded=5).message("early")
    late = graph.say("m1", 1, recorded=9).message("late")
    for one in (early, late) if first == "early" else (late, early):
        graph.apply(one)
    assert graph.rows("MATCH (m:Message {scope: $scope}) WHERE m.id IS NOT NULL RETURN m.text AS t") == [{"t": "early"}]


def test_two_contents_of_one_event_in_one_batch_are_one_event(graph: World) -> None:
    """Duplicates inside a batch are told apart as those between batches are."""
    applied = graph.apply(
        graph.say("m1", 1, recorded=9).message("late"), graph.say("m1", 1, recorded=5).message("early")
    )
    assert (applied.applied, applied.dropped) == (1, 1)
    assert graph.rows("MATCH (m:Message {scope: $scope}) WHERE m.id IS NOT NULL RETURN m.text AS t") == [{"t": "early"}]


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "no value"), (b"not json", "Invalid JSON"), (b'{"version":99}', "update the sink first")],
    ids=["nothing", "no JSON", "no patch"],
)
def test_a_record_that_is_no_patch_is_poison(graph: World, value: bytes | None, words: str) -> None:
    """The error says what is wrong with it, and the graph is untouched."""
    with pytest.raises(InvalidPatch, match=words):
        graph.sink.apply(graph.topic, 0, [PatchRecord(0, graph.scope.encode(), value)])
    assert offsets(graph) == (None, None)


def test_a_patch_under_another_key_than_its_scope_is_poison(graph: World) -> None:
    """A scope lives in one partition, because its key says so."""
    (record,) = graph.records([graph.say("m1", 1).message()])
    with pytest.raises(InvalidPatch, match="is not its scope"):
        graph.sink.apply(graph.topic, 0, [PatchRecord(record.offset, b"another", record.value)])


def test_a_refused_record_leaves_an_event_that_says_why(graph: World) -> None:
    """The offset goes past it, sealed; what it would have said is not in the graph."""
    (record,) = graph.records([graph.say("m1", 1).message("poison").lives("Ann", "Paris")])
    graph.sink.refuse(graph.topic, 0, record, "graph_refused: too much")
    (event,) = graph.rows("MATCH (e:Event {scope: $scope}) WHERE e.id IS NOT NULL RETURN e.verdict AS v, e.reason AS r")
    assert event == {"v": "dead_lettered", "r": "graph_refused: too much"}
    assert graph.rows("MATCH (m:Message {scope: $scope}) WHERE m.id IS NOT NULL RETURN m") == []
    assert offsets(graph) == (0, 0)


def test_a_record_of_which_nothing_can_be_read_is_gone_past(graph: World) -> None:
    """The offset moves and names no event."""
    graph.apply(graph.say("m0", 0).message())
    graph.sink.refuse(graph.topic, 0, PatchRecord(1, None, b"\x00"), "bad_patch")
    resumed = graph.sink.resume(graph.topic, 0, 3)
    assert (resumed.offset, resumed.event) == (1, None)


def test_another_partition_count_is_refused(graph: World) -> None:
    """A topic that was made again with more partitions would scatter the scopes."""
    with pytest.raises(TopicMismatch, match="3 partitions, the topic now has 4"):
        graph.sink.resume(graph.topic, 0, 4)
    with pytest.raises(TopicMismatch):
        graph.sink.resume(graph.topic, 1, 4)


def test_a_scope_from_another_partition_or_log_is_refused(graph: World) -> None:
    """Positions of two logs can't be compared: the graph must be emptied first."""
    graph.apply(graph.say("m1", 1).message())
    graph.sink.resume(graph.topic, 2, 3)
    with pytest.raises(LogMismatch, match="partition 0"):
        graph.sink.apply(graph.topic, 2, graph.records([graph.say("m2", 2).message()]))


def test_a_partition_that_was_never_resumed_is_refused(graph: World) -> None:
    """Without an offset there is nothing to lock."""
    with pytest.raises(FatalError, match="resume it"):
        graph.sink.apply(graph.topic, 1, graph.records([graph.say("m1", 1).message()]))


def test_a_graph_that_does_not_answer_is_a_transient_error(stack: Settings) -> None:
    """Nobody listens there: try again later."""
    with GraphDatabase.driver("bolt://127.0.0.1:1", connection_timeout=1, max_transaction_retry_time=0.1) as driver:
        sink = GraphSink(driver, stack.neo4j_database, "tests")
        with pytest.raises(GraphUnavailable, match="does not answer") as caught:
            sink.resume("t", 0, 1)
    assert isinstance(caught.value, TransientError)


def test_a_scope_that_another_transaction_holds_is_waited_for(graph: World) -> None:
    """The sink queues at the head of the scope, and applies when it is free."""
    graph.apply(graph.say("m1", 1).message())
    held, done = threading.Event(), threading.Event()
    rows: list[Any] = []

    def hold() -> None:
        with graph.store.driver.session(database=graph.store.database) as session, session.begin_transaction() as tx:
            tx.run("MATCH (s:Scope {scope: $scope}) SET s.lock = 'other'", scope=graph.scope).consume()
            held.set()
            rows.append(done.wait(timeout=3))
            tx.rollback()

    other = threading.Thread(target=hold)
    other.start()
    assert held.wait(timeout=10)
    assert graph.apply(graph.say("m2", 2).message()).applied == 1
    done.set()
    other.join(timeout=10)
    assert rows == [False]
