"""A Neo4j of a test's own, by the means of the local stack: it may be stopped, copied, put back and wiped."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from pydantic import SecretStr

from memstream.deploy import neo4j
from memstream.deploy.backends import died
from memstream.deploy.health import neo4j_health
from memstream.deploy.jars import resolve_jars
from memstream.deploy.java import need_java
from memstream.deploy.ports import any_free
from memstream.deploy.processes import ProcessTable
from memstream.deploy.waiting import until_healthy
from memstream.settings import Settings

_SMALL = {"-Xms1g": "-Xms256m", "-Xmx1536m": "-Xmx512m"}
_PATIENCE = 180.0


@dataclass
class OwnNeo4j:
    """One Neo4j below a folder. `settings` are the stack's with this one in its place."""

    stack: Settings
    folder: Path
    password: str = field(default_factory=lambda: secrets.token_hex(8))
    ports: tuple[int, int] = field(default_factory=lambda: (any_free(), any_free()))

    def __post_init__(self) -> None:
        self.table = ProcessTable(self.folder / "run", self.folder / "logs")
        java = need_java(_say, False).java
        jars = resolve_jars(self.stack.jars_dir, neo4j.NAME, need_java(_say, False), partial(_say, neo4j.NAME))
        self.plan = neo4j.Neo4jPlan(self.folder / neo4j.NAME, jars, java, *self.ports)

    @property
    def uri(self) -> str:
        """Its address."""
        return self.plan.address

    @property
    def settings(self) -> Settings:
        """The stack's settings with this database."""
        return self.at(self.stack)

    def at(self, settings: Settings) -> Settings:
        """Other settings with this database."""
        own = {"neo4j_uri": self.uri, "neo4j_user": "neo4j", "neo4j_password": SecretStr(self.password)}
        return settings.model_copy(update=own)

    @property
    def env(self) -> dict[str, str]:
        """What tells a process to use it."""
        own = {"URI": self.uri, "USER": "neo4j", "PASSWORD": self.password}
        return {f"MEMSTREAM_NEO4J_{name}": value for name, value in own.items()}

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        await asyncio.to_thread(neo4j.prepare, self.plan, self.password)
        health = partial(neo4j_health, self.settings)
        spec = neo4j.part(self.plan, health)
        small = tuple(_SMALL.get(word, word) for word in spec.argv)
        self.table.start(replace(spec, argv=small))
        await until_healthy(neo4j.NAME, health, partial(died, self.table, neo4j.NAME), _PATIENCE, _say)

    async def stop(self) -> None:
        """Stop it cleanly; its data stays."""
        await asyncio.to_thread(self.table.stop, neo4j.NAME)

    async def keep_copy(self) -> Path:
        """Copy its store, while it is stopped."""
        copy = self.folder / f"copy-{secrets.token_hex(4)}"
        await asyncio.to_thread(shutil.copytree, self.plan.home / "data", copy)
        return copy

    async def put_back(self, copy: Path) -> None:
        """Put its store back to a copy, while it is stopped."""
        await asyncio.to_thread(shutil.rmtree, self.plan.home / "data")
        await asyncio.to_thread(shutil.copytree, copy, self.plan.home / "data")


def _say(part: str, text: str = "") -> None:
    del part, text
