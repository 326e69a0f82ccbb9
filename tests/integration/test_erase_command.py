"""`memstream erase`, `prove-erased` and `expire`, through real workers on the real broker and Neo4j."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from neo4j import AsyncDriver
from stage_processes import StageProcess, environment, ready, until

from memstream.client import AsyncPublisher
from memstream.settings import Settings
from memstream.streams.offload import OffloadStore
from memstream.streams.topics_admin import create_topics

DOCUMENT = (Path(__file__).parents[2] / "docs" / "erasure.md").read_text(encoding="utf-8")
EVENTS = "MATCH (e:Event) WHERE e.scope STARTS WITH $scope AND e.event_id IS NOT NULL RETURN count(e) AS n"
WORK = """
MATCH (w:ErasureWork) WHERE w.scope STARTS WITH $scope AND w.id IS NOT NULL
RETURN sum(w.events) AS events, count(w.pending) AS pending
"""
LEFT = "MATCH (m:Message) WHERE m.scope STARTS WITH $scope AND m.at IS NOT NULL RETURN count(m) AS n"


class Shell:
    """Runs commands of `memstream` as this test's processes have it, and asks the graph."""

    def __init__(self, settings: Settings, driver: AsyncDriver, scope: str, folder: Path) -> None:
        self.settings = settings
        self.scope = scope
        self._driver = driver
        self._folder = folder
        self.env = environment(settings)
        self.processes: list[StageProcess] = []

    async def run(self, *words: str, code: int = 0) -> Any:
        """What a command prints with --json."""
        command = [sys.executable, "-m", "memstream.cli", *words, "--json"]
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, env=self.env, timeout=180, check=False
        )
        assert done.returncode == code, f"{words}: {done.stdout} {done.stderr}"
        return orjson.loads(done.stdout)

    async def start(self, stage: str, port: int) -> StageProcess:
        """Start a stage, and wait until it is ready."""
        made = await StageProcess.start(stage, self._folder / f"{stage}-{len(self.processes)}.log", self.env)
        self.processes.append(made)
        await until(lambda: ready(port), 150, f"{stage} is ready")
        return made

    async def one(self, text: str) -> dict[str, Any]:
        """The row of a query; `$scope` is the test's."""
        result = await self._driver.execute_query(text, {"scope": self.scope}, database_=self.settings.neo4j_database)
        return dict(result.records[0])

    async def events(self, count: int) -> None:
        """Wait until the graph has so many events."""

        async def there() -> bool:
            return bool((await self.one(EVENTS))["n"] >= count)

        await until(there, 150, f"{count} events")


@pytest.fixture
async def shell(own_settings: Settings, driver: AsyncDriver, scope: str, tmp_path: Path) -> AsyncIterator[Shell]:
    """Both stages of this test, and commands beside them."""
    await create_topics(own_settings)
    made = Shell(own_settings, driver, scope, tmp_path)
    await made.start("extract", own_settings.metrics_port_extract)
    await made.start("sink", own_settings.metrics_port_sink)
    yield made
    for process in made.processes:
        await process.kill()
    for text in ("MATCH (n:{} {{scope: $scope}}) WHERE n.id IS NOT NULL DETACH DELETE n",):
        for label in ("Message", "Conversation", "Event", "Erasure", "ErasureWork", "ToolCall", "Tool", "Entity"):
            await driver.execute_query(text.format(label), {"scope": scope}, database_=own_settings.neo4j_database)


def documented(command: str, scope: str) -> list[str]:
    """A command of docs/erasure.md as it stands there, with the scope of the test."""
    [line] = re.findall(rf"^memstream ({command}.*)$", DOCUMENT, re.MULTILINE)
    return [word.replace("acme", scope) for word in shlex.split(line)]


async def test_a_person_is_erased_below_a_scope_and_it_can_be_proven(shell: Shell) -> None:
    """Messages, a whole result in the offload store, a call: gone below the scope; the dead letter is told of."""
    below = f"{shell.scope}/a"
    whole = {"rows": [{"text": f"secret row {i}"} for i in range(2_000)]}
    async with AsyncPublisher(below, settings=shell.settings, source="tests") as publisher:
        for number in range(3):
            await publisher.message("s", "user", f"secret {number}", about="ana", id=f"m{number}")
        await publisher.message("s", "user", "kept", about="ben", id="k")
        await publisher.tool_call("c", "search", {"q": "secret"}, result=whole, session_id="s", about="ana", id="c1")
        await publisher.message("s", "user", "secret RAISE", about="ana", id="poison")
        await publisher.flush()
    await shell.events(6)
    assert len(OffloadStore(shell.settings.offload_url).all(below)) == 1
    before = await shell.run("prove-erased", "--scope", below, "--containing", "SECRET", "--no-topics", code=1)
    assert {one["place"] for one in before["found"]} == {"graph", "full text", "offload", "dead letters"}
    erased = await shell.run(*documented("erase --scope", shell.scope))
    assert erased["reached"] == 4  # the poison event has no subject that could be read
    assert sum(one["events"] for one in erased["progress"]) == 4
    assert all(one["done"] for one in await shell.run(*documented("erase --status", shell.scope)))

    async def deleted() -> bool:
        return not OffloadStore(shell.settings.offload_url).all(below)

    await until(deleted, 60, "the payload is deleted")
    proof = await shell.run(*documented("prove-erased", shell.scope), code=1)
    assert {one["place"] for one in proof["found"]} == {"dead letters"}
    assert proof["erased_events"] == 4
    assert proof["looked_at"]["nodes"] > 4
    held = {one["topic"].rpartition(".")[2]: one["held"] for one in proof["topics"]}
    assert held["conversation"] == 4
    assert held["tool-call"] == 1
    assert held["patches"] >= 4
    assert (await shell.one(LEFT))["n"] == 1


