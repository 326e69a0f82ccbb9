"""The sink as a process, on the real broker and Neo4j: places, refusals, mismatches, a database that is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import orjson
import pytest
from events import message, read, started
from neo4j import AsyncDriver
from patches import patches_of, publish_patches
from proxy import Proxy
from stage_processes import StageProcess, environment, ready, until

from memstream.deploy.ports import any_free
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.dead_letters import read_letter
from memstream.streams.topics_admin import create_topics, delete_topics

StartSink = Callable[..., Awaitable[StageProcess]]

EVENTS = """
MATCH (e:Event) WHERE e.scope STARTS WITH $scope AND e.event_id IS NOT NULL
RETURN count(e) AS n, count(DISTINCT e.id) AS d
"""
OFFSETS = "MATCH (o:StreamOffset) WHERE o.topic = $topic AND o.offset IS NOT NULL RETURN sum(o.offset + 1) AS n"


@pytest.fixture
async def start(own_settings: Settings, tmp_path: Path) -> AsyncIterator[StartSink]:
    """Starts sink processes, and kills those left over."""
    running: list[StageProcess] = []

    async def begin(instance: str = "0", port: int = own_settings.metrics_port_sink, **env: str) -> StageProcess:
        told = environment(own_settings, MEMSTREAM_METRICS_PORT_SINK=str(port), **env)
        stage = await StageProcess.start("sink", tmp_path / f"sink-{instance}.log", told, instance)
        running.append(stage)
        await until(lambda: ready(port), 90, "the sink is ready")
        return stage

    await create_topics(own_settings)
    yield begin
    for stage in running:
        await stage.kill()


class Graph:
    """What a test asks of the graph."""

    def __init__(self, driver: AsyncDriver, settings: Settings, scope: str) -> None:
        self._driver = driver
        self._settings = settings
        self._scope = scope

    async def events(self) -> int:
        """Events of the test's scopes; none is there twice."""
        row = await self._one(EVENTS, scope=self._scope)
        assert row["n"] == row["d"]
        return int(row["n"])

    async def applied(self) -> int:
        """Records that the graph has gone past."""
        return int((await self._one(OFFSETS, topic=Topic.PATCHES.named(self._settings.topic_prefix)))["n"])

    async def until(self, count: int, patience: float = 90) -> None:
        """Wait for at least so many events."""

        async def enough() -> bool:
            return await self.events() >= count

        await until(enough, patience, f"{count} events in the graph", every=0.5)

    async def _one(self, query: str, **parameters: str) -> dict[str, int]:
        records, _, _ = await self._driver.execute_query(query, parameters, database_=self._settings.neo4j_database)
        return dict(records[0])


@pytest.fixture
def graph(driver: AsyncDriver, own_settings: Settings, scope: str) -> Graph:
    """The graph as far as this test fills it."""
    return Graph(driver, own_settings, scope)


async def test_a_new_process_goes_on_where_the_graph_is(
    own_settings: Settings, scope: str, start: StartSink, graph: Graph, tmp_path: Path
) -> None:
    """Patches of several scopes are applied once each, before and after a clean stop."""
    events = [started(f"{scope}/{n % 5}", n, f"s{n}") for n in range(60)]
    patches = patches_of(events, tmp_path)
    await publish_patches(own_settings, patches[:40])
    stage = await start()
    await graph.until(40)
    assert await stage.stop() == 0
    assert "Traceback" not in stage.said()
    await publish_patches(own_settings, [*patches[40:], *patches[:3]])  # and three that it has
    await start()

    async def passed() -> bool:
        return await graph.applied() == 63

    await until(passed, 60, "all records are passed", every=0.5)
    assert await graph.events() == 60


async def test_a_patch_that_cannot_be_applied_is_singled_out(
    own_settings: Settings, scope: str, start: StartSink, graph: Graph, tmp_path: Path
) -> None:
    """Bytes that are no patch and rows that no graph takes become dead letters; the patches around them are applied."""
    patches = patches_of([message(scope, n, f"text {n}") for n in range(20)], tmp_path)
    refused = orjson.loads(patches[7][1])
    next(node for node in refused["nodes"] if node["label"] == "Message")["props"]["nested"] = {"a": [{"b": 1}]}
    mixed = [*patches[:7], (patches[7][0], orjson.dumps(refused)), *patches[8:15], (b"x", b"no patch"), *patches[15:]]
    where = await publish_patches(own_settings, mixed)
    stage = await start()
    await graph.until(20)
    letters = [read_letter(record.headers, record.value) for record in await read(own_settings, Topic.DEAD_LETTER)]
    told = {(letter.partition, letter.offset): letter.reason for letter in letters if letter.topic == "patches"}
    assert told.keys() == {where[7], where[15]}
    assert set(told.values()) <= {"graph_refused", "bad_patch"}
    assert stage.alive


