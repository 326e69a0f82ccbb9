"""Replays as a person runs them, into a Neo4j of their own, and what came out."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from left_over import ends_with_test
from neo4j import Driver, GraphDatabase
from own_neo4j import OwnNeo4j
from sink_patches import Told as Say
from stage_processes import environment, until

from memstream.schemas.topics import record_key
from memstream.settings import Settings
from memstream.sinks.export.graph import export_lines
from memstream.sinks.migrations import migrate
from memstream.sinks.wipe import wipe

PLUGIN = Path(__file__).parent / "replay_plugin"
COUNT = "MATCH (e:Event) WHERE e.scope STARTS WITH $scope AND e.event_id IS NOT NULL RETURN count(e) AS n"
OFFSETS = "MATCH (o:StreamOffset) WHERE o.topic = $topic AND o.offset IS NOT NULL RETURN sum(o.offset + 1) AS n"


@dataclass
class Told:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def summary(self) -> dict[str, Any]:
        """What `--json` printed."""
        found: dict[str, Any] = json.loads(self.out)
        return found


@dataclass
class Graph:
    """One of the two graphs of a test."""

    driver: Driver
    database: str

    @classmethod
    def of(cls, settings: Settings) -> Graph:
        """The graph that settings name."""
        return cls(GraphDatabase.driver(settings.neo4j_uri, auth=settings.neo4j_auth), settings.neo4j_database)

    def rows(self, text: str, **parameters: Any) -> list[dict[str, Any]]:
        """Rows of a query."""
        result = self.driver.execute_query(text, parameters, database_=self.database)
        return [dict(record) for record in result.records]

    def events(self, scope: str) -> int:
        """Events of scopes that begin so."""
        return int(self.rows(COUNT, scope=scope)[0]["n"])

    def applied(self, topic: str) -> int:
        """Records of a topic that the graph has gone past."""
        return int(self.rows(OFFSETS, topic=topic)[0]["n"])

    def dumps(self, scopes: list[str]) -> dict[str, list[str]]:
        """The canonical form of scopes."""
        return {
            scope: [line.text.decode() for line in export_lines(self.driver, self.database, scope)] for scope in scopes
        }

    def empty(self) -> None:
        """Remove all of it (for a database of the test's own)."""
        migrate(self.driver, self.database)
        wipe(self.driver, self.database)
        self.rows("MATCH (v:SchemaVersion) REMOVE v.replay")

    async def until(self, scope: str, count: int, patience: float = 240) -> None:
        """Wait for at least so many events."""

        async def enough() -> bool:
            return await asyncio.to_thread(self.events, scope) >= count

        await until(enough, patience, f"{count} events in the graph", every=0.3)


def env_of(settings: Settings, own: OwnNeo4j, **more: str) -> dict[str, str]:
    """The environment of a replay from a test's lineage, its second Neo4j being `own`; both extractors are there."""
    told = environment(settings, **more)
    told["PYTHONPATH"] = os.pathsep.join((told["PYTHONPATH"], str(PLUGIN)))
    return {**told, "MEMSTREAM_TARGET_USER": "neo4j", "MEMSTREAM_TARGET_PASSWORD": own.password, "COLUMNS": "200"}


async def start(env: dict[str, str], *words: str) -> asyncio.subprocess.Process:
    """Start a command of `memstream`."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "memstream.cli",
        *words,
        stdout=pipe,
        stderr=pipe,
        stdin=asyncio.subprocess.DEVNULL,
        env=env,
    )
    ends_with_test(process)
    return process


async def ended(process: asyncio.subprocess.Process, patience: float = 400) -> Told:
    """Wait for its end."""
    async with asyncio.timeout(patience):
        out, err = await process.communicate()
    return Told(process.returncode or 0, out.decode(), err.decode())


async def memstream(env: dict[str, str], *words: str) -> Told:
    """Run a command of `memstream` to its end."""
    return await ended(await start(env, *words))


def story(scope: str, numbers: range) -> list[tuple[bytes, bytes]]:
    """Patches of people who move about, in a few scopes."""
    made = []
    for n in numbers:
        told = Say(f"{scope}/{n % 4}", f"e{n}", n, session=f"s{n % 3}").message(f"text {n}")
        told.mention(f"Person {n % 5}").lives(f"Person {n % 5}", f"Town {n % 7}")
        patch = told.patch()
        made.append((record_key(patch.origin.scope), patch.encode()))
    return made


def scopes_of(scope: str) -> list[str]:
    """The scopes of the story."""
    return [f"{scope}/{n}" for n in range(4)]
