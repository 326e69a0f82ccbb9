"""What an extraction process is made of, put together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import structlog

from memstream.extractors.options import longest_call, options_of
from memstream.schemas.errors import LogMismatch, TopicMismatch
from memstream.schemas.topics import EVENT_TOPICS
from memstream.sealing import KeysPlace
from memstream.settings import Settings
from memstream.streams import metrics
from memstream.streams.admission import refuse
from memstream.streams.broker import wait_for_broker, watch_broker
from memstream.streams.chunk import ChunkConfig, ChunkWorker
from memstream.streams.collector import search_seldom
from memstream.streams.extract_stage import STAGE, ExtractStage
from memstream.streams.faust_source import FaustSource, SourcePlan
from memstream.streams.group import dissolve
from memstream.streams.monitor import Monitor, Readiness, unless_stopped
from memstream.streams.pool import Patience, Pool
from memstream.streams.pool_child import Worker
from memstream.streams.replay.window import Window
from memstream.streams.topics_admin import ensure_topics

log = structlog.get_logger(__name__)

_LAG_SECONDS = 2.0
_AHEAD = 400  # events read ahead: four batches, of at most a megabyte each


def group_of(settings: Settings) -> str:
    """The consumer group of the extraction stage of a lineage."""
    return f"{settings.group_prefix}.{settings.topic_prefix}.extract"


async def run_extract(settings: Settings, instance: str, stop: asyncio.Event, window: Window | None = None) -> None:
    """Run the stage until `stop`; a replay gives a window. Raises what makes it impossible to go on."""
    await run_with(settings, instance, stop, partial(ChunkWorker, config_of(settings, window or Window())))


def config_of(settings: Settings, window: Window) -> ChunkConfig:
    """What the children of a pool are told. Raises SettingsError where an extractor lacks a setting."""
    key = settings.embedder_api_key
    return ChunkConfig(
        offload_url=settings.offload_url,
        extractor=settings.extractor,
        options=options_of(settings),
        embedder=settings.embedder,
        embedder_api_key=key.get_secret_value() if key is not None else None,
        offload_threshold=settings.offload_threshold,
        window=window,
        keys=KeysPlace.of(settings),
    )


def pool_of(settings: Settings, factory: Callable[[], Worker]) -> Pool:
    """The pool of extraction processes; one that asks a model over the network gets the time for that as well."""
    patience = Patience(seconds=Patience().seconds + longest_call(settings))
    return Pool(factory, settings.extract_process_count, refuse, patience)


async def run_with(settings: Settings, instance: str, stop: asyncio.Event, factory: Callable[[], Worker]) -> None:
    """Run the stage with the workers that `factory` makes."""
    ready = Readiness("starting")
    monitor = Monitor(settings.metrics_host, settings.metrics_port_extract, STAGE, ready)
    serving = asyncio.create_task(monitor.run())
    pool = pool_of(settings, factory)
    try:
        if await unless_stopped(stop, _prepare(settings, pool, ready)):
            await _work(settings, instance, stop, pool, ready)
    finally:
        serving.cancel()
        await pool.close()


async def _prepare(settings: Settings, pool: Pool, ready: Readiness) -> None:
    """The broker, the topics and the models: all that must be there before a partition is taken."""
    ready.lacks("waiting for Kafka")
    await wait_for_broker(settings)
    made = await ensure_topics(settings)
    if made:
        log.info("topics_made", topics=made)
    ready.lacks("loading the models")
    await pool.warm_up()
    log.info("models_loaded", processes=settings.extract_process_count)
    search_seldom()


async def _work(settings: Settings, instance: str, stop: asyncio.Event, pool: Pool, ready: Readiness) -> None:
    group = group_of(settings)
    stage = ExtractStage(settings, group, pool)
    plan = SourcePlan(group, f"{group}.{instance}", tuple(EVENT_TOPICS), buffered=_AHEAD)
    source = FaustSource(settings, plan, stage.keep_only)
    ready.lacks("joining the consumer group")

    def failed(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            source.fail(error)

    working = asyncio.create_task(stage.run())
    working.add_done_callback(failed)
    watching = asyncio.create_task(_watch(source, ready))
    knocking = asyncio.create_task(watch_broker(settings, ready))
    try:
        await source.run(stage.take, stage.finish, stop)
    except (LogMismatch, TopicMismatch):
        await dissolve(settings, group)
        raise
    finally:
        ready.lacks("stopping")
        watching.cancel()
        knocking.cancel()
        working.cancel()
    await stage.close()


async def _watch(source: FaustSource, ready: Readiness) -> None:
    while True:
        if source.ready:
            ready.has()
            for (topic, partition), lag in source.lag().items():
                metrics.LAG.labels(STAGE, topic, partition).set(lag)
        await asyncio.sleep(_LAG_SECONDS if source.ready else 0.1)
