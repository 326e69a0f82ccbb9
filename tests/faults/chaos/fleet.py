"""The workers and the query service, as a person starts them: several of each stage, found again, killed, paused."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import psutil

from memstream.deploy.health import http_health
from memstream.deploy.ports import any_free
from memstream.deploy.processes import PartSpec, ProcessTable
from memstream.settings import ENV_PREFIX, Settings

PLUGIN = Path(__file__).parents[1] / "plugin"
STAGES = ("extract", "sink")
_STARTED_WITHIN = 400.0  # a Neo4j that has just begun takes its time over the indexes


def environment(settings: Settings, more: Mapping[str, str]) -> dict[str, str]:
    """What a process must be told to have these settings, and the extractor that knows chaos."""
    told = {name: getattr(settings, name) for name in settings.model_fields_set}
    own = {
        f"{ENV_PREFIX}{name.upper()}": str(value.get_secret_value() if hasattr(value, "get_secret_value") else value)
        for name, value in told.items()
        if value is not None
    }
    return {
        **own,
        f"{ENV_PREFIX}EXTRACTOR": "chaos",
        f"{ENV_PREFIX}EMBEDDER": "none",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(PLUGIN), os.environ.get("PYTHONPATH")))),
        **more,
    }


class Fleet:
    """Processes of one lineage. Workers are named `extract-1`, `sink-2`, …; the service is `query`."""

    def __init__(self, settings: Settings, folder: Path, env: Mapping[str, str]) -> None:
        self._settings = settings
        self._env = dict(env)
        self._table = ProcessTable(folder / "run", folder / "logs")
        self._ports: dict[str, int] = {}
        self.folder = folder

    def names(self, stage: str) -> list[str]:
        """The workers of a stage that were started and not removed."""
        return sorted(name for name in self._ports if name.startswith(f"{stage}-"))

    def start(self, stage: str) -> str:
        """Start one more worker of a stage; returns its name."""
        number = next(n for n in range(1, 100) if f"{stage}-{n}" not in self._ports)
        name, port = f"{stage}-{number}", any_free()
        variable = f"{ENV_PREFIX}METRICS_PORT_{stage.upper()}"
        self._run(name, ("worker", "--stage", stage), port, {variable: str(port)})
        return name

    def serve(self) -> None:
        """Start the query service."""
        self._run("query", ("serve",), self._settings.query_port, {})

    def _run(self, name: str, words: tuple[str, ...], port: int, more: Mapping[str, str]) -> None:
        self._ports[name] = port
        env = environment(self._settings, {**self._env, **more})
        health = partial(http_health, f"http://127.0.0.1:{port}/ready")
        self._table.start(PartSpec(name, (sys.executable, "-m", "memstream.cli", *words), health, env=env))

    def stop(self, name: str) -> None:
        """End a worker as a person would: SIGTERM, and its stage finishes what is at work."""
        self._table.stop(name)
        self._ports.pop(name, None)

    def close(self) -> None:
        """Stop all, the paused ones as well."""
        for name in list(self._ports):
            for process in self._members(name):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()
            self.stop(name)

    async def ready(self, name: str, patience: float) -> bool:
        """Whether a part says within some seconds that it does its work."""
        deadline = asyncio.get_running_loop().time() + patience
        while name in self._ports:
            if await http_health(f"http://127.0.0.1:{self._ports[name]}/ready") is None:
                return True
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(0.3)
        return False

    async def all_ready(self) -> None:
        """Wait until every part works."""
        for name in list(self._ports):
            assert await self.ready(name, _STARTED_WITHIN), f"{name} is not ready; it said {self.tail(name)}"

    def stage_of(self, name: str) -> psutil.Process | None:
        """The process at work under a worker's supervisor; the service itself for `query`."""
        if name == "query":
            return self._table.process(name)
        return next(iter(self._with(name, "memstream.streams.stage")), None)

    def children_of(self, name: str) -> list[psutil.Process]:
        """The extraction processes of a worker."""
        return self._with(name, "memstream.streams.pool_child")

    def forget(self, name: str) -> None:
        """What ran under this name was killed: it may be started again."""
        self._table.stop(name)
        self._ports.pop(name, None)

    def tail(self, name: str, lines: int = 15) -> str:
        """The end of a part's log."""
        return self._table.tail(name, lines)

    def _with(self, name: str, module: str) -> list[psutil.Process]:
        found = []
        for process in self._members(name):
            with contextlib.suppress(psutil.NoSuchProcess):
                if module in process.cmdline():
                    found.append(process)
        return found

    def _members(self, name: str) -> list[psutil.Process]:
        leader = self._table.process(name)
        if leader is None:
            return []
        with contextlib.suppress(psutil.NoSuchProcess):
            return [leader, *leader.children(recursive=True)]
        return []


def alive(process: psutil.Process | None) -> bool:
    """Whether a process is there and not only waiting to be reaped."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process is not None and process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
