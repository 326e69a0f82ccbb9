"""An idempotent Kafka producer that can be let go of at once.

aiokafka's own `stop` waits for everything that was handed over, and an idempotent producer tries for ever: with the
broker gone it never returns. A publisher has a deadline, so this one can be abandoned: no request of it is left in
flight afterwards, and nothing of it can reach the log behind a successor's back. It reaches into aiokafka, which is
why that is pinned; tests/integration/test_publish_outage.py holds it.
"""

from __future__ import annotations

import asyncio
import logging
from functools import lru_cache
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.conn import create_conn
from aiokafka.errors import KafkaError, NoError, UnknownTopicOrPartitionError, for_code
from aiokafka.partitioner import murmur2
from aiokafka.protocol.metadata import MetadataRequest

from memstream.schemas.topics import EVENT_TOPICS, TOPICS

MAX_REQUEST_BYTES = max(int(TOPICS[topic].broker_config()["max.message.bytes"]) for topic in EVENT_TOPICS)
BATCH_BYTES = 262_144

# where a program has configured no logging, Python prints aiokafka's warnings: a line for every attempt while the
# broker is away, of which the publisher's own error tells once. Handlers that a program does have get them all.
logging.getLogger("aiokafka").addHandler(logging.NullHandler())


class AbandonableProducer(AIOKafkaProducer):  # type: ignore[misc]
    """Idempotent, acks from all replicas, batches compressed; `abandon` ends it whatever the broker does."""

    def __init__(self, options: dict[str, Any], *, compression: str | None, linger_ms: int, timeout_ms: int) -> None:
        super().__init__(
            **options,
            acks="all",
            enable_idempotence=True,
            compression_type=compression,
            linger_ms=linger_ms,
            max_batch_size=BATCH_BYTES,
            max_request_size=MAX_REQUEST_BYTES,
            request_timeout_ms=timeout_ms,
        )
        self._requests: set[asyncio.Task[Any]] = set()
        self._send_request = self._sender._send_produce_req
        self._sender._send_produce_req = self._tracked

    async def partition_count(self, topic: str) -> int | None:
        """How many partitions a topic has, None if there is no such topic. Never creates it, as aiokafka would.

        Raises KafkaError if the broker does not answer or refuses.
        """
        answer = await self.client.send(self.client.get_random_node(), MetadataRequest([topic], False))
        for code, name, _, partitions in answer.topics:
            error = for_code(code)
            if name == topic and error is NoError and partitions:
                return len(partitions)
            if name == topic and error is not UnknownTopicOrPartitionError and error is not NoError:
                raise error(topic)
        return None

    async def abandon(self) -> None:
        """Cancel all that is in flight, drop the connections, keep nothing. Safe at any point of its life."""
        self._closed = True
        tasks = {task for task in (self._sender.sender_task, self.client._sync_task, *self._requests) if task}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self.client._sync_task = None
        for connection in list(self.client._conns.values()):
            if connection._writer is not None:
                # close() alone would first wait for a peer that may never read
                connection._writer.transport.abort()
        await self.client.close()

    async def _tracked(self, node_id: Any, batches: Any) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - aiokafka runs this as a task of its own
        self._requests.add(task)
        try:
            await self._send_request(node_id, batches)
        finally:
            self._requests.discard(task)


@lru_cache(maxsize=65_536)
def _hash(key: bytes) -> int:
    return int(murmur2(key)) & 0x7FFFFFFF


def partition_of(key: bytes, count: int) -> int:
    """The partition of a key: Kafka's default (murmur2), which all who write to and read from a lineage share."""
    return _hash(key) % count


async def why_unreachable(options: dict[str, Any], timeout_ms: int = 3_000) -> str | None:
    """What stands in the way of the first broker of the list, in the system's words; None if it answers now.

    aiokafka only logs this and raises "unable to bootstrap".
    """
    address = str(options["bootstrap_servers"]).split(",", maxsplit=1)[0]
    host, _, port = address.rpartition(":")
    rest = {name: value for name, value in options.items() if name not in {"bootstrap_servers", "client_id"}}
    try:
        connection = await create_conn(host.strip("[]"), int(port), request_timeout_ms=timeout_ms, **rest)
    except TimeoutError:
        return f"{address} does not answer"
    except (OSError, KafkaError) as error:
        return f"{address}: {error or type(error).__name__}"
    await connection.close()
    return None
