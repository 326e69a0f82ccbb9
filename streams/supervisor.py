"""What watches over the stage processes: starts them, starts a failed one again, stops them together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import structlog

from memstream.schemas.errors import StackError
from memstream.settings import ENV_PREFIX, Settings
from memstream.streams.logs import configure_logs

log = structlog.get_logger(__name__)

_PAUSES = (0.5, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
_FAST_SECONDS = 60.0
_MOST_FAST_FAILURES = 8
_STOP_SECONDS = 30.0
_MOST_INSTANCES = 64


Command = Callable[[str, str], Sequence[str]]
"""The command line of a stage, under the name of an instance."""


def stage_command(stage: str, instance: str) -> Sequence[str]:
    """A stage in a process of its own, which ends when its standard input does."""
    return (sys.executable, "-m", "memstream.streams.stage", stage, "--instance", instance, "--until-eof")


class Supervisor:
    """Runs the stages given, each as a process of its own, until it is told to stop."""

    def __init__(
        self,
        settings: Settings,
        stages: Sequence[str],
        processes: int = 0,
        command: Command = stage_command,
        *,
        environment: Mapping[str, str] | None = None,
        output: IO[bytes] | None = None,
    ) -> None:
        """`environment` is added to that of the processes; what they say goes to `output`, else where ours goes."""
        self._more = dict(environment or {})
        self._output = output
        self._settings = settings
        self._stages = stages
        self._processes = processes
        self._command = command
        self._gave_up = False

    def run(self) -> int:
        """Run until SIGTERM or SIGINT. Returns the exit code: 1 where a stage could not be kept running."""
        configure_logs(self._settings, stage="supervisor")
        asyncio.run(self._run())
        return 1 if self._gave_up else 0

    async def _run(self) -> None:
        stop = asyncio.Event()
        for sign in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(sign, stop.set)
        await self.keep(stop)

    async def keep(self, stop: asyncio.Event) -> bool:
        """Keep the stages running until `stop`. False where one could not be kept running; `stop` is set then, too."""
        with contextlib.ExitStack() as held:
            instances = {stage: held.enter_context(instance_name(self._settings, stage)) for stage in self._stages}
            await asyncio.gather(*(self._keep(stage, instances[stage], stop) for stage in self._stages))
        return not self._gave_up

    async def _keep(self, stage: str, instance: str, stop: asyncio.Event) -> None:
        failures = 0
        while not stop.is_set():
            started = time.monotonic()
            code = await self._once(stage, instance, stop)
            if stop.is_set():
                return
            if time.monotonic() - started > _FAST_SECONDS:
                failures = 0
            if code >= 0:  # a process that was killed has not failed by itself
                failures += 1
            if failures == _MOST_FAST_FAILURES:
                log.critical(
                    "gave_up",
                    process=stage,
                    why=f"it failed {_MOST_FAST_FAILURES} times in a row within {_FAST_SECONDS:.0f} s of its start: "
                    "its last lines above say why. Nothing is lost; start the worker again when that is mended",
                )
                self._gave_up = True
                stop.set()
                return
            pause = _PAUSES[min(failures, len(_PAUSES) - 1)]
            log.warning("starting_again", process=stage, exit_code=code, in_seconds=pause)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await stop.wait()

    async def _once(self, stage: str, instance: str, stop: asyncio.Event) -> int:
        """Run a stage to its end, or to ours."""
        process = await asyncio.create_subprocess_exec(
            *self._command(stage, instance),
            stdin=asyncio.subprocess.PIPE,  # its lifeline: it stops when we are gone
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,  # Ctrl-C is for us to pass on
            env=self._environment(),
        )
        log.info("started", process=stage, pid=process.pid, instance=instance)
        ended, asked = asyncio.ensure_future(process.wait()), asyncio.ensure_future(stop.wait())
        await asyncio.wait((ended, asked), return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if not ended.done():
            await _stop(process, stage)
        return await ended

    def _environment(self) -> dict[str, str]:
        environment = {**os.environ, f"{ENV_PREFIX}DATA_DIR": str(self._settings.data_dir)}
        if self._processes:
            environment[f"{ENV_PREFIX}EXTRACT_PROCESSES"] = str(self._processes)
        return environment | self._more


async def _stop(process: asyncio.subprocess.Process, stage: str) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        log.critical("killed", process=stage, why=f"it did not stop within {_STOP_SECONDS:.0f} s")
        with contextlib.suppress(ProcessLookupError):
            process.kill()


@contextlib.contextmanager
def instance_name(settings: Settings, stage: str) -> Iterator[str]:
    """A name that no other worker on this data directory has now, and that this one has again after a restart.

    Kafka knows members of a group by it: one that comes back under its name gets its partitions without a rebalance.
    """
    folder = settings.data_dir / "run"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(_MOST_INSTANCES):
        lock = _lock(folder / f"worker-{settings.group_prefix}-{settings.topic_prefix}-{stage}-{number}.lock")
        if lock is not None:
            try:
                yield f"{socket.gethostname()}-{number}"
            finally:
                os.close(lock)
            return
    raise StackError(f"{_MOST_INSTANCES} workers of the {stage} stage run here already")


def _lock(path: Path) -> int | None:
    """Hold a file until its descriptor is closed or the process ends; None if another process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
