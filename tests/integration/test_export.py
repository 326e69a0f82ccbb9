"""The canonical form of a real graph: what is in it, its order, how it is walked, and what that costs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from sink_world import World, world
from typer.testing import CliRunner

from memstream.cli.main import app
from memstream.schemas.ids import named_id
from memstream.schemas.patch import Edge, Label
from memstream.settings import Settings
from memstream.sinks.export.form import Line
from memstream.sinks.export.graph import EDGES, NODES, GraphLines, GraphMoved, export_lines
from memstream.sinks.export.verify import GraphSource, totals
from memstream.sinks.migrations import migrate


@pytest.fixture
def graph(stack: Settings, scope: str) -> Iterator[World]:
    """A scope of this test alone, in a graph that has its indexes."""
    with world(stack, scope) as made:
        migrate(made.store.driver, made.store.database)
        yield made


def lines(graph: World, scope: str | None = None, **more: Any) -> list[Line]:
    """The canonical form of a scope."""
    return list(GraphLines(graph.store.driver, graph.store.database, scope or graph.scope, **more).lines())


def rows(found: list[Line], kind: str) -> list[dict[str, Any]]:
    """The nodes of a label or the edges of a type, as they are written."""
    read = [orjson.loads(line.text) for line in found]
    return [row for row in read if kind in (row.get("node"), row.get("edge"))]


def lived(graph: World) -> None:
    """A small life: someone moves, is named, replies, and a session ends."""
    graph.apply(graph.say("m1", 1).message("I live in Paris", vector=[0.5, 0.25]).lives("Ann", "Paris"))
    graph.apply(graph.say("m2", 2).message("Now in Rome", reply_to="m1").lives("Ann", "Rome").mention("Bob"))
    graph.apply(graph.say("m3", 3).message("Tea!", reply_to="never-came").likes("Ann", "tea"))
    graph.apply(graph.say("m4", 4).lives("Bob", "Oslo", single=False))
    ended = {"session_id": "s", "ended_at": "2026-03-01T00:05:00.000000Z"}
    graph.apply(graph.say("m5", 5).share(Label.CONVERSATION, named_id("session", graph.scope, "s"), "ended", ended))


def test_the_lines_are_in_order_whatever_the_size_of_a_page(graph: World) -> None:
    """Nodes and edges each by their key, the same with a node a page and with all in one."""
    lived(graph)
    found = lines(graph)
    assert found == sorted(found)
    assert len({line.text for line in found}) == len(found)
    for page in (1, 2, 3, 7):
        assert lines(graph, page=page) == found


def test_edges_are_sorted_on_disk_where_they_are_too_many(graph: World) -> None:
    """With memory for a line at most the form is the same."""
    lived(graph)
    assert lines(graph, memory=1) == lines(graph)


def test_what_is_current_is_there_and_what_is_closed_is_not(graph: World) -> None:
    """A version that another event closed is gone, and so are the edges that lead to it."""
    graph.apply(graph.say("m1", 2).message().lives("Ann", "Paris"))
    graph.apply(graph.say("m0", 1).message().lives("Ann", "Oslo"))
    closed = graph.rows("MATCH (f:Fact {scope: $scope}) WHERE f.id IS NOT NULL AND f.ended_at IS NOT NULL RETURN f")
    found = lines(graph)
    assert len(rows(found, "Fact")) == 2
    assert len(rows(found, "Assertion")) == 2
    names = {(row["scope"], row["id"]) for row in rows(found, "Fact")}
    assert all((row["from"][1], row["from"][2]) in names for row in rows(found, "SUPERSEDES"))
    assert all((row["to"][1], row["to"][2]) in names for row in rows(found, "SUPERSEDES"))
    graph.wipe()
    graph.apply(graph.say("m0", 1).message().lives("Ann", "Oslo"), graph.say("m1", 2).message().lives("Ann", "Paris"))
    assert [line.text for line in lines(graph)] == [line.text for line in found]
    del closed


def test_stubs_are_ends_and_nothing_else(graph: World) -> None:
    """A reply to what never came names it, and it has no line of its own."""
    lived(graph)
    found = lines(graph)
    (lost,) = {row["to"][2] for row in rows(found, "REPLY_TO")} - {row["id"] for row in rows(found, "Message")}
    assert len(rows(found, "REPLY_TO")) == 2
    assert graph.rows("MATCH (m:Message {scope: $scope, id: $id}) RETURN m.at AS at", id=lost) == [{"at": None}]


def test_a_session_that_has_ended_is_there(graph: World) -> None:
    """Its end was said: it is no closed version. What hangs on it is there too."""
    lived(graph)
    found = lines(graph)
    (chat,) = rows(found, "Conversation")
    assert chat["props"]["ended_at"] == "2026-03-01T00:05:00.000000Z"
    assert len(rows(found, "HAS_MESSAGE")) == 3


def test_a_line_that_is_changed_behind_our_back_changes_the_digest(graph: World) -> None:
    """One property of one node, one edge, one stub made whole."""
    lived(graph)
    source = GraphSource("it", graph.store)
    digests = {totals(source, graph.scope).digest}
    for change in (
        "MATCH (m:Message {scope: $scope}) WHERE m.id IS NOT NULL AND m.event_id = 'm1' SET m.text = 'Rome'",
        "MATCH (:Message {scope: $scope})-[r:MENTIONS]->() DELETE r",
        "MATCH (m:Message {scope: $scope}) WHERE m.id IS NOT NULL AND m.at IS NULL SET m.at = 0",
        "MATCH (e:Entity {scope: $scope}) WHERE e.id IS NOT NULL AND e.norm = 'rome' SET e:Person",
    ):
        graph.rows(change)
        digests.add(totals(source, graph.scope).digest)
    assert len(digests) == 5


def test_a_scope_means_it_and_all_below_by_whole_segments(graph: World) -> None:
    """Page by page through many small scopes; a scope that only begins the same is another."""
    below = [f"{graph.scope}/{name}" for name in ("a", "a/b", "b", "～", "𐐀", "z")]
    others = [f"{graph.scope}-x", f"{graph.scope}0"]
    made = [World(graph.store, scope) for scope in (*below, *others)]
    try:
        for one in (graph, *made):
            one.apply(one.say("m1", 1).message("hello").lives("Ann", "Paris"))
        found = lines(graph)
        # the order of the graph's index is Python's, also behind the characters of two surrogates
        assert sorted({line.key[2] for line in found}) == sorted([graph.scope, *below])
        assert found == sorted(found)
        for page in (1, 2, 5):
            assert lines(graph, page=page) == found
        assert {line.key[2] for line in lines(graph, below[0])} == {below[0], below[1]}
        assert lines(graph, f"{graph.scope}/none") == []
        assert len(GraphLines(graph.store.driver, graph.store.database, graph.scope).positions()) == 7
    finally:
        for one in made:
            one.wipe()


def test_a_graph_that_takes_patches_meanwhile_is_refused(graph: World) -> None:
    """The lines would belong to no one moment: an error says so, and what to do; afterwards it can be read."""
    lived(graph)
    walk = export_lines(graph.store.driver, graph.store.database, graph.scope)
    next(walk)
    graph.apply(graph.say("m9", 9).message())
    with pytest.raises(GraphMoved, match=r"went from offset 4 to 5\. Stop the sink"):
        list(walk)
    assert lines(graph)


def test_a_graph_that_is_being_erased_is_refused(graph: World) -> None:
    """What is to be erased would be in the export; an erasure elsewhere is no obstacle."""
    lived(graph)
    graph.rows("CREATE (:ErasureWork {scope: $scope, id: 'w', pending: 'tests'})")
    try:
        with pytest.raises(GraphMoved, match=f"an erasure in scope {graph.scope} is still at work"):
            lines(graph)
        assert lines(graph, graph.scope + "-x") == []
    finally:
        graph.rows("MATCH (w:ErasureWork {scope: $scope, id: 'w'}) DELETE w")
    assert lines(graph)


def test_many_versions_of_one_claim_are_walked_in_pages(graph: World) -> None:
    """Ann moves to and fro: each of her stays is a version of one of two claims, and has its line."""
    graph.apply(*(graph.say(f"m{i:02d}", i).message().lives("Ann", ("Paris", "Rome")[i % 2]) for i in range(40)))
    found = lines(graph, page=3)
    assert found == lines(graph)
    assert len(rows(found, "Fact")) == 40
    assert len(rows(found, "SUPERSEDES")) == 39


def test_two_versions_of_one_name_both_have_a_line(graph: World) -> None:
    """That is a fault in the graph, which a comparison must see, wherever a page ends."""
    lived(graph)
    before = len(lines(graph))
    graph.rows(
        "MATCH (f:Fact {scope: $scope}) WHERE f.id IS NOT NULL AND f.ended_at IS NULL "
        "CREATE (g:Fact) SET g = f {.*, id: f.id + '-twin'}"
    )
    for page in (1, 2, 3, 100):
        assert len(lines(graph, page=page)) == before + 3


def fill(graph: World, count: int) -> None:
    """Messages with a kilobyte of text in one session, each named by an event."""
    graph.rows(
        "MERGE (c:Conversation {scope: $scope, id: 'chat'}) SET c.at = 0 "
        "WITH c UNWIND range(1, $count) AS i "
        "CREATE (c)-[:HAS_MESSAGE {event: 'e' + i, at: 0}]->"
        "(m:Message:Source {scope: $scope, id: right('000000' + i, 7), at: 0, text: $words})"
        "<-[:WROTE {part: 'x', at: 0}]-(:Event {scope: $scope, id: right('000000' + i, 7), at: 0})",
        count=count,
        words="word " * 200,
    )


def peak(work: Callable[[], object]) -> int:
    """The most memory that was held at once, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_graph(graph: World) -> None:
    """Four times the nodes, and a session with four times the messages: the same peak."""

    def walk() -> int:
        found = GraphLines(graph.store.driver, graph.store.database, graph.scope, page=100, memory=200_000).lines()
        return sum(1 for _ in found)

    fill(graph, 1_000)
    assert walk() == 4_001
    small = peak(walk)
    graph.wipe()
    fill(graph, 4_000)
    large = peak(walk)
    assert large < small * 1.3
    assert large < 4_000_000


