"""A world of its own for one measurement: topics, groups, ports, a data folder, processes. Gone afterwards."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from benchmarks.texts import scopes_below
from benchmarks.wipe import wipe
from memstream.deploy.apps import EXTRACT, QUERY, SINK, app_parts
from memstream.deploy.backends import died
from memstream.deploy.ports import any_free
from memstream.deploy.processes import ProcessTable
from memstream.deploy.waiting import until_healthy
from memstream.settings import Settings, load
from memstream.settings.model import ENV_PREFIX
from memstream.streams.topics_admin import create_topics, delete_topics


@dataclass(frozen=True, slots=True)
class Lineage:
    """Settings that nothing else on this machine has, and the processes that were started with them."""

    settings: Settings
    root: str
    processes: ProcessTable

    async def start(self, *parts: str) -> None:
        """Start parts (of deploy.apps) with `memstream …`, as a person would, and wait until they say that they work.

        Raises StackError with the end of the log of a part that does not.
        """
        settings = self.settings
        ports = {
            EXTRACT: settings.metrics_port_extract,
            SINK: settings.metrics_port_sink,
            QUERY: settings.query_port,
        }
        own = environment(settings)
        specs = [
            replace(spec, env={**own, **spec.env}) for spec in app_parts(settings, ports) if spec.name in set(parts)
        ]
        for spec in specs:
            self.processes.start(spec)
        await asyncio.gather(
            *(
                until_healthy(
                    spec.name, spec.health, partial(died, self.processes, spec.name), spec.start_timeout, _say_nothing
                )
                for spec in specs
            )
        )

    def stop(self, *parts: str) -> None:
        """Stop parts; without names all of them, the latest first."""
        for name in parts or [record.name for record in reversed(self.processes.records())]:
            self.processes.stop(name)


@asynccontextmanager
async def lineage(stack: Settings, **fields: Any) -> AsyncIterator[Lineage]:
    """Topics on the stack's Kafka, a root for scopes in its Neo4j; `fields` are further settings.

    At the end all processes are stopped, the topics deleted, and the scopes below the root wiped.
    """
    token = f"bench{secrets.token_hex(4)}"
    folder = Path(tempfile.mkdtemp(prefix="memstream-bench-"))
    settings = load(
        **{name: getattr(stack, name) for name in stack.model_fields_set if name.startswith(("kafka_", "neo4j_"))},
        data_dir=folder,
        offload_url=(folder / "offload").as_uri(),
        topic_prefix=token,
        group_prefix=token,
        metrics_port_extract=any_free(),
        metrics_port_sink=any_free(),
        query_port=any_free(),
        log_level="warning",
        **fields,
    )
    made = Lineage(settings, f"benchmarks/{token}", ProcessTable(folder / "run", folder / "logs"))
    try:
        await create_topics(settings)
        yield made
    finally:
        await asyncio.to_thread(made.stop)
        await delete_topics(settings)
        await asyncio.to_thread(wipe, settings, scopes_below(made.root))
        shutil.rmtree(folder, ignore_errors=True)


def environment(settings: Settings) -> dict[str, str]:
    """What a process must be told to have these settings."""
    told = {name: getattr(settings, name) for name in settings.model_fields_set}
    return {f"{ENV_PREFIX}{name.upper()}": _text(value) for name, value in told.items() if value is not None}


def _text(value: Any) -> str:
    return str(value.get_secret_value() if isinstance(value, SecretStr) else value)


def _say_nothing(part: str, text: str) -> None:
    del part, text
