"""The graph built again beside the one that runs: from patches, from events, a part of it, with another extractor."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from events import message, publish
from own_neo4j import OwnNeo4j
from patches import publish_patches
from replays import Graph, ended, env_of, memstream, scopes_of, start, story
from sink_patches import moment
from stage_processes import StageProcess, environment, ready, until

from memstream.client import AsyncPublisher
from memstream.deploy.ports import any_free
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.replay import run as replay_run
from memstream.streams.replay.plan import Plan, Source
from memstream.streams.replay.progress import Meter
from memstream.streams.replay.run import Replay
from memstream.streams.replay.target import TargetRefused, until_no_sink_lives
from memstream.streams.topics_admin import create_topics

Run = Callable[..., Awaitable[StageProcess]]


@pytest.fixture
def live(stack: Settings) -> Iterator[Graph]:
    """The graph of the running stack."""
    graph = Graph.of(stack)
    with graph.driver:
        yield graph


@pytest.fixture
def second(own_neo4j: OwnNeo4j) -> Iterator[Graph]:
    """The graph of the second Neo4j, empty."""
    graph = Graph.of(own_neo4j.settings)
    with graph.driver:
        graph.empty()
        yield graph


@pytest.fixture
async def run(own_settings: Settings, tmp_path: Path) -> AsyncIterator[Run]:
    """Starts stage processes, and kills those left over."""
    running: list[StageProcess] = []

    async def begin(stage: str, env: dict[str, str], instance: str = "0") -> StageProcess:
        process = await StageProcess.start(stage, tmp_path / f"{stage}-{len(running)}.log", env, instance)
        running.append(process)
        port = env[f"MEMSTREAM_METRICS_PORT_{stage.upper()}"]
        await until(lambda: ready(int(port)), 240, f"the {stage} stage is ready: {process.said()[-2000:]}")
        return process

    await create_topics(own_settings)
    yield begin
    for process in running:
        await process.kill()
    for log in (own_settings.data_dir / "logs").glob(f"{own_settings.topic_prefix}.replay-*.log"):
        log.unlink()


async def test_a_second_graph_from_patches_is_the_same_and_goes_on_live(  # noqa: PLR0917 - fixtures
    own_settings: Settings, own_neo4j: OwnNeo4j, scope: str, live: Graph, second: Graph, run: Run
) -> None:
    """Stopped half way it goes on by the same command; afterwards a live sink simply continues behind it."""
    await publish_patches(own_settings, story(scope, range(200)))
    sink = await run("sink", environment(own_settings))
    await live.until(scope, 200)
    env = env_of(own_settings, own_neo4j)
    command = ("replay", "--from", "patches", "--into", own_neo4j.uri, "--json")
    first = await start({**env, "MEMSTREAM_SINK_BATCH": "2"}, *command)
    await second.until(scope, 10)
    first.send_signal(signal.SIGINT)
    told = await ended(first)
    assert told.code == 130, told.err
    assert not told.summary["finished"]
    assert second.events(scope) < 200
    told = await memstream(env, *command)
    assert told.code == 0, told.err
    assert told.summary["finished"]
    assert told.summary["patches"] < 200
    assert told.summary["refused"] == 0
    assert second.dumps(scopes_of(scope)) == live.dumps(scopes_of(scope))
    assert second.rows("MATCH (o:Outbox) RETURN count(o) AS n") == [{"n": 0}]
    await sink.stop()
    await publish_patches(own_settings, story(scope, range(200, 220)))
    other = await run("sink", {**environment(own_settings), **own_neo4j.env})
    await second.until(scope, 220)
    await other.stop()
    await run("sink", environment(own_settings))
    await live.until(scope, 220)
    assert second.dumps(scopes_of(scope)) == live.dumps(scopes_of(scope))


async def test_the_graph_as_it_was(  # noqa: PLR0917 - fixtures
    own_settings: Settings, own_neo4j: OwnNeo4j, scope: str, live: Graph, second: Graph, run: Run, tmp_path: Path
) -> None:
    """Up to a time, below a scope: equal to what stood then; and a live sink refuses to go on behind the gap."""
    patches = story(scope, range(120))
    await publish_patches(own_settings, patches[:60])
    await run("sink", environment(own_settings))
    await live.until(scope, 60)
    before = live.dumps(scopes_of(scope)[:1])
    await publish_patches(own_settings, patches[60:])
    await live.until(scope, 120)
    env = env_of(own_settings, own_neo4j)
    window = ("--until", moment(59), "--scope", f"{scope}/0")
    told = await memstream(env, "replay", "--from", "patches", *window, "--into", own_neo4j.uri, "--json")
    assert told.code == 0, told.err
    assert (told.summary["patches"], told.summary["passed_over"]) == (15, 105)
    assert second.dumps(scopes_of(scope)[:1]) == before
    assert second.events(scope) == 15
    other = {**env, **own_neo4j.env, "MEMSTREAM_METRICS_PORT_SINK": str(any_free())}
    stage = await StageProcess.start("sink", tmp_path / "refused.log", other)
    async with asyncio.timeout(60):
        assert await stage.process.wait() == 1
    assert "holds a part of the log" in stage.said()
    assert "replay --from patches --wipe" in stage.said()
    again = await memstream(env, "replay", "--from", "patches", "--into", own_neo4j.uri)
    assert again.code == 1
    assert "add --wipe" in again.err
    asked = await memstream(env, "replay", "--from", "patches", "--into", own_neo4j.uri, "--wipe")
    assert asked.code == 1
    assert "add --yes" in asked.err
    assert second.events(scope) == 15
    wiped = await memstream(env, "replay", "--from", "patches", "--into", own_neo4j.uri, "--wipe", "--yes")
    assert wiped.code == 0, wiped.err
    assert "120 patches into" in wiped.out
    assert second.dumps(scopes_of(scope)) == live.dumps(scopes_of(scope))


async def test_a_rebuild_from_events_is_the_same_and_becomes_a_lineage(  # noqa: PLR0917 - fixtures
    own_settings: Settings, own_neo4j: OwnNeo4j, scope: str, live: Graph, second: Graph, run: Run
) -> None:
    """Every event keeps its place and its recorded time; what is published later goes on into the new lineage."""
    events = [message(f"{scope}/{n % 4}", n, f"Text {n}", f"s{n % 3}") for n in range(60)]
    await publish(own_settings, events[:40])
    env = environment(own_settings, MEMSTREAM_EXTRACT_PROCESSES="1")
    workers = [await run("extract", env), await run("sink", env)]
    await live.until(scope, 40)
    command = ("replay", "--from", "events", "--name", "new", "--into", own_neo4j.uri, "--json")
    told = await memstream(env_of(own_settings, own_neo4j, MEMSTREAM_EXTRACT_PROCESSES="1"), *command)
    assert told.code == 0, told.err
    assert (told.summary["extracted"], told.summary["patches"]) == (40, 40)
    assert second.dumps(scopes_of(scope)) == live.dumps(scopes_of(scope))
    lineage = {
        **env,
        **own_neo4j.env,
        "MEMSTREAM_TOPIC_PREFIX": f"{own_settings.topic_prefix}.replay-new",
        "MEMSTREAM_EVENTS_PREFIX": own_settings.topic_prefix,
    }
    await publish(own_settings, events[40:])
    await live.until(scope, 60)
    for worker in workers:
        await worker.stop()
    # under the name that the replay's stage had, so that its partitions are its own again at once
    await run("extract", lineage, f"{socket.gethostname()}-0")
    await run("sink", lineage)
    await second.until(scope, 60)
    assert second.dumps(scopes_of(scope)) == live.dumps(scopes_of(scope))


async def test_a_part_of_the_log_stays_without_what_was_erased_above_it(  # noqa: PLR0917 - fixtures
    own_settings: Settings, own_neo4j: OwnNeo4j, scope: str, live: Graph, second: Graph, run: Run
) -> None:
    """One scope, from patches, and from events of before: a person and a session that were erased above it stay out.

    The copies of these erasures in the scope's own partition tell that, and none tells of an erasure without children.
    """
    child, beside = f"{scope}/a/b", f"{scope}/c"
    async with AsyncPublisher(child, settings=own_settings, source="tests") as memory:
        for number in range(12):
            home = beside if number % 4 == 3 else child
            about = "ana" if number % 3 else "ben"
            text = f"{'secret' if number % 3 else 'kept'} {number}"
            await memory.message(f"s{number % 2}", "user", text, about=about, scope=home)
        await memory.message("over", "user", "secret session", about="ben")
        await memory.flush()
        before = datetime.now(UTC)
        env = environment(own_settings, MEMSTREAM_EXTRACT_PROCESSES="1")
        await run("extract", env)
        await run("sink", env)
        await live.until(scope, 13)
        await memory.erased("user", ["ana"], children=True, scope=scope)
        await memory.erased("session", ["over"], children=True, scope=f"{scope}/a")
        await memory.erased("session", ["s0", "s1"], scope=f"{scope}/a")  # of that scope alone, which has none
        await memory.flush()
    left = "MATCH (m:Message) WHERE m.scope STARTS WITH $scope AND m.at IS NOT NULL RETURN m.text AS text"

    async def erased() -> bool:
        rows = await asyncio.to_thread(live.rows, left, scope=scope)
        return sorted(row["text"] for row in rows) == ["kept 0", "kept 3", "kept 6", "kept 9"]

    await live.until(scope, 16)
    await until(erased, 60, "what was erased is gone from the live graph")
    replay = env_of(own_settings, own_neo4j, MEMSTREAM_EXTRACT_PROCESSES="1")
    into = ("--scope", child, "--into", own_neo4j.uri, "--wipe", "--yes", "--json")
    for source in (("patches",), ("events", "--until", before.isoformat())):
        told = await memstream(replay, "replay", "--from", *source, *into)
        assert told.code == 0, told.err
        assert told.summary["finished"]
        assert second.dumps([child]) == live.dumps([child]), source
        assert sorted(row["text"] for row in second.rows(left, scope=scope)) == ["kept 0", "kept 6", "kept 9"]
        assert second.rows("MATCH (w:ErasureWork) WHERE w.pending IS NOT NULL RETURN w.id AS id") == []


async def test_a_newer_extractor_replaces_the_patches_of_the_older_in_the_live_graph(
    own_settings: Settings, own_neo4j: OwnNeo4j, scope: str, live: Graph, run: Run
) -> None:
    """By their generation, through the live patches topic, a scope at a time; what is not wanted stays as it was."""
    await publish(own_settings, [message(f"{scope}/{n % 4}", n, f"Tower {n}") for n in range(40)])
    env = environment(own_settings, MEMSTREAM_EXTRACT_PROCESSES="1")
    extract = await run("extract", env)
    await run("sink", env)
    await live.until(scope, 40)
    await extract.stop()
    replay = env_of(own_settings, own_neo4j, MEMSTREAM_EXTRACT_PROCESSES="1")
    command = ("replay", "--from", "events", "--extractor", "second", "--scope", f"{scope}/1")
    told = await memstream(replay, *command)
    assert told.code == 0, told.err
    assert "higher generation" in told.out
    generations = "MATCH (e:Event) WHERE e.scope STARTS WITH $scope AND e.event_id IS NOT NULL RETURN e.generation AS g"

    async def replaced() -> bool:
        rows = await asyncio.to_thread(live.rows, generations, scope=scope)
        return sorted(row["g"] for row in rows) == [1] * 30 + [2] * 10

    await until(replaced, 60, "the newer patches are in the graph")
    names = (
        "MATCH (n:Entity) WHERE n.scope STARTS WITH $scope AND n.id IS NOT NULL RETURN n.scope AS scope, n.name AS name"
    )
    assert {row["scope"] for row in live.rows(names, scope=scope) if row["name"] == "Tower"} == {f"{scope}/1"}
    assert live.applied(Topic.PATCHES.named(own_settings.topic_prefix)) >= 50
    again = await memstream(replay, *command)
    assert again.code == 0, again.err
    assert "done before" in again.out


async def test_a_graph_is_not_emptied_under_a_living_sink(  # noqa: PLR0917 - fixtures
    own_settings: Settings,
    own_neo4j: OwnNeo4j,
    scope: str,
    second: Graph,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The replay waits for the sink to go (here: not for long), then says to stop it; nothing is removed."""
    await publish_patches(own_settings, story(scope, range(8)))
    await run("sink", {**environment(own_settings), **own_neo4j.env})
    await second.until(scope, 8)
    monkeypatch.setattr(replay_run, "until_no_sink_lives", partial(until_no_sink_lives, patience=1.0))
    settings = own_neo4j.at(own_settings)
    one = Replay(Plan(Source.PATCHES, wipe=True), settings, Meter(), tmp_path / "log", any_free())
    assert await one.wants_wipe()
    with pytest.raises(TargetRefused, match="stop it first"):
        await one.run(asyncio.Event())
    assert second.events(scope) == 8