def plan(graph: World, text: str, what: str = "EXPLAIN", **parameters: Any) -> list[dict[str, Any]]:
    """The operators of a statement, as planned or as run."""
    bound = {
        "scope": graph.scope,
        "id": "",
        "claim": "",
        "name": "",
        "end": graph.scope + "0",
        "page": 50,
        **parameters,
    }
    with graph.store.driver.session(database=graph.store.database) as session:
        summary = session.run(f"{what} {text}", bound).consume()
    found: list[dict[str, Any]] = []
    left = [dict(summary.profile or summary.plan or {})]
    while left:
        found.append(left.pop())
        left += found[-1].get("children", ())
    return found


@pytest.mark.parametrize("label", ["Message", "Event", "Fact", "Preference"])
def test_a_page_is_read_along_an_index(graph: World, label: str) -> None:
    """One seek, in the order that is wanted: nothing is scanned, and only versions of the same claim are sorted."""
    for walks in (NODES[label], EDGES[label]):
        for what in walks:
            kinds = [step["operatorType"].split("@")[0] for step in plan(graph, what.text)]
            assert len([kind for kind in kinds if "IndexSeek" in kind]) == 1
            assert not [kind for kind in kinds if kind in ("Sort", "Top", "Union") or "Scan" in kind]


def test_a_page_costs_the_same_wherever_it_is(graph: World) -> None:
    """Among 3,000 nodes the page at the end is as cheap as that at the beginning."""
    fill(graph, 3_000)
    hits = [
        sum(step["args"].get("DbHits", 0) for step in plan(graph, NODES["Message"].within.text, "PROFILE", id=start))
        for start in ("", "0002900")
    ]
    assert max(hits) < 1_500
    assert abs(hits[0] - hits[1]) < 100


