"""A Kafka and a Neo4j that nobody else uses, brought up by deploy's means: killing them hurts no one."""

from __future__ import annotations

import asyncio
import secrets
from functools import partial
from pathlib import Path

from pydantic import SecretStr

from memstream.deploy.backends import ProcessBackend, died
from memstream.deploy.health import kafka_health, neo4j_health
from memstream.deploy.places import BOLT, CONTROLLER, HTTP, KAFKA, Places
from memstream.deploy.ports import any_free
from memstream.deploy.processes import HealthCheck, ProcessTable
from memstream.deploy.waiting import until_healthy
from memstream.settings import Settings, load

PARTS = ("kafka", "neo4j")
_PATIENCE = 600.0  # a killed Neo4j on a machine with much else to do


class OwnStack:
    """Kafka and Neo4j in a folder of their own. `settings` name them."""

    def __init__(self, home: Path, jars: Path, partitions: int) -> None:
        self._places = Places({name: any_free() for name in (KAFKA, CONTROLLER, BOLT, HTTP)})
        self._password = secrets.token_hex(16)
        self.settings: Settings = load(
            data_dir=home,
            jars_dir=jars,
            kafka_bootstrap=f"127.0.0.1:{self._places.ports[KAFKA]}",
            neo4j_uri=f"bolt://127.0.0.1:{self._places.ports[BOLT]}",
            neo4j_user="neo4j",
            neo4j_password=SecretStr(self._password),
            partitions=partitions,
        )
        self._table = ProcessTable(home / "run", home / "logs")
        self._backend = ProcessBackend(self.settings, self._table, lambda _part, _text: None)
        self._health: dict[str, HealthCheck] = {
            "kafka": partial(kafka_health, self.settings),
            "neo4j": partial(neo4j_health, self.settings),
        }

    async def up(self, *parts: str) -> None:
        """Start parts (all without names) and wait until they answer. Raises StackError."""
        named = list(parts or PARTS)
        await asyncio.to_thread(self._backend.start, named, self._places, self._password, self._health)
        await asyncio.gather(
            *(until_healthy(p, self._health[p], partial(died, self._table, p), _PATIENCE, _silent) for p in named)
        )

    def kill(self, part: str) -> None:
        """Kill -9."""
        process = self._table.process(part)
        assert process is not None, f"{part} does not run"
        process.kill()
        process.wait(timeout=30)

    def close(self) -> None:
        """Stop both, quickly: nothing here is kept."""
        for part in reversed(PARTS):
            process = self._table.process(part)
            if process is not None:
                process.kill()
            self._table.stop(part)


def _silent(part: str, text: str) -> None:
    del part, text
