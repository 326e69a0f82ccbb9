"""A TCP proxy that can be taken away and brought back: so a test can lose a database that others use as well."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable


class Proxy:
    """Forwards a port of its own to a target, unless it is down."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._left: int | None = None
        self._spent = asyncio.Event()
        self.port = 0

    async def up(self, port: int = 0) -> None:
        """Listen; again on the port of before, where there was one."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port or self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def down(self) -> None:
        """Refuse new connections and break those there are."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()

    async def cut_after(self, count: int, patience: float) -> int:
        """Go down once `count` more bytes were passed to the target, or after `patience` seconds.

        Returns how many connections broke. What was on its way then is lost, as with a network that fails.
        """
        self._left = count
        self._spent.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._spent.wait()
        self._left = None
        broken = len(self._writers) // 2
        await self.down()
        return broken

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        try:
            await asyncio.gather(self._pass_on(reader, far_writer), _pump(far_reader, writer))
        finally:
            for one in (writer, far_writer):
                self._writers.discard(one)
                one.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _pump(reader, writer, self._count)

    def _count(self, size: int) -> bool:
        """Whether this much may still pass."""
        if self._left is None:
            return True
        self._left -= size
        if self._left < 0:
            self._spent.set()
        return self._left >= 0


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passes: Callable[[int], bool] = lambda _: True
) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            if not passes(len(data)):
                continue  # the line is about to break
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()
