"""What a sink process is made of, put together."""

from __future__ import annotations

import asyncio
from functools import partial

import structlog

from memstream.extractors.vectors.dims import dimensions_of
from memstream.schemas.errors import LogMismatch, TopicMismatch
from memstream.sealing import open_keys
from memstream.settings import Settings
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.migrations import migrate
from memstream.sinks.stores import Store, Stores
from memstream.streams.broker import wait_for_broker, watch_broker
from memstream.streams.collector import search_seldom
from memstream.streams.group import dissolve
from memstream.streams.letter_watch import watch_letters
from memstream.streams.monitor import Monitor, Readiness, unless_stopped
from memstream.streams.persistence import Persistence
from memstream.streams.sink_loop import SinkLoop
from memstream.streams.sink_partition import STAGE
from memstream.streams.topics_admin import ensure_topics

log = structlog.get_logger(__name__)


def group_of(settings: Settings) -> str:
    """The consumer group of the sink of a lineage."""
    return f"{settings.group_prefix}.{settings.topic_prefix}.sink"


async def run_sink(settings: Settings, instance: str, stop: asyncio.Event) -> None:
    """Run the sink until `stop`. Raises what makes it impossible to go on."""
    ready = Readiness("starting")
    monitor = Monitor(settings.metrics_host, settings.metrics_port_sink, STAGE, ready)
    serving = asyncio.create_task(monitor.run())
    try:
        with Stores.connect(settings) as stores:
            [store] = stores.all()
            if await unless_stopped(stop, _prepare(settings, store, ready)):
                ready.lacks("joining the consumer group")
                worker = f"{group_of(settings)}.{instance}"
                graph = GraphSink(store.driver, store.database, worker, keys=open_keys(settings))
                knocking = asyncio.create_task(watch_broker(settings, ready))
                counting = asyncio.create_task(watch_letters(settings))
                search_seldom()
                try:
                    await SinkLoop(settings, group_of(settings), instance, graph, ready).run(stop)
                except (LogMismatch, TopicMismatch):
                    await dissolve(settings, group_of(settings))
                    raise
                knocking.cancel()
                counting.cancel()
    finally:
        serving.cancel()


async def _prepare(settings: Settings, store: Store, ready: Readiness) -> None:
    """The broker, the topics and the graph's constraints and indexes: all that must be there before the first patch."""
    ready.lacks("waiting for Kafka")
    await wait_for_broker(settings)
    made = await ensure_topics(settings)
    if made:
        log.info("topics_made", topics=made)
    ready.lacks("waiting for Neo4j")
    await Persistence(STAGE, ready).insist(
        partial(migrate, store.driver, store.database, dimensions_of(settings.embedder))
    )
