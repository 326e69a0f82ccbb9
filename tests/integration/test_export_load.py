"""An export loaded into a graph of its own: the same graph, for reading and comparing, and refused by sinks."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from own_neo4j import OwnNeo4j
from sink_world import World, world
from stage_processes import until
from typer.testing import CliRunner

from memstream.cli.main import app
from memstream.query.app import create_app
from memstream.schemas.errors import InvalidInput, LogMismatch
from memstream.schemas.patch import Label
from memstream.settings import Settings
from memstream.sinks import mark, wipe
from memstream.sinks.export.file import ExportFile, Header, replacing, write
from memstream.sinks.export.form import Line, node_line
from memstream.sinks.export.graph import GraphLines
from memstream.sinks.export.load import load
from memstream.sinks.export.verify import FileSource, GraphSource, totals, verify
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.migrations import migrate
from memstream.sinks.stores import Store, Stores


@pytest.fixture(scope="module")
def neo4j(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnNeo4j]:
    """A second Neo4j with the password of the first, so that a command reaches both."""
    assert stack.neo4j_password is not None
    own = OwnNeo4j(stack, tmp_path_factory.mktemp("second"), stack.neo4j_password.get_secret_value())
    asyncio.run(own.start())
    yield own
    asyncio.run(own.stop())


@pytest.fixture
def target(neo4j: OwnNeo4j) -> Iterator[Store]:
    """The second Neo4j, emptied."""
    with Stores.connect(neo4j.settings) as stores:
        (store,) = stores.all()
        migrate(store.driver, store.database)
        wipe.wipe(store.driver, store.database)
        mark.write(store.driver, store.database, None)
        yield store


@pytest.fixture
def graph(stack: Settings, scope: str) -> Iterator[World]:
    """A scope of this test alone in the first Neo4j, with something in it."""
    with world(stack, scope) as made:
        migrate(made.store.driver, made.store.database)
        made.apply(made.say("m1", 1).message("I live in Paris", vector=[0.5, 0.25, 1.0]).lives("Ann", "Paris"))
        made.apply(made.say("m2", 2).message("Now in Rome", reply_to="never-came").lives("Ann", "Rome").mention("Bob"))
        made.apply(made.say("m3", 3).message("Tea!").likes("Ann", "tea").same("Ann", "Bob"))
        made.apply(made.say("m4", 4).takes_back("m1").share(Label.TOOL, "t", "named", {"name": "x", "reward": 0.1}))
        made.apply(made.say("m5", 5).erases("message", "m3", until=9))
        yield made


@pytest.fixture
def export(graph: World, tmp_path: Path) -> ExportFile:
    """Its export."""
    path = tmp_path / "x.jsonl"
    with replacing(path) as file:
        write(file, *GraphSource("it", graph.store).export(graph.scope))
    return ExportFile(path)


def told(*words: str) -> tuple[int, str, str]:
    """Exit code and what a command said."""
    done = CliRunner().invoke(app, words, prog_name="memstream", env={"COLUMNS": "200"})
    return done.exit_code, done.stdout, done.stderr


def many(path: Path, count: int) -> ExportFile:
    """An export of many messages."""
    lines = [
        node_line("Message", "acme", f"m{number:06d}", ["Message", "Source"], {"text": "word " * 40, "n": number})
        for number in range(count)
    ]
    with replacing(path) as file:
        header = Header.of("acme", ())
        write(file, header, lines)
    return ExportFile(path)


async def test_the_commands_load_and_compare(graph: World, export: ExportFile, target: Store, neo4j: OwnNeo4j) -> None:
    """What was loaded equals the file and the graph that it came from; two addresses are compared like files."""
    code, out, _ = told("import", str(export.path), "--into", neo4j.uri)
    assert (code, "sinks refuse it" in out) == (0, True)
    assert told("verify", str(export.path), neo4j.uri)[0] == 0
    assert told("verify", neo4j.uri, "--scope", graph.scope)[0] == 0
    assert told("diff", neo4j.uri, "--scope", graph.scope)[1] == "They know the same.\n"
    graph.rows("MATCH (m:Message {scope: $scope}) WHERE m.id IS NOT NULL AND m.event_id = 'm2' SET m.text = 'Oslo'")
    code, out, _ = told("verify", neo4j.uri, "--scope", graph.scope)
    assert (code, "text is 'Now in Rome' in A, 'Oslo' in B" in out) == (3, True)
    code, out, _ = told("import", str(export.path), "--into", neo4j.uri)
    assert (code, "has all of it already" in out) == (0, True)


def test_what_is_loaded_is_exported_the_same(export: ExportFile, target: Store) -> None:
    """Every line, byte for byte, with its vectors, its stubs and what an erasure left."""
    load(target, export, export.check())
    assert list(GraphLines(target.driver, target.database).lines()) == list(export.lines())
    assert totals(GraphSource("b", target)) == export.check()


async def test_what_is_loaded_can_be_read(
    graph: World, export: ExportFile, target: Store, neo4j: OwnNeo4j, tmp_path: Path
) -> None:
    """The query service answers over it, with sources, as of position 0."""
    load(target, export, export.check())
    settings = neo4j.settings.model_copy(update={"embedder": "none", "data_dir": tmp_path})
    service = create_app(settings)
    async with service.router.lifespan_context(service):
        transport = httpx.ASGITransport(service, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://query") as client:
            (fact,) = (await client.get("/v1/facts", params={"scope": graph.scope})).json()["items"]
            sources = await client.get(f"/v1/facts/{fact['claim']}/sources", params={"scope": graph.scope})
            session = await client.get("/v1/sessions", params={"scope": graph.scope})
    assert fact["text"] == "Ann lives in Rome"
    assert "Now in Rome" in sources.text
    assert session.status_code == 200


def test_a_sink_refuses_what_was_loaded(export: ExportFile, target: Store) -> None:
    """Nobody knows what of a log is in it; also while it is being loaded."""
    sink = GraphSink(target.driver, target.database, "w")

    def refused(_: int) -> None:
        with pytest.raises(LogMismatch, match="holds a part of the log"):
            sink.resume("memory.patches", 0, 12)

    load(target, export, export.check(), advance=refused)
    refused(0)


def test_a_graph_with_something_else_is_refused(
    graph: World, export: ExportFile, target: Store, stack: Settings
) -> None:
    """A live one, and one with another export: nothing is written, and what to do is told."""
    before = totals(GraphSource("a", graph.store), graph.scope)
    with pytest.raises(InvalidInput, match=r"the graph is not empty.*Name another with --into"):
        load(graph.store, export, export.check())
    assert totals(GraphSource("a", graph.store), graph.scope) == before
    other = many(export.path.with_name("other.jsonl"), 3)
    load(target, other, other.check())
    with pytest.raises(InvalidInput, match=r"not empty \(an export of 3 nodes, loaded\)"):
        load(target, export, export.check())
    assert verify(FileSource(other.path), GraphSource("b", target)).equal


def test_a_broken_file_leaves_the_graph_empty(export: ExportFile, target: Store, neo4j: OwnNeo4j) -> None:
    """It is checked to its end before anything is written."""
    whole = export.path.read_bytes()
    for broken in (whole[:-200], whole.replace(b"Now in Rome", b"Now in Oslo")):
        export.path.write_bytes(broken)
        code, _, err = told("import", str(export.path), "--into", neo4j.uri)
        assert code == 1, err
    assert wipe.is_empty(target.driver, target.database)
    assert mark.read(target.driver, target.database) is None


def reached(target: Store) -> int:
    """How many lines are loaded."""
    text = "MATCH (o:StreamOffset) WHERE o.topic IS NOT NULL AND o.partition = 0 RETURN o.lines AS lines"
    records = target.driver.execute_query(text, database_=target.database).records
    return records[0]["lines"] if records else 0


@pytest.fixture
async def loading(target: Store, neo4j: OwnNeo4j, tmp_path: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that loads 20,000 lines."""
    many(tmp_path / "many.jsonl", 20_000)
    words = ("-m", "memstream.cli", "import", str(tmp_path / "many.jsonl"), "--into", neo4j.uri)
    process = await asyncio.create_subprocess_exec(sys.executable, *words, env={**os.environ, **neo4j.env})
    yield process
    if process.returncode is None:
        process.kill()
        await process.wait()


