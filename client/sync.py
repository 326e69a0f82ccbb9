"""The publisher for code without an event loop: the same, with its own loop in a background thread."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import threading
from collections.abc import Coroutine, Iterable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from memstream.client.keeping import BoardMethods, StateMethods
from memstream.client.publisher import AsyncPublisher
from memstream.client.receipt import Pending, PendingSync, Receipt
from memstream.client.saying import ConversationMethods, FeedbackMethods, ToolMethods
from memstream.client.stating import StatementMethods
from memstream.client.visible import Visible
from memstream.schemas.errors import PublishError
from memstream.schemas.events import Event
from memstream.schemas.topics import Topic

Answer = TypeVar("Answer")


class LoopThread:
    """A thread that runs an event loop, for code that has none."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Answer], timeout: float | None = None) -> Answer:
        """The result of a coroutine, run in the thread. Raises what it raises, TimeoutError after `timeout` seconds."""
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result(timeout)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise

    def stop(self) -> None:
        """End the loop and the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class Publisher(
    ConversationMethods[PendingSync],
    ToolMethods[PendingSync],
    FeedbackMethods[PendingSync],
    StatementMethods[PendingSync],
    BoardMethods[PendingSync],
    StateMethods[PendingSync],
):
    """Publishes events from code without a loop; safe from several threads. Takes what AsyncPublisher takes.

    A method returns when the event is in the buffer, with a handle; `handle.result()` waits for the receipt. Use it
    as `with`: leaving sends what is left. A program that ends without closing it still sends what is left.
    """

    def __init__(self, scope: str | None = None, **arguments: Any) -> None:
        self._publisher = AsyncPublisher(scope, **arguments)
        self._mint = self._publisher._mint
        self._closing, self._taking = threading.Lock(), threading.Lock()
        self._closed = False
        self._thread = LoopThread("memstream-publisher")
        atexit.register(self.close)

    @property
    def source(self) -> str:
        """The source of its events."""
        return self._publisher.source

    def publish(self, event: Event) -> PendingSync:
        """Take an event as it is. Raises like AsyncPublisher.publish."""
        with self._taking:
            # the usual case waits for no other thread: the loop learns of it in its own time
            pending = None if self._closed else self._publisher.put_from_thread(event, self._thread.loop)
        if pending is not None:
            return self._handle(pending)
        return self._handle(self._run(self._publisher.publish(event), [event]))

    def publish_many(self, events: Iterable[Event]) -> list[PendingSync]:
        """Take events in their order; a handle for each. Raises like AsyncPublisher.publish_many."""
        taken = list(events)
        return [self._handle(pending) for pending in self._run(self._publisher.publish_many(taken), taken)]

    def publish_raw(
        self, topic: Topic, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]] = (), *, label: str = "raw"
    ) -> PendingSync:
        """Take bytes unchecked but for their size. Raises like AsyncPublisher.publish_raw."""
        return self._handle(self._run(self._publisher.publish_raw(topic, key, value, headers, label=label)))

    def flush(self) -> None:
        """Return when all that was taken before is acked. Raises PublishError naming what is not, by its deadline."""
        self._run(self._publisher.flush())

    def wait_until_visible(self, receipt: Receipt, timeout: float = 30.0) -> Visible:
        """Return when reads of the query service see the event. Raises like AsyncPublisher.wait_until_visible."""
        return self._run(self._publisher.wait_until_visible(receipt, timeout))

    def close(self) -> None:
        """Flush, then close the connection and end the thread. Raises PublishError like `flush`."""
        with self._closing:
            if self._closed:
                return
            with self._taking:
                self._closed = True
            atexit.unregister(self.close)
            try:
                self._thread.run(self._publisher.close())
            finally:
                self._thread.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except PublishError as lost:
            if error is None:
                raise
            error.add_note(str(lost))  # the block's own error stays in front

    def _hand_over(self, event: Event) -> PendingSync:
        return self.publish(event)

    def _handle(self, pending: Pending) -> PendingSync:
        return PendingSync(pending, self._wait)

    def _wait(self, pending: Pending, timeout: float | None) -> Receipt:
        return self._run(_receipt_of(pending), timeout=timeout)

    def _run(
        self, work: Coroutine[Any, Any, Answer], events: Sequence[Event] = (), timeout: float | None = None
    ) -> Answer:
        if self._closed:
            work.close()
            raise PublishError("the publisher is closed", [event.id for event in events], events)
        return self._thread.run(work, timeout)


async def _receipt_of(pending: Pending) -> Receipt:
    return await pending
