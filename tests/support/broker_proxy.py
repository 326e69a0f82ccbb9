"""A line to the real broker that a test can cut: connections refused, frozen, or with the answers held back."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from aiokafka.structs import BrokerMetadata

from memstream.client import AsyncPublisher
from memstream.client.producer import AbandonableProducer


class BrokerProxy:
    """Listens on a port of its own and passes bytes to the broker and back, while it is told to."""

    def __init__(self, broker: str) -> None:
        host, _, port = broker.partition(":")
        self._target = (host, int(port))
        self._server: asyncio.Server | None = None
        self._open = asyncio.Event()
        self._answers = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._open.set()
        self._answers.set()
        self.port = 0

    @property
    def address(self) -> str:
        """What a client connects to."""
        return f"127.0.0.1:{self.port}"

    async def up(self) -> None:
        """Listen, on the same port as before."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def down(self) -> None:
        """Refuse connections and drop those there are."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def freeze(self) -> None:
        """Pass nothing on, as a network that drops packets."""
        self._open.clear()

    def hold_answers(self) -> None:
        """Let the broker hear, and nobody hear of it."""
        self._answers.clear()

    def thaw(self) -> None:
        """Pass everything on again."""
        self._open.set()
        self._answers.set()

    async def __aenter__(self) -> Self:
        await self.up()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.down()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            broker_reader, broker_writer = await asyncio.open_connection(*self._target)
            self._writers |= {writer, broker_writer}
            ways = [self._pass(reader, broker_writer, None), self._pass(broker_reader, writer, self._answers)]
            await asyncio.wait([asyncio.ensure_future(way) for way in ways], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            pass
        finally:
            for end in (writer, broker_writer):
                end.transport.abort()
                self._writers.discard(end)

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: asyncio.Event | None
    ) -> None:
        try:
            while data := await reader.read(65_536):
                await self._open.wait()
                if gate is not None:
                    await gate.wait()
                writer.write(data)
                await writer.drain()
        except (ConnectionError, OSError):
            return


class ProxiedPublisher(AsyncPublisher):
    """A publisher whose connections all go through a proxy, whatever address the broker advertises."""

    def __init__(self, proxy: BrokerProxy, scope: str, **arguments: Any) -> None:
        super().__init__(scope, **arguments)
        self._proxy = proxy

    def _make(self) -> AbandonableProducer:
        producer = super()._make()
        port = self._proxy.port
        producer.client.cluster.broker_metadata = lambda node: BrokerMetadata(node, "127.0.0.1", port, None)
        return producer
