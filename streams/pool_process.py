"""One child of the pool, seen from its parent: start, exchange, end."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import sys
from collections.abc import Callable
from typing import Any

from memstream.schemas.errors import FatalError
from memstream.streams.pool_child import BROKEN, LENGTH_BYTES, READY, Worker, frame

_BUFFER = 4 * 2**20
_LOAD_SECONDS = 180.0
_END_SECONDS = 3.0


class ChildLost(Exception):
    """A child died, or was killed because it did not answer in time. `how` says which."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


class PoolProcess:
    """A running child. After ChildLost or a cancelled exchange it is dead: start another."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @classmethod
    async def start(cls, factory: Callable[[], Worker]) -> PoolProcess:
        """Start a child and wait until its worker is loaded.

        Raises FatalError with the child's traceback where the worker can't be loaded, ChildLost where it died.
        """
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "memstream.streams.pool_child",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_BUFFER,
        )
        child = cls(process)
        kind, said = await child.exchange(factory, _LOAD_SECONDS)
        if kind != READY:
            await child.end()
            raise FatalError(f"An extraction process can't load its models: {said}")
        return child

    async def exchange(self, value: Any, patience: float) -> tuple[str, Any]:
        """Send a value and wait for the answer, at most `patience` seconds. After ChildLost the child is dead."""
        try:
            async with asyncio.timeout(patience):
                return await self._exchange(value)
        except TimeoutError:
            await self._kill()
            raise ChildLost(f"did not answer within {patience:.0f} s and was killed") from None
        except (OSError, asyncio.IncompleteReadError):
            await self._kill()
            raise ChildLost(f"died (exit code {self._process.returncode})") from None
        except asyncio.CancelledError:
            await self._kill()  # its answer would be taken for the next one's
            raise

    async def end(self) -> None:
        """Close its input, at which it ends; kill it where it does not."""
        assert self._process.stdin is not None  # noqa: S101 - it was started with a pipe
        self._process.stdin.close()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await self._process.wait()
        except TimeoutError:
            await self._kill()

    async def _exchange(self, value: Any) -> tuple[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None  # noqa: S101, PT018 - it was started with pipes
        stdin.write(frame(value))
        await stdin.drain()
        length = int.from_bytes(await stdout.readexactly(LENGTH_BYTES), "big")
        answer: tuple[str, Any] = pickle.loads(await stdout.readexactly(length))  # noqa: S301 - from our child
        return answer

    async def _kill(self) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        await self._process.wait()


__all__ = ["BROKEN", "ChildLost", "PoolProcess"]