async def test_a_kill_in_the_middle_of_an_erasure_loses_nothing_of_it(shell: Shell) -> None:
    """A sink that is killed between two steps of a large erasure: the next one goes on, and all of it goes."""
    count = 900
    async with AsyncPublisher(shell.scope, settings=shell.settings, source="tests") as publisher:
        for number in range(count):
            await publisher.message("long", "user", f"secret {number}", id=f"m{number:04d}")
        await publisher.message("other", "user", "kept", id="k")
        await publisher.flush()
    await shell.events(count + 1)
    await shell.run("erase", "--scope", shell.scope, "--session", "long", "--yes")

    async def begun() -> bool:
        work = await shell.one(WORK)
        return bool(work["events"] >= 200)

    await until(begun, 90, "the erasure has begun", every=0.02)
    await shell.processes[-1].kill()
    work = await shell.one(WORK)
    assert (work["events"], work["pending"]) != (count, 0), "the erasure was faster than the kill"
    assert (await shell.one(LEFT))["n"] == count + 1 - work["events"]
    await shell.start("sink", shell.settings.metrics_port_sink)

    async def finished() -> bool:
        return await shell.one(WORK) == {"events": count, "pending": 0}

    await until(finished, 120, "the erasure is done")
    assert (await shell.one(LEFT))["n"] == 1
    proof = await shell.run("prove-erased", "--scope", shell.scope, "--containing", "secret", "--no-topics")
    assert proof["found"] == []
    assert proof["erased_events"] == count


async def test_an_entity_is_erased_by_its_name(shell: Shell) -> None:
    """All events that name it go, by their ids as well; an unknown name is an error that changes nothing."""
    async with AsyncPublisher(shell.scope, settings=shell.settings, source="tests") as publisher:
        await publisher.entity("Ines Duarte", "Person", description="secret", id="e1")
        await publisher.entity("Tom", "Person", id="e2")
        await publisher.flush()
    await shell.events(2)
    asked = ("erase", "--scope", shell.scope, "--yes", "--wait", "120", "--entity")
    erased = await shell.run(*asked, "ines duarte")
    assert (erased["reached"], len(erased["events"])) == (1, 2)
    names = await shell.one("MATCH (e:Entity {scope: $scope}) WHERE e.id IS NOT NULL RETURN collect(e.name) AS n")
    assert names == {"n": ["Tom"]}
    proof = await shell.run("prove-erased", "--scope", shell.scope, "--containing", "Ines", "--no-topics")
    assert (proof["found"], proof["erased_events"]) == ([], 1)


async def test_a_session_whose_time_is_over_expires_by_an_erasure_of_its_own(shell: Shell) -> None:
    """Counted from the last that was said in it; a session without a time to live, or within it, stays."""
    now = datetime.now(UTC)
    async with AsyncPublisher(shell.scope, settings=shell.settings, source="tests") as publisher:
        for session, seconds, age in (("over", 60, 120), ("within", 600, 120), ("for-ever", None, 9_000)):
            then = now - timedelta(seconds=age)
            await publisher.session_started(session, ttl_seconds=seconds, time=then - timedelta(seconds=60))
            await publisher.message(session, "user", f"said in {session}", time=then)
        await publisher.flush()
    await shell.events(6)
    over = await shell.run("expire", "--scope", shell.scope, "--dry-run")
    assert [one["session"] for one in over] == ["over"]
    await shell.run(*documented("expire", shell.scope))
    await shell.run(*documented("expire", shell.scope))
    await shell.events(7)

    async def gone() -> bool:
        return bool((await shell.one(LEFT))["n"] == 2)

    await until(gone, 60, "the session is gone")
    assert await shell.run("expire", "--scope", shell.scope) == []
    assert (await shell.one(EVENTS))["n"] == 7  # the same erasure twice is one event
