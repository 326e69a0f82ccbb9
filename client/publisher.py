"""The publisher for code with an event loop: what an agent does with memory on its hot path."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Coroutine, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

import httpx

from memstream.client.keeping import BoardMethods, StateMethods
from memstream.client.minting import Identity, Mint
from memstream.client.outbox import Outbox
from memstream.client.producer import MAX_REQUEST_BYTES, AbandonableProducer
from memstream.client.receipt import Entry, Pending, Receipt
from memstream.client.saying import ConversationMethods, FeedbackMethods, ToolMethods
from memstream.client.stating import StatementMethods
from memstream.client.visible import Visible, wait_until_visible
from memstream.schemas.cloudevents import encode
from memstream.schemas.errors import PublishError
from memstream.schemas.events import Event, recorded_at
from memstream.schemas.topics import Topic
from memstream.sealing import open_keys
from memstream.sealing.erasing import destroy_with
from memstream.sealing.events import seal_event
from memstream.settings import Settings, SettingsError, load
from memstream.settings.kafka import kafka_options

MAX_EVENTS, MAX_BYTES = 10_000, 32 * 1024 * 1024
LINGER_MS = 5


class AsyncPublisher(
    ConversationMethods[Coroutine[Any, Any, Pending]],
    ToolMethods[Coroutine[Any, Any, Pending]],
    FeedbackMethods[Coroutine[Any, Any, Pending]],
    StatementMethods[Coroutine[Any, Any, Pending]],
    BoardMethods[Coroutine[Any, Any, Pending]],
    StateMethods[Coroutine[Any, Any, Pending]],
):
    """Publishes events: one method for each type, all with the same way.

    A method checks the event and returns when it is in the buffer, with a handle; awaiting the handle gives the
    receipt. Order inside a session is the order of calls. While the buffer is full, methods wait. An event that the
    broker has not acked within `publish_timeout` seconds fails: its handle raises PublishError, and where nobody
    awaited that, so does the next call, `flush` or `close`; the error has the events, to be published again.

    `scope`, `session_id`, `agent_id` and `user_id` are defaults of its events; `source` names the publisher and
    with an event's id makes its identity. Connection, topics and deadlines come from `settings`, or by name
    (`kafka_bootstrap="kafka:9092"`, `kafka_security_protocol="SASL_SSL"`, …), else from MEMSTREAM_ variables.
    Use it as `async with`: leaving sends what is left. Not for several loops at once.

    With `settings.keys` events are sealed, each under the key of its subject (docs/erasure.md); an erasure of a person
    or a scope without a time limit destroys the keys when the broker has acked it.
    """

    def __init__(
        self,
        scope: str | None = None,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        source: str = "",
        settings: Settings | None = None,
        max_events: int = MAX_EVENTS,
        max_bytes: int = MAX_BYTES,
        linger_ms: int = LINGER_MS,
        compression: str | None = "zstd",
        **fields: Any,
    ) -> None:
        self._mint = Mint(Identity(scope, session_id, agent_id, user_id, source).with_source())
        if settings is not None and fields:
            raise SettingsError(f"give either settings or single fields ({', '.join(fields)}), not both")
        self._settings = settings or load(**fields)
        self._options = kafka_options(self._settings)
        self._keys = open_keys(self._settings)
        self._limits = (max_events, max_bytes)
        self._linger_ms = linger_ms
        self._compression = compression
        self._gate = asyncio.Lock()
        self._outbox: Outbox | None = None
        self._http: httpx.AsyncClient | None = None
        self._closed = False

    @property
    def source(self) -> str:
        """The source of its events."""
        return self._mint.identity.source

    # publishing

    async def publish(self, event: Event) -> Pending:
        """Take an event as it is. Returns when it is in the buffer.

        Raises InvalidEvent if it is larger or deeper than the contract allows or its time is more than a day ahead,
        PublishError if earlier events failed and nobody was told yet (this one is then named too, and not taken).
        """
        return await self._accept(self._entry(event))

    async def publish_many(self, events: Iterable[Event]) -> list[Pending]:
        """Take events in their order; a handle for each. Raises like `publish`, naming all that were not taken."""
        entries = [self._entry(event) for event in events]
        handles = []
        for index, entry in enumerate(entries):
            try:
                handles.append(await self._accept(entry))
            except PublishError as error:
                raise _with(error, entries[index + 1 :]) from error
        return handles

    async def publish_raw(
        self, topic: Topic, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]] = (), *, label: str = "raw"
    ) -> Pending:
        """Take bytes unchecked but for their size: for mirrors, and for trying what is refused. `label` names them."""
        named = self._settings.topic(topic)
        entry = Entry(label, None, "", self.source, named, key, value, list(headers))
        if entry.size > MAX_REQUEST_BYTES:
            raise PublishError(f"{label} has {entry.size:,} bytes: no broker of ours takes that", [label])
        return await self._accept(entry)

    async def flush(self) -> None:
        """Return when all that was taken before is acked. Raises PublishError naming what is not, by its deadline."""
        async with self._gate:
            outbox = self._outbox
        if outbox is not None:
            await outbox.drained()
            self._raise_untold(outbox)

    async def close(self) -> None:
        """Flush, then close the connection. Raises PublishError like `flush`; closed it is in any case."""
        if self._closed:
            return
        self._closed = True
        async with self._gate:
            outbox = self._outbox
        try:
            if outbox is not None:
                await outbox.drained()
        finally:
            if outbox is not None:
                await outbox.close()
            if self._http is not None:
                await self._http.aclose()
            if self._keys is not None:
                self._keys.close()
        if outbox is not None:
            self._raise_untold(outbox)

    async def wait_until_visible(self, receipt: Receipt, timeout: float = 30.0) -> Visible:  # noqa: ASYNC109 - a deadline, not a cancellation
        """Return when reads of the query service see the event.

        Raises NotVisibleError after `timeout` seconds, or at once if the event went to the dead letters.
        """
        if self._http is None:
            self._http = httpx.AsyncClient(base_url=self._settings.query_url)
        return await wait_until_visible(self._http, receipt, timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.close()
            return
        try:
            await self.close()
        except PublishError as lost:
            error.add_note(str(lost))  # the block's own error stays in front

    def __del__(self) -> None:
        outbox = getattr(self, "_outbox", None)
        if outbox is not None and not self._closed:
            warnings.warn("a publisher was never closed: what it had not sent is lost", ResourceWarning, stacklevel=1)

    # inside

    def _hand_over(self, event: Event) -> Coroutine[Any, Any, Pending]:
        return self.publish(event)

    def put_from_thread(self, event: Event, loop: asyncio.AbstractEventLoop) -> Pending | None:
        """Take an event on behalf of another thread, without waiting; None where `publish` may have to wait."""
        if self._outbox is None:
            return None
        entry = self._entry(event)
        return Pending(entry, self._outbox.told) if self._outbox.put_from_thread(loop, entry) else None

    def _entry(self, event: Event) -> Entry:
        recorded_at(event, self._mint.clock())  # what the workers would refuse is better told here
        key, value, headers = encode(event)
        topic = self._settings.topic(event.kind.topic)
        if self._keys is None:
            return Entry(event.id, event, event.scope, event.source, topic, key, value, headers)
        value, headers = seal_event(self._keys, event, value, headers)
        destroy = destroy_with(self._keys, event)
        return Entry(event.id, event, event.scope, event.source, topic, key, value, headers, acked=destroy)

    async def _accept(self, entry: Entry) -> Pending:
        async with self._gate:  # its waiters are served in their order, so calls keep theirs
            if self._closed:
                raise _with(PublishError("the publisher is closed"), [entry])
            outbox = self._opened()
            self._raise_untold(outbox, entry)
            while not outbox.has_room(entry.size):
                await outbox.change()
                self._raise_untold(outbox, entry)
            outbox.put(entry)
            return Pending(entry, outbox.told)

    def _opened(self) -> Outbox:
        if self._outbox is None:
            events, size = self._limits
            timeout = self._settings.publish_timeout
            self._outbox = Outbox(self._make, self._options, timeout=timeout, max_events=events, max_bytes=size)
        return self._outbox

    def _make(self) -> AbandonableProducer:
        # a request that hangs is tried again on a new connection while the deadline allows
        timeout_ms = int(min(10.0, max(0.5, self._settings.publish_timeout / 3)) * 1_000)
        return AbandonableProducer(
            self._options, compression=self._compression, linger_ms=self._linger_ms, timeout_ms=timeout_ms
        )

    @staticmethod
    def _raise_untold(outbox: Outbox, refused: Entry | None = None) -> None:
        error = outbox.take_untold()
        if error is not None:
            raise error if refused is None else _with(error, [refused])


def _with(error: PublishError, refused: Sequence[Entry]) -> PublishError:
    """The same error, naming also what was not taken because of it."""
    if not refused:
        return error
    text = f"{error} Not taken: {', '.join(entry.label for entry in refused[:5])}"
    text += f" and {len(refused) - 5} more." if len(refused) > 5 else "."
    more = PublishError(
        text,
        [*error.event_ids, *(entry.label for entry in refused)],
        [*error.events, *(entry.event for entry in refused if entry.event is not None)],
    )
    more.__cause__ = error.__cause__
    return more