async def test_a_topic_that_was_recreated_stops_the_sink(
    own_settings: Settings, scope: str, start: StartSink, graph: Graph, tmp_path: Path
) -> None:
    """A log that is shorter than the graph, and one with another record at its place: both are fatal, with a reason."""
    await publish_patches(own_settings, patches_of([message(scope, n, "a") for n in range(5)], tmp_path))
    stage = await start()
    await graph.until(5)
    await stage.stop()
    await delete_topics(own_settings)
    await create_topics(own_settings)
    await publish_patches(own_settings, patches_of([message(scope, n, "b") for n in range(10, 12)], tmp_path))
    shorter = await _ends(own_settings, tmp_path)
    assert "the log ends at 2" in shorter
    await publish_patches(own_settings, patches_of([message(scope, n, "c") for n in range(12, 20)], tmp_path))
    another = await _ends(own_settings, tmp_path)
    assert "is not the record that the graph was built with" in another
    assert await graph.events() == 5


async def _ends(settings: Settings, tmp_path: Path) -> str:
    stage = await StageProcess.start("sink", tmp_path / "ends.log", environment(settings))
    async with asyncio.timeout(90):
        assert await stage.process.wait() == 1
    assert "LogMismatch" in stage.said()
    assert "Traceback" not in stage.said()
    return stage.said()


async def test_two_sinks_share_the_partitions(
    own_settings: Settings, scope: str, start: StartSink, graph: Graph, tmp_path: Path
) -> None:
    """A second sink comes, the first is killed: every patch is applied once."""
    patches = patches_of([started(f"{scope}/{n % 9}", n, f"s{n}") for n in range(300)], tmp_path)
    first = await start("0")
    await publish_patches(own_settings, patches[:100])
    await start("1", any_free())
    await publish_patches(own_settings, patches[100:200])
    await first.kill()
    await start("0")  # under its name, so that its partitions are its own again at once
    await publish_patches(own_settings, patches[200:])
    await graph.until(300, 120)


async def test_the_sink_waits_for_neo4j_and_catches_up(
    own_settings: Settings, scope: str, start: StartSink, graph: Graph, tmp_path: Path
) -> None:
    """With Neo4j away the process lives, is not ready and says why; when it is back all arrives."""
    host, port = own_settings.neo4j_uri.removeprefix("bolt://").rsplit(":", 1)
    proxy = Proxy(host, int(port))
    await proxy.up()
    stage = await start(MEMSTREAM_NEO4J_URI=f"bolt://127.0.0.1:{proxy.port}")
    patches = patches_of([message(scope, n, f"text {n}") for n in range(30)], tmp_path)
    await publish_patches(own_settings, patches[:10])
    await graph.until(10)
    await proxy.down()
    await publish_patches(own_settings, patches[10:])

    async def not_ready() -> bool:
        return not await ready(own_settings.metrics_port_sink)

    await until(not_ready, 60, "the sink says that it is not ready")
    assert stage.alive
    assert await graph.events() == 10
    await proxy.up()
    await graph.until(30, 60)
    await until(lambda: ready(own_settings.metrics_port_sink), 30, "the sink is ready again")
    assert "Neo4j" in stage.said()
    assert "Traceback" not in stage.said()
    await proxy.down()


async def test_changes_are_told_with_their_position(
    own_settings: Settings, scope: str, start: StartSink, graph: Graph, tmp_path: Path
) -> None:
    """What became true goes to the changes topic, keyed by scope, in the order of its position."""
    await publish_patches(own_settings, patches_of([message(scope, n, f"text {n}") for n in range(5)], tmp_path))
    await start()
    await graph.until(5)

    async def told() -> bool:
        return len(await read(own_settings, Topic.CHANGES)) >= 5

    await until(told, 30, "five changes")
    changes = await read(own_settings, Topic.CHANGES)
    assert {record.key for record in changes} == {scope.encode()}
    values = [orjson.loads(record.value) for record in changes]
    assert [value["event_id"] for value in values] == [f"m{n}" for n in range(5)]
    places = [(value["offset"], value["ordinal"]) for value in values]
    assert places == sorted(places)
