"""Stage processes and their supervisor, for tests that kill them."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
from left_over import ends_with_test

from memstream.settings import Settings

PLUGIN = Path(__file__).parents[1] / "faults" / "plugin"


def environment(settings: Settings, **more: str) -> dict[str, str]:
    """The environment of a process with these settings, as far as a test has its own, and with the faulty extractor."""
    own = {
        name: getattr(settings, name)
        for name in (
            "data_dir",
            "topic_prefix",
            "group_prefix",
            "partitions",
            "offload_url",
            "metrics_port_extract",
            "metrics_port_sink",
        )
    }
    told = {f"MEMSTREAM_{name.upper()}": str(value) for name, value in own.items()}
    path = os.pathsep.join(filter(None, (str(PLUGIN), os.environ.get("PYTHONPATH"))))
    faulty = {"MEMSTREAM_EXTRACTOR": "faulty", "MEMSTREAM_EMBEDDER": "none", "PYTHONPATH": path}
    return {**os.environ, **told, **faulty, **more}


class StageProcess:
    """A process of ours, its output in a file. It ends with its test, whatever the test does."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self.process = process
        self.log = log

    @classmethod
    async def start(cls, stage: str, log: Path, env: dict[str, str], instance: str = "0") -> StageProcess:
        """Start one stage without a supervisor; it is not ready yet."""
        return await cls._start(("memstream.streams.stage", stage, "--instance", instance), log, env)

    @classmethod
    async def supervised(cls, log: Path, env: dict[str, str], stage: str = "all") -> StageProcess:
        """Start `memstream worker`; its stages are not ready yet."""
        return await cls.command(("worker", "--stage", stage), log, env)

    @classmethod
    async def command(cls, words: tuple[str, ...], log: Path, env: dict[str, str]) -> StageProcess:
        """Start a command of `memstream`; it is not ready yet."""
        return await cls._start(("memstream.cli", *words), log, env)

    @classmethod
    async def _start(cls, words: tuple[str, ...], log: Path, env: dict[str, str]) -> StageProcess:
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", *words, stdout=output, stderr=output, env=env
            )
        ends_with_test(process)
        return cls(process, log)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.returncode is None

    async def kill(self) -> None:
        """Kill -9."""
        if self.alive:
            self.process.kill()
        await self.process.wait()

    async def stop(self, patience: float = 40.0) -> int:
        """SIGTERM, then wait: its exit code."""
        if self.alive:
            self.process.terminate()
        async with asyncio.timeout(patience):
            return await self.process.wait()

    def said(self) -> str:
        """What it has logged."""
        return self.log.read_text(errors="replace")


async def until(condition: Callable[[], Awaitable[bool]], patience: float, what: str, every: float = 0.2) -> None:
    """Wait until a condition holds. Fails after `patience` seconds, saying for what."""
    deadline = time.monotonic() + patience
    while not await condition():
        assert time.monotonic() < deadline, f"not within {patience:.0f} s: {what}"
        await asyncio.sleep(every)


async def ready(port: int) -> bool:
    """Whether the stage at this port says that it does its work."""
    try:
        async with httpx.AsyncClient(timeout=5) as client:
            return (await client.get(f"http://127.0.0.1:{port}/ready")).status_code == 200
    except httpx.HTTPError:
        return False


async def all_ready(settings: Settings, workers: StageProcess, served: StageProcess) -> None:
    """Wait until both stages and the query service do their work. Fails with what they have logged."""
    ports = (settings.query_port, settings.metrics_port_extract, settings.metrics_port_sink)

    async def each_ready() -> bool:
        return all([await ready(port) for port in ports])

    await until(each_ready, 180, f"all is ready: {workers.said()[-1000:]} {served.said()[-1000:]}")