def told(*words: str) -> tuple[int, str, str]:
    """Exit code and what a command said."""
    done = CliRunner().invoke(app, words, prog_name="memstream", env={"COLUMNS": "200"})
    return done.exit_code, done.stdout, done.stderr


def test_the_commands_export_compare_and_digest(graph: World, tmp_path: Path) -> None:
    """A graph equals its export; what is changed afterwards is named with both values, and ends with 3."""
    lived(graph)
    path = tmp_path / "x.jsonl"
    code, _, err = told("export", "--scope", graph.scope, "--out", str(path))
    assert code == 0
    digest = err.split()[-1]
    assert told("verify", "--digest", "--scope", graph.scope)[1].strip() == digest
    assert told("verify", "--digest", str(path))[1].strip() == digest
    code, out, _ = told("verify", str(path))
    assert (code, out.split()[-1]) == (0, digest)
    assert told("export", "--scope", graph.scope)[1].encode() == path.read_bytes()
    graph.rows("MATCH (m:Message {scope: $scope}) WHERE m.id IS NOT NULL AND m.event_id = 'm2' SET m.text = 'In Oslo'")
    graph.rows("MATCH (:Message {scope: $scope})-[r:MENTIONS]->() DELETE r")
    code, out, _ = told("verify", str(path))
    assert code == 3
    assert "text is 'Now in Rome' in A, 'In Oslo' in B" in out
    code, out, _ = told("verify", str(path), "--json", "--all")
    found = orjson.loads(out)
    assert (code, found["equal"], len(found["differences"])) == (3, False, 2)
    assert (found["differences"][0]["a"], found["differences"][0]["b"]) == ("Now in Rome", "In Oslo")
    assert "-MENTIONS-> Entity" in found["differences"][1]["where"]