async def test_a_load_that_was_killed_goes_on(
    loading: asyncio.subprocess.Process, target: Store, tmp_path: Path
) -> None:
    """Killed between any two batches: the same command loads the rest, and nothing twice; no read saw a part of it."""

    async def some() -> bool:
        assert loading.returncode is None, "all of it was loaded before it could be killed"
        return reached(target) >= 2_000

    await until(some, 240, "some of it is loaded", every=0.02)
    loading.kill()
    await loading.wait()
    there = reached(target)
    assert 0 < there < 20_000
    sealed = "MATCH (o:StreamOffset) WHERE o.topic IS NOT NULL AND o.partition = 0 RETURN o.sealed AS sealed"
    assert target.driver.execute_query(sealed, database_=target.database).records[0]["sealed"] is None
    file = ExportFile(tmp_path / "many.jsonl")
    assert load(target, file, file.check()).before >= there
    assert verify(FileSource(file.path), GraphSource("b", target)).equal
    assert target.driver.execute_query(sealed, database_=target.database).records[0]["sealed"] == 0


def test_a_label_of_a_newer_version_is_refused(target: Store, tmp_path: Path) -> None:
    """By its name, and nothing of its batch is written."""
    line = node_line("Message", "acme", "m", ["Message"], {})
    strange = Line(("1", "Zebra", "acme", "m"), line.text.replace(b"Message", b"Zebra"))
    with replacing(tmp_path / "x") as file:
        write(file, Header.of("acme", ()), [strange])
    made = ExportFile(tmp_path / "x")
    with pytest.raises(InvalidInput, match="label Zebra, which this Memstream does not know"):
        load(target, made, made.check())
    assert wipe.is_empty(target.driver, target.database)
