"""`memstream resolve` and `review`, as docs/resolution.md has them, through real workers, the real broker and Neo4j."""

from __future__ import annotations

import asyncio
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from neo4j import AsyncDriver
from stage_processes import StageProcess, all_ready, environment, until

from memstream.client import AsyncPublisher
from memstream.settings import Settings
from memstream.streams.topics_admin import create_topics

DOCUMENT = (Path(__file__).parents[2] / "docs" / "resolution.md").read_text(encoding="utf-8")
DOCUMENTED = "acme/user-42"
PEOPLE = ("Robert Hale", "Bob Hale", "P. Nadar", "Priya Nadar", "Ada Lund", "Ada Lund Holm")
PAIRS = """
MATCH (a:Entity {scope: $scope})-[r:SAME_AS]->(b:Entity) WHERE a.id IS NOT NULL
RETURN a.name AS a, b.name AS b, r.status AS status, coalesce(r.derived, false) AS derived
"""
HALE, NADAR, LUND = "Bob Hale, Robert Hale", "P. Nadar, Priya Nadar", "Ada Lund, Ada Lund Holm"


class Shell:
    """Runs commands of `memstream` as this test's processes have it, and looks at the pairs of its scope."""

    def __init__(self, settings: Settings, driver: AsyncDriver, scope: str, env: dict[str, str]) -> None:
        self.settings = settings
        self.scope = scope
        self.env = env
        self._driver = driver

    async def run(self, *words: str) -> Any:
        """What a command prints with --json."""
        as_json = () if "--json" in words else ("--json",)
        command = [sys.executable, "-m", "memstream.cli", *words, *as_json]
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, env=self.env, timeout=180, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stdout} {done.stderr}"
        return orjson.loads(done.stdout)

    async def pairs(self) -> dict[str, tuple[str, bool]]:
        """Status and whether it is derived, by the names of the pair."""
        found = await self._driver.execute_query(PAIRS, {"scope": self.scope}, database_=self.settings.neo4j_database)
        return {", ".join(sorted((row["a"], row["b"]))): (row["status"], row["derived"]) for row in found.records}

    async def come_to(self, wanted: dict[str, tuple[str, bool]]) -> None:
        """Wait until these are the pairs."""

        async def there() -> bool:
            return await self.pairs() == wanted

        await until(there, 90, f"the pairs are {wanted}")


@pytest.fixture
async def shell(own_settings: Settings, driver: AsyncDriver, scope: str, tmp_path: Path) -> AsyncIterator[Shell]:
    """Workers and a query service of this test, and commands beside them."""
    await create_topics(own_settings)
    env = environment(
        own_settings,
        MEMSTREAM_QUERY_PORT=str(own_settings.query_port),
        MEMSTREAM_QUERY_URL=f"http://127.0.0.1:{own_settings.query_port}",
        MEMSTREAM_EXTRACT_PROCESSES="1",
    )
    workers = await StageProcess.supervised(tmp_path / "workers.log", env)
    served = await StageProcess.command(("serve",), tmp_path / "serve.log", env)
    await all_ready(own_settings, workers, served)
    yield Shell(own_settings, driver, scope, env)
    assert [await workers.stop(), await served.stop()] == [0, -signal.SIGTERM]
    for label in ("Event", "Entity"):
        text = f"MATCH (n:{label} {{scope: $scope}}) WHERE n.id IS NOT NULL DETACH DELETE n"
        await driver.execute_query(text, {"scope": scope}, database_=own_settings.neo4j_database)


def documented(command: str, scope: str, pair: str = "") -> list[str]:
    """A command of the page as it stands there, with the scope of the test, and one of its pairs."""
    found = re.findall(rf"^memstream ({command}.*)$", DOCUMENT, re.MULTILINE)
    assert found, f"the page has no `memstream {command}`"
    words = shlex.split(found[0], comments=True)
    return [scope if word == DOCUMENTED else pair if re.fullmatch("[0-9a-f]{12}", word) else word for word in words]


async def test_likely_pairs_are_decided_by_a_person_and_stay_decided(shell: Shell) -> None:
    """Found, shown, accepted and rejected: by events of the log, after which resolution has nothing to say of them."""
    async with AsyncPublisher(shell.scope, settings=shell.settings, source="tests") as publisher:
        for name in PEOPLE:
            await publisher.entity(name, "Person", id=f"entity {name}")
        await publisher.flush()
    await _named(shell, len(PEOPLE))
    dry = await shell.run(*documented("resolve.*--dry-run", shell.scope))
    assert [(row["entities"], row["accepted"], row["proposed"], len(row["pairs"])) for row in dry] == [(6, 1, 2, 3)]
    assert await shell.pairs() == {}
    await shell.run(*documented("resolve", shell.scope))
    found = {HALE: ("accepted", True), NADAR: ("proposed", True), LUND: ("proposed", True)}
    await shell.come_to(found)
    listed = {
        ", ".join(sorted((row["a"]["name"], row["b"]["name"]))): row
        for row in await shell.run(*documented("review list", shell.scope))
    }
    assert {name: row["status"] for name, row in listed.items()} == {NADAR: "proposed", LUND: "proposed"}
    assert all(row["reason"] for row in listed.values())
    await shell.run(*documented("review accept", shell.scope, listed[NADAR]["id"]))
    said = await shell.run(*documented("review reject", shell.scope, listed[LUND]["id"]))
    assert said["same"] is False
    await shell.come_to({HALE: ("accepted", True), NADAR: ("accepted", False)})
    again = await shell.run("resolve", "--scope", shell.scope)
    assert [row["changed"] for row in again] == [0]
    assert await shell.run("review", "list", "--scope", shell.scope) == []
    [joined] = await shell.run("review", "list", "--scope", shell.scope, "--joined")
    entity = await shell.run("entity", "Priya Nadar", "--scope", shell.scope)
    assert [other["name"] for other in entity["entities"][0]["same_as"]] == ["P. Nadar"]
    await shell.run("review", "reject", joined["id"], "--scope", shell.scope, "--wait", "60")
    await shell.come_to({NADAR: ("accepted", False)})


async def _named(shell: Shell, count: int) -> None:
    """Wait until the graph has so many entities."""

    async def there() -> bool:
        found = await shell._driver.execute_query(
            "MATCH (e:Entity {scope: $scope}) WHERE e.norm >= '' AND e.at IS NOT NULL RETURN count(e) AS n",
            {"scope": shell.scope},
            database_=shell.settings.neo4j_database,
        )
        return bool(found.records[0]["n"] >= count)

    await until(there, 120, f"{count} entities")