def test_diff_shows_what_another_graph_knows_with_its_sources(graph: World, tmp_path: Path) -> None:
    """Gained, lost and changed, each with the message that it comes from and its words."""
    lived(graph)
    before = tmp_path / "before.jsonl"
    assert told("export", "--scope", graph.scope, "--out", str(before))[0] == 0
    graph.apply(graph.say("m2", 2, generation=2).message("Now in Oslo, Rome was a slip").lives("Ann", "Oslo"))
    graph.apply(graph.say("m7", 7).message("Bob left Oslo").lives("Bob", "Oslo", single=False, negated=True))
    code, out, _ = told("diff", str(before), "--scope", graph.scope)
    assert code == 0
    assert "- fact Ann lives in Rome" in out
    assert "Message m2  Now in Rome" in out
    assert "+ fact Ann lives in Oslo" in out
    assert "Message m2  Now in Oslo, Rome was a slip" in out
    assert "+ entity" not in out.split("entity Location Oslo")[0]
    assert "- entity Location Rome" in out
    assert "facts: 1 gained, 1 lost, " in out
    assert [line for line in out.splitlines() if line.startswith("~ fact Bob")]
    found = [orjson.loads(line) for line in told("diff", str(before), "--json")[1].splitlines()]
    (lost,) = [one for one in found if one["what"] == "fact" and one["how"] == "lost"]
    assert lost["sources_before"] == [{"id": "m2", "source": "Message", "words": "Now in Rome"}]
    assert lost["before"][0]["holds"] is True
    assert told("diff", str(before), str(before))[1] == "They know the same.\n"


def test_a_fact_that_was_stated_outright_is_cited_by_its_event(graph: World, tmp_path: Path) -> None:
    """It has no message: the event that stated it is named, with what it says."""
    lived(graph)
    before = tmp_path / "before.jsonl"
    assert told("export", "--scope", graph.scope, "--out", str(before))[0] == 0
    graph.apply(graph.say("m8", 8).lives("Cleo", "Rome", source_label=None, source_id=None))
    assert "Statement m8  Cleo lives in Rome" in told("diff", str(before))[1]


def test_an_edge_that_is_said_by_two_events_has_two_lines(graph: World) -> None:
    """Each belongs to its event."""
    chat = (Label.CONVERSATION, "c")
    for event in ("a", "b"):
        graph.apply(graph.say(event, 1, session=None).edge(Edge.HAS_TRACE, chat, (Label.TRACE, "t")))
    assert len(rows(lines(graph), "HAS_TRACE")) == 2
