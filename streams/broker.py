"""Kafka's clients as this package makes them, and waiting for a broker that is not there yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from memstream.schemas.errors import BrokerUnavailable
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.streams.monitor import Readiness

log = structlog.get_logger(__name__)

_CONNECT_TIMEOUT = 5.0
_LONGEST_PAUSE = 10.0
_KNOCK_SECONDS = 5.0
_WHAT = "kafka"


@asynccontextmanager
async def admin_client(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    """An admin client that is started and closed again.

    Raises BrokerUnavailable where no broker answers, and for every error of Kafka's inside the block.
    """
    # ask the port first: the client would log an error of its own for each refusal
    if (reason := await unreachable(settings)) is not None:
        raise BrokerUnavailable(reason)
    client = AIOKafkaAdminClient(**kafka_options(settings), request_timeout_ms=30_000)
    try:
        await client.start()
        yield client
    except KafkaError as error:
        raise BrokerUnavailable(
            f"Kafka at {settings.kafka_bootstrap} answers with {type(error).__name__}: {error}. "
            "Check MEMSTREAM_KAFKA_BOOTSTRAP and the security settings."
        ) from error
    finally:
        await client.close()


async def unreachable(settings: Settings) -> str | None:
    """None if some broker's port takes connections, else what to tell a person."""
    for address in settings.kafka_bootstrap.split(","):
        host, _, port = address.rpartition(":")
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT):
                _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        except (OSError, TimeoutError):
            continue
        writer.close()
        return None
    return (
        f"Kafka does not answer at {settings.kafka_bootstrap}: start it with `memstream up`, "
        "or set its address in MEMSTREAM_KAFKA_BOOTSTRAP"
    )


async def watch_broker(settings: Settings, ready: Readiness) -> None:
    """Knock at the broker's port for as long as this runs: a stage that can't reach it is not ready."""
    while True:
        reason = await unreachable(settings)
        if reason is None:
            ready.has(_WHAT)
        else:
            ready.lacks(reason, _WHAT)
        await asyncio.sleep(_KNOCK_SECONDS)


async def wait_for_broker(settings: Settings) -> None:
    """Return when a broker can be reached; until then say so, again and again, ever more seldom."""
    pause, waited = 0.5, False
    while (reason := await unreachable(settings)) is not None:
        log.warning("waiting_for_kafka", reason=reason, next_try_seconds=pause)
        waited = True
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
    if waited:
        log.info("kafka_answers", bootstrap=settings.kafka_bootstrap)
