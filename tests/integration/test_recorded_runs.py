"""Recorded runs of real agents, published with the importer through the real workers into the real graph.

What is expected is computed from the file with nothing of ours but the rules of the importer that its documentation
states: a session and a trace for each run, named by its task and trial.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from sink_world import World
from stage_processes import StageProcess, environment, ready, until

from memstream.query.app import create_app
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.sinks.stores import Stores
from memstream.streams.log_reader import read_to_end
from memstream.streams.topics_admin import create_topics

SHARED = Path(os.environ.get("MEMSTREAM_SHARED", Path(__file__).parents[3] / "shared"))
FILE = SHARED / "samples" / "tau-bench-airline.json"


@dataclass(frozen=True)
class Call:
    """A tool call as the file has it."""

    tool: str
    arguments: Any
    status: str
    result: Any


@dataclass(frozen=True)
class Run:
    """A run as the file has it. `said` are role and text of each message."""

    session: str
    said: list[tuple[str, str]]
    calls: list[Call]
    reward: float


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _call(asked: dict[str, Any], answers: list[dict[str, Any]]) -> Call:
    answer = next(message for message in answers if message["tool_call_id"] == asked["id"])
    answers.remove(answer)
    status = "error" if answer["content"].startswith("Error") else "success"
    function = asked["function"]
    return Call(function["name"], json.loads(function["arguments"]), status, _plain(answer["content"]))


def _run(recorded: dict[str, Any]) -> Run:
    messages = recorded["traj"]
    answers = [message for message in messages if message["role"] == "tool"]
    calls = [_call(asked, answers) for message in messages for asked in message.get("tool_calls") or ()]
    assert not answers
    return Run(
        session=f"{FILE.stem}-task-{recorded['task_id']}-trial-{recorded['trial']}",
        said=[(message["role"], message["content"] or "") for message in messages],
        calls=calls,
        reward=recorded["reward"],
    )


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    """The runs of the file."""
    if not FILE.exists():
        pytest.fail(f"{FILE} is not there: set MEMSTREAM_SHARED to the folder with samples/")
    return [_run(recorded) for recorded in json.loads(FILE.read_bytes())]


@dataclass
class Pipeline:
    """Both workers, running, and the scope that is looked at."""

    settings: Settings
    world: World
    stages: list[StageProcess]
    published: int = 0

    async def publish(self) -> dict[str, Any]:
        """Import the file, as a person would, and wait until the graph is past all of it."""
        words = ("publish", str(FILE), "--format", "tau-bench", "--scope", self.world.scope, "--json")
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "memstream.cli", *words],
            env=environment(self.settings),
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        told: dict[str, Any] = json.loads(done.stdout)
        self.published += told["events"]
        await until(self._worked_off, 300, f"{self.published} events in the graph; {self._said()}", every=1.0)
        return told

    async def _worked_off(self) -> bool:
        topic = Topic.PATCHES.named(self.settings.topic_prefix)
        ends: dict[int, int] = {}
        count = 0
        async for record in read_to_end(self.settings, topic):
            ends[record.partition] = record.offset
            count += 1
        return count == self.published and all(self._sealed(topic, *end) for end in ends.items())

    def _sealed(self, topic: str, partition: int, offset: int) -> bool:
        rows = self.world.rows(
            "MATCH (o:StreamOffset {topic: $topic, partition: $partition}) WHERE o.sealed >= $offset RETURN 1",
            topic=topic,
            partition=partition,
            offset=offset,
        )
        return bool(rows)

    def _said(self) -> str:
        return "; ".join(f"{stage.log.name}: {stage.said()[-500:]}" for stage in self.stages)


@pytest.fixture
async def pipeline(own_settings: Settings, scope: str, tmp_path: Path) -> AsyncIterator[Pipeline]:
    """The workers as the supervisor starts them, with the default extractor and embedder."""
    told = environment(
        own_settings,
        MEMSTREAM_EXTRACTOR=own_settings.extractor,
        MEMSTREAM_EMBEDDER=own_settings.embedder,
        MEMSTREAM_EXTRACT_PROCESSES="1",
    )
    await create_topics(own_settings)
    async with AsyncExitStack() as held:
        stores = held.enter_context(Stores.connect(own_settings))
        world = World(stores.of(scope), scope)
        held.callback(world.wipe)
        world.topic = Topic.PATCHES.named(own_settings.topic_prefix)  # its offsets are wiped with the scope
        stages = []
        for stage, port in (
            ("extract", own_settings.metrics_port_extract),
            ("sink", own_settings.metrics_port_sink),
        ):
            started = await StageProcess.start(stage, tmp_path / f"{stage}.log", told)
            held.push_async_callback(started.kill)
            await until(lambda port=port: ready(port), 180, f"the {stage} stage is ready; it said {started.said()}")  # type: ignore[misc]
            stages.append(started)
        yield Pipeline(own_settings, world, stages)


@asynccontextmanager
async def reader(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """The query service, and a client of it."""
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://query") as client:
            yield client


async def listing(client: httpx.AsyncClient, path: str, **parameters: str) -> list[dict[str, Any]]:
    """All items of a listing, page after page."""
    items: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await client.get(path, params={**parameters, **cursor})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        items += page["items"]
        if not page.get("next_cursor"):
            return items
        cursor = {"cursor": page["next_cursor"]}


def as_call(row: dict[str, Any]) -> Call:
    """A tool call as the service tells it, or as the graph does after `from_text`; no arguments are none at all."""
    return Call(row["tool"], row["arguments"] or {}, row["status"], row["result"])


def from_text(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the graph, where arguments and result are JSON texts."""
    texts = {name: row[name] for name in ("arguments", "result")}
    return row | {name: None if text is None else json.loads(text) for name, text in texts.items()}


