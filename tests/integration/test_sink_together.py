"""Several partitions in one transaction: what comes of it is what comes of each by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest
from sink_patches import Told
from sink_world import PARTITIONS, World, world

from memstream.schemas.errors import InvalidPatch, LogMismatch
from memstream.schemas.topics import record_key
from memstream.settings import Settings
from memstream.sinks.records import PatchRecord, Written


@pytest.fixture
def graphs(stack: Settings, scope: str) -> Iterator[list[World]]:
    """Three scopes of this test alone, each at home in a partition of its own of one topic."""
    with world(stack, scope) as first, world(stack, f"{scope}b") as second, world(stack, f"{scope}c") as third:
        for partition, graph in enumerate((second, third), start=1):
            graph.topic, graph.partition = first.topic, partition
            graph.sink.resume(graph.topic, partition, PARTITIONS)
        yield [first, second, third]


def said(graph: World) -> list[Told]:
    """A talk that is told in no order, with someone who moves, and an edge whose end comes later."""
    return [
        graph.say("m3", 3).message().mention("Ann").lives("Ann", "Oslo"),
        graph.say("m1", 1).message().mention("Ann").lives("Ann", "Bonn"),
        graph.say("m4", 4).message(reply_to="m9"),
        graph.say("m2", 2).message().mention("Bob").lives("Bob", "Rome"),
    ]


def records(graph: World, told: Sequence[Told]) -> list[PatchRecord]:
    """Records of a world whose scope is not the key of its topic's partition 0 alone."""
    return [PatchRecord(one.offset, record_key(graph.scope), one.value) for one in graph.records(told)]


def apply(graphs: Sequence[World], told: Mapping[int, Sequence[Told]]) -> Written:
    """One transaction for all."""
    batches = {graphs[i].partition: records(graphs[i], some) for i, some in told.items()}
    return graphs[0].sink.together(graphs[0].topic, batches)


def offsets(graph: World) -> list[tuple[int, int, int]]:
    """Partition, applied, sealed."""
    found = graph.rows(
        "MATCH (o:StreamOffset {topic: $topic}) WHERE o.partition IS NOT NULL AND o.offset IS NOT NULL "
        "RETURN o.partition AS p, o.offset AS a, o.sealed AS s ORDER BY p",
        topic=graph.topic,
    )
    return [(row["p"], row["a"], row["s"]) for row in found]


def test_a_shared_transaction_leaves_what_each_by_itself_leaves(graphs: list[World]) -> None:
    """Nodes, facts, chains, positions and changes, partition by partition."""
    written = apply(graphs, {i: said(graph)[: i + 2] for i, graph in enumerate(graphs)})
    assert {place.partition: part.applied for place, part in written.parts.items()} == {0: 2, 1: 3, 2: 4}
    assert offsets(graphs[0]) == [(0, 1, 1), (1, 2, 2), (2, 3, 3)]
    for place, part in written.parts.items():
        assert part.last_offset == place.partition + 1
        assert {change.scope for change in part.changes} == {graphs[place.partition].scope}
        assert {change.partition for change in part.changes} == {place.partition}
        pending = graphs[0].sink.pending_changes(place.topic, place.partition)
        assert [change.payload for change in pending] == [change.payload for change in part.changes]
    shared = [(graph.dump(), graph.facts(), graph.chain()) for graph in graphs]
    for i, graph in enumerate(graphs):
        graph.wipe()
        graph.apply(*said(graph)[: i + 2])
        assert (graph.dump(), graph.facts(), graph.chain()) == shared[i]


def test_what_a_shared_transaction_changes_stands_at_the_positions_of_its_own_partition(graphs: list[World]) -> None:
    """A reader of one partition's position must not be told of another's: links too, where a message goes between."""
    for graph in graphs[:2]:
        graph.apply(graph.say("m1", 1).message(), graph.say("m5", 5).message())
    graphs[0].apply(*[graphs[0].say(f"n{n}", 10 + n).message() for n in range(20)])
    apply(graphs, {0: [graphs[0].say("late", 40).message()], 1: [graphs[1].say("m3", 3).message()]})
    assert latest(graphs[1]) == {"links": 2, "messages": 2}
    apply(graphs, {0: [graphs[0].say("later", 41).message()], 1: [graphs[1].say("x", 6).erases("event", "m3")]})
    assert graphs[1].chain() == ["m1", "m5"]
    assert latest(graphs[1]) == {"links": 3, "messages": 1}


def latest(graph: World) -> dict[str, int]:
    """The last position at which a link or a message of a scope was made."""
    (row,) = graph.rows(
        "MATCH (m:Message {scope: $scope}) WHERE m.id IS NOT NULL AND m.at IS NOT NULL "
        "OPTIONAL MATCH (m)-[r:NEXT_MESSAGE]->() RETURN max(r.at) AS links, max(m.at) AS messages"
    )
    return row


def test_one_that_is_behind_drops_what_it_has_and_holds_up_nobody(graphs: list[World]) -> None:
    """A partition whose records were applied already is passed over; the other's are applied."""
    first, second = graphs[:2]
    old = records(first, said(first))
    first.sink.apply(first.topic, first.partition, old)
    before = first.dump()
    batches = {first.partition: old, second.partition: records(second, said(second))}
    written = first.sink.together(first.topic, batches)
    parts = {place.partition: part for place, part in written.parts.items()}
    assert (parts[0].applied, parts[0].dropped, parts[0].last_offset) == (0, 4, 3)
    assert (parts[1].applied, parts[1].dropped, parts[1].last_offset) == (4, 0, 3)
    assert first.dump() == before


def test_erasures_of_one_partition_reach_nothing_of_another(graphs: list[World]) -> None:
    """The same names are in both scopes; only where it was said are they forgotten, and in one transaction."""
    first, second = graphs[:2]
    for graph in (first, second):
        graph.apply(*said(graph))
    before = second.dump()
    written = apply(graphs, {0: [first.say("x", 9).erases("session", "s")], 1: [second.say("m8", 8).message()]})
    assert not any(part.erasing for part in written.parts.values())
    assert first.facts() == []
    assert first.chain() == []
    second.wipe()
    second.apply(*said(second), second.say("m8", 8).message())
    assert len(second.dump()) > len(before)
    assert second.chain() == ["m1", "m2", "m3", "m4", "m8"]


def test_nothing_is_applied_where_one_of_them_cannot_be(graphs: list[World]) -> None:
    """Bytes that are no patch, or a scope that lives elsewhere: neither partition moves."""
    first, second = graphs[:2]
    good = records(first, said(first))
    with pytest.raises(InvalidPatch):
        first.sink.together(first.topic, {0: good, 1: [PatchRecord(0, record_key(second.scope), b"no patch")]})
    second.apply(second.say("m1", 1).message())
    stranger = [PatchRecord(5, record_key(second.scope), second.say("m2", 2).message().patch().encode())]
    with pytest.raises(LogMismatch, match="was built from partition 1"):
        first.sink.together(first.topic, {0: good, 2: stranger})
    assert offsets(first) == [(1, 0, 0)]
    assert first.dump() == []
