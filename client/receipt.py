"""What a publisher gives back: a handle at once, and a receipt when the broker has acked."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memstream.schemas.errors import PublishError
from memstream.schemas.events import Event


@dataclass(frozen=True, slots=True)
class Receipt:
    """Where an event stands in the log. `recorded_at` is the broker's append time, None if the topic keeps another."""

    event_id: str
    source: str
    scope: str
    topic: str
    partition: int
    offset: int
    recorded_at: datetime | None = None


@dataclass(eq=False, slots=True)
class Entry:
    """One event on its way: its record, its bytes, the deadline on the loop's clock, and what its handle waits on.

    `acked` is done once the broker has it, before the handle is told; what it raises is the handle's error.
    """

    label: str
    event: Event | None
    scope: str
    source: str
    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]
    accepted: float = 0.0
    deadline: float = 0.0
    partition: int | None = None
    future: asyncio.Future[Receipt] | None = None
    failed: str = ""
    acked: Callable[[], None] | None = None

    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.size = len(self.key) + len(self.value) + sum(len(name) + len(value) for name, value in self.headers)


class Pending:
    """The handle of an event in the buffer: await it for the receipt.

    Awaiting raises PublishError if the event was not acked by its deadline. Whoever awaits it has been told: `flush`
    and `close` do not raise for that event again.
    """

    __slots__ = ("_entry", "_told")

    def __init__(self, entry: Entry, told: Callable[[Entry], None]) -> None:
        self._entry = entry
        self._told = told

    @property
    def event(self) -> Event | None:
        """The event as it was published; None for raw bytes."""
        return self._entry.event

    @property
    def event_id(self) -> str:
        """The event's id."""
        return self._entry.label

    @property
    def done(self) -> bool:
        """True once the broker has acked, or the event has failed."""
        return self._entry.future is not None and self._entry.future.done()

    def when_acked(self, tell: Callable[[Receipt], object]) -> None:
        """Call `tell` in the loop when the receipt is there; not at all if the event fails."""
        future = self._entry.future
        assert future is not None  # noqa: S101 - a handle is made after its entry was accepted
        future.add_done_callback(lambda done: None if done.exception() else tell(done.result()))

    def __await__(self) -> Generator[Any, None, Receipt]:
        return self._receipt().__await__()

    async def _receipt(self) -> Receipt:
        future = self._entry.future
        assert future is not None  # noqa: S101 - a handle is made after its entry was accepted
        await asyncio.wait([future])  # a waiter that is cancelled does not cancel the event
        try:
            return future.result()
        except PublishError:
            self._told(self._entry)
            raise


class PendingSync:
    """The handle of an event in the buffer, for code without a loop: `result()` waits for the receipt."""

    __slots__ = ("_pending", "_wait")

    def __init__(self, pending: Pending, wait: Callable[[Pending, float | None], Receipt]) -> None:
        self._pending = pending
        self._wait = wait

    @property
    def event(self) -> Event | None:
        """The event as it was published; None for raw bytes."""
        return self._pending.event

    @property
    def event_id(self) -> str:
        """The event's id."""
        return self._pending.event_id

    @property
    def done(self) -> bool:
        """True once the broker has acked, or the event has failed."""
        return self._pending.done

    def result(self, timeout: float | None = None) -> Receipt:
        """The receipt. Raises PublishError if the event was not acked, TimeoutError after `timeout` seconds."""
        try:
            return self._wait(self._pending, timeout)
        except concurrent.futures.TimeoutError:
            raise TimeoutError(f"event {self.event_id} has no answer from the broker after {timeout} s") from None