async def test_the_graph_has_what_the_file_has_and_again_changes_nothing(pipeline: Pipeline, runs: list[Run]) -> None:
    """As many messages and calls as the file, in its order; each call whole; each run rated; twice is once."""
    told = await pipeline.publish()
    messages, calls = sum(len(run.said) for run in runs), sum(len(run.calls) for run in runs)
    assert (told["by_type"]["message"], told["by_type"]["tool-call"], told["skipped"]) == (messages, calls, 0)
    world = pipeline.world
    assert _count(world, "Message") == messages
    assert _count(world, "ToolCall") == calls
    assert _count(world, "ReasoningTrace") == _count(world, "Rating") == len(runs)
    for run in runs:
        assert _chain(world, run.session) == run.said
        assert _calls(world, run.session) == run.calls
        assert _rewards(world, run.session) == [run.reward]
    async with reader(pipeline.settings) as client:
        for run in runs:
            await _is_read(client, world.scope, run)
    before = world.dump()
    await pipeline.publish()
    assert world.dump() == before


def _count(world: World, label: str) -> int:
    rows = world.rows(f"MATCH (n:{label} {{scope: $scope}}) WHERE n.id IS NOT NULL AND n.at IS NOT NULL RETURN n.id")
    return len(rows)


def _chain(world: World, session: str) -> list[tuple[str, str]]:
    """Role and text of a session's messages, by FIRST_MESSAGE and NEXT_MESSAGE alone."""
    ids = world.chain(session)
    rows = world.rows(
        "MATCH (m:Message {scope: $scope}) WHERE m.id IS NOT NULL AND m.event_id IN $ids "
        "RETURN m.event_id AS id, m.role AS role, m.text AS text",
        ids=ids,
    )
    said = {row["id"]: (row["role"], row["text"]) for row in rows}
    return [said[event_id] for event_id in ids]


def _calls(world: World, session: str) -> list[Call]:
    """The calls that hang on the run, in order."""
    rows = world.rows(
        "MATCH (r:ReasoningTrace {scope: $scope})-[:HAS_TOOL_CALL]->(t:ToolCall) "
        "WHERE r.id IS NOT NULL AND r.trace_id = $session WITH DISTINCT t ORDER BY t.order "
        "RETURN t.tool AS tool, t.arguments AS arguments, t.status AS status, t.result AS result",
        session=session,
    )
    return [as_call(from_text(row)) for row in rows]


def _rewards(world: World, session: str) -> list[float]:
    """The rewards that rate the run."""
    rows = world.rows(
        "MATCH (n:Rating {scope: $scope})-[:RATES]->(r:ReasoningTrace) "
        "WHERE n.id IS NOT NULL AND r.trace_id = $session RETURN n.reward AS reward",
        session=session,
    )
    return [row["reward"] for row in rows]


async def _is_read(client: httpx.AsyncClient, scope: str, run: Run) -> None:
    """The query service tells the run as the file does: what was said, and what was called between."""
    path = f"/v1/sessions/{run.session}/messages"
    items = await listing(client, path, scope=scope, include="tool_calls")
    assert [(item["role"], item["text"]) for item in items if "role" in item] == run.said
    assert [as_call(item) for item in items if "tool" in item] == run.calls
    answer = (await client.get(f"/v1/traces/{run.session}", params={"scope": scope})).json()
    assert [as_call(call) for call in answer["tool_calls"]] == run.calls
