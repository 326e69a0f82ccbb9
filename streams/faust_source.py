"""All of faust in one place: batches of records out of the event topics, acked by us and by nobody else.

faust commits *acked* offsets on a timer, and its usual forms (`async for`, `take`) ack in a `finally`, before the work
is durable: with them a failing batch is lost. The form used here lost nothing under faults (tests/faults holds it):
`stream.noack().noack_take(...)` in one agent, `concurrency=1`, CrashingSupervisor, raw values, no tables. A batch is
acked as a whole, in the order of its taking, once its results are durable.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faust
import structlog
from faust import streams as faust_streams
from mode import CrashingSupervisor

from memstream.schemas.errors import FatalError, MemstreamError
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.streams.records import Record

log = structlog.get_logger(__name__)

SourcePartition = tuple[str, int]
"""A topic without its prefix, and a partition of it."""

OnAssigned = Callable[[frozenset[SourcePartition]], Awaitable[None]]

_COMMIT_SECONDS = 1.0
_POLL_RECORDS = 500
_BEAT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """Records in log order per partition. `ack` once all that they became is durable: batch by batch, in order."""

    records: tuple[Record, ...]
    ack: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """What to take: `topics` without prefix; `within` is how long a batch is waited for, `buffered` read ahead."""

    group: str
    instance: str
    topics: tuple[str, ...]
    buffered: int
    batch_size: int = 100
    within: float = 0.05


class FaustSource:
    """Batches from the event topics. One `run` in the life of a process."""

    def __init__(self, settings: Settings, plan: SourcePlan, on_assigned: OnAssigned) -> None:
        self._settings = settings
        self._prefix = f"{settings.events_prefix or settings.topic_prefix}."
        self._plan = plan
        self._on_assigned = on_assigned
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ready = False
        self._faust: Any = None

    @property
    def ready(self) -> bool:
        """Whether partitions were assigned (perhaps none)."""
        return self._ready

    def fail(self, error: BaseException) -> None:
        """Let `run` end with this error, if it is the first."""
        if not self._failure.done():
            self._failure.set_exception(error)

    def lag(self) -> dict[SourcePartition, int]:
        """Records of our partitions that are not committed yet, as far as faust has seen the log's end."""
        consumer = self._faust.consumer if self._faust is not None else None
        if consumer is None:
            return {}
        lags = {}
        for tp in consumer.assignment():
            end, done = consumer.highwater(tp), consumer._committed_offset.get(tp)  # told nowhere else
            if end is not None:
                lags[self._place(tp)] = max(end - (done or 0), 0)
        return lags

    async def run(
        self,
        take: Callable[[SourceBatch], Awaitable[None]],
        finish: Callable[[], Awaitable[None]],
        stop: asyncio.Event,
    ) -> None:
        """Give batch after batch to `take` until `stop`; then `finish` acks what is at work, and that is committed.

        Whatever goes wrong in faust or in `take` is raised. Then nothing was committed that was not acked; the process
        must end, because faust's threads may still run.
        """
        _need_compiled_streams()
        with tempfile.TemporaryDirectory(prefix="memstream-faust-") as folder:
            app = self._faust = self._app(Path(folder), take)
            await app.start()
            await self._until_stopped(app, stop)
            log.info("stopping", waiting_for="batches at work")
            await finish()
            app.conf.stream_wait_empty = False  # what only waited is not acked, and taken again next time
            await app.stop()
            if self._failure.done():
                self._failure.result()

    async def _until_stopped(self, app: Any, stop: asyncio.Event) -> None:
        asked = asyncio.ensure_future(stop.wait())
        ended = asyncio.ensure_future(app.wait_until_stopped())
        try:
            await asyncio.wait((asked, ended, self._failure), return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
        if self._failure.done():
            self._failure.result()
        if not stop.is_set():
            raise _why_crashed(app)
        ended.cancel()

    def _app(self, folder: Path, take: Callable[[SourceBatch], Awaitable[None]]) -> Any:
        settings, plan = self._settings, self._plan
        app: Any = faust.App(
            plan.group,
            **_broker_options(settings),
            datadir=str(folder),
            store="memory://",
            web_enabled=False,
            topic_allow_declare=False,
            topic_disable_leader=True,
            table_standby_replicas=0,
            agent_supervisor=CrashingSupervisor,
            stream_wait_empty=True,
            stream_buffer_maxsize=plan.buffered,
            broker_commit_interval=_COMMIT_SECONDS,
            broker_max_poll_records=_POLL_RECORDS,
            broker_session_timeout=settings.session_timeout,
            broker_heartbeat_interval=min(_BEAT_SECONDS, settings.session_timeout / 3),
            consumer_auto_offset_reset="earliest",
            consumer_group_instance_id=plan.instance,
        )
        names = [settings.topic(Topic(topic)) for topic in plan.topics]
        topic = app.topic(*names, key_serializer="raw", value_serializer="raw")

        async def extract(stream: Any) -> None:
            try:
                async for batch in self._batches(stream):
                    await take(batch)
            except Exception as error:  # goes on as it is; faust alone would only log it
                self.fail(error)
                raise

        app.agent(topic, name="extract", concurrency=1)(extract)
        app.on_partitions_assigned.connect(self._assigned, weak=False)
        return app

    async def _batches(self, stream: Any) -> AsyncIterator[SourceBatch]:
        async for events in stream.noack().noack_take(self._plan.batch_size, within=self._plan.within):
            yield SourceBatch(tuple(self._record(event.message) for event in events), _ack(stream, events))

    def _place(self, tp: Any) -> SourcePartition:
        return tp.topic.removeprefix(self._prefix), tp.partition

    def _record(self, message: Any) -> Record:
        return Record(
            topic=message.topic.removeprefix(self._prefix),
            partition=message.partition,
            offset=message.offset,
            appended_ms=round(message.timestamp * 1000),
            key=message.key,
            value=message.value,
            headers=tuple((name, value or b"") for name, value in message.headers or ()),
        )

    async def _assigned(self, _app: Any, assigned: Any, **_: Any) -> None:
        try:
            await self._on_assigned(frozenset(self._place(tp) for tp in assigned))
        except MemstreamError as error:
            self.fail(error)
            raise
        self._ready = True
        log.info("partitions_assigned", count=len(assigned))


def _ack(stream: Any, events: Sequence[Any]) -> Callable[[], Awaitable[None]]:
    async def ack() -> None:
        for event in events:
            await stream.ack(event)

    return ack


def _need_compiled_streams() -> None:
    # the pure Python stream acks what it skips during a rebalance, which loses records
    if getattr(faust_streams, "_CStreamIterator", None) is None:
        raise FatalError(
            "faust-streaming is installed without its compiled parts, and would lose records in a rebalance: "
            "install the wheel (pip install --only-binary :all: faust-streaming==0.15.3) and unset NO_CYTHON"
        )


def _why_crashed(app: Any) -> BaseException:
    reason = app.crash_reason
    return reason if reason is not None else FatalError("faust stopped by itself and did not say why")


def _broker_options(settings: Settings) -> dict[str, Any]:
    options = kafka_options(settings)
    broker = [f"kafka://{address}" for address in settings.kafka_bootstrap.split(",")]
    context = options.get("ssl_context")
    if "sasl_mechanism" in options:
        credentials: Any = faust.SASLCredentials(
            username=options["sasl_plain_username"],
            password=options["sasl_plain_password"],
            mechanism=options["sasl_mechanism"],
            ssl_context=context,
        )
        return {"broker": broker, "broker_credentials": credentials}
    if context is not None:
        return {"broker": broker, "broker_credentials": faust.SSLCredentials(context)}
    return {"broker": broker}
