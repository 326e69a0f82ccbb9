"""The bounded buffer between those who publish and the broker: in order, with a deadline, and nothing lost in silence.

What was accepted is either acked or named in a PublishError. After a failed deadline the buffer is empty and the next
event starts anew: a producer that could not deliver is abandoned, so that nothing of it reaches the log later.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from aiokafka.errors import (
    InvalidTopicError,
    KafkaError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
)
from aiokafka.structs import RecordMetadata

from memstream.client.producer import AbandonableProducer, partition_of, why_unreachable
from memstream.client.receipt import Entry, Receipt
from memstream.schemas.errors import MemstreamError, PublishError

# the broker looked at the record and said no: the same record would be refused again
_REFUSALS = (MessageSizeTooLargeError, RecordListTooLargeError, TopicAuthorizationFailedError, InvalidTopicError)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_TOPIC_WAIT = 3.0
_GRACE = 0.1
_NAMED = 5


def failure(entries: Sequence[Entry], where: str) -> PublishError:
    """The error that names what was not acked by the brokers `where`, and why."""
    count = len(entries)
    named = ", ".join(entry.label for entry in entries[:_NAMED]) + (
        f" and {count - _NAMED} more" if count > _NAMED else ""
    )
    what = "1 event was" if count == 1 else f"{count} events were"
    return PublishError(
        f"{what} not acked by {where}: {named}. Cause: {entries[0].failed}. "
        "It is not known whether the broker has them. Publish the error's `events` again once it can be reached: "
        "they keep their ids, and the graph takes each id once.",
        [entry.label for entry in entries],
        [entry.event for entry in entries if entry.event is not None],
    )


def _after_ack(entry: Entry) -> MemstreamError | None:
    """Do what is due when the broker has an entry; what goes wrong with it does not undo the ack."""
    try:
        if entry.acked is not None:
            entry.acked()
    except MemstreamError as error:
        return error
    return None


class Outbox:
    """Takes entries while there is room, and sends them in their order.

    `make` makes a producer that is not started yet, `options` are its connection's. Lives in one event loop.
    """

    def __init__(
        self,
        make: Callable[[], AbandonableProducer],
        options: dict[str, Any],
        *,
        timeout: float,
        max_events: int,
        max_bytes: int,
    ) -> None:
        self._make = make
        self._options = options
        self._timeout = timeout
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._unacked: dict[Entry, None] = {}
        self._to_send: deque[Entry] = deque()
        self._bytes = 0
        self._coming = [0, 0]  # entries and bytes that other threads have handed over, until they are put
        self._lock = threading.Lock()
        self._untold: dict[Entry, PublishError] = {}
        self._changed = asyncio.Event()
        self._wake = asyncio.Event()
        self._producer: AbandonableProducer | None = None
        self._pump: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._counts: dict[str, int] = {}
        self._broken: BaseException | None = None
        self._cause: str | None = None
        self._last_ack = float("-inf")

    def has_room(self, size: int) -> bool:
        """True if an entry of `size` bytes may be put. One entry always fits into an empty buffer."""
        count = len(self._unacked) + self._coming[0]
        return count == 0 or (count < self._max_events and self._bytes + self._coming[1] + size <= self._max_bytes)

    def put(self, entry: Entry) -> None:
        """Accept an entry: from now on it is acked by its deadline, or it fails by name."""
        loop = asyncio.get_running_loop()
        entry.accepted = loop.time()
        entry.deadline = entry.accepted + self._timeout
        entry.future = loop.create_future()
        self._unacked[entry] = None
        self._to_send.append(entry)
        self._bytes += entry.size
        self._wake.set()
        if self._pump is None:
            self._pump = loop.create_task(self._run())
            self._pump.add_done_callback(self._pump_ended)
        if self._watch is None:
            self._watch = loop.create_task(self._watch_deadlines())

    def put_from_thread(self, loop: asyncio.AbstractEventLoop, entry: Entry) -> bool:
        """Accept an entry from another thread without waiting for the loop's. False: no room, or a failure to tell."""
        with self._lock:
            if self._untold or not self.has_room(entry.size):
                return False
            self._coming[0] += 1
            self._coming[1] += entry.size
        loop.call_soon_threadsafe(self._arrive, entry)
        return True

    def _arrive(self, entry: Entry) -> None:
        self.put(entry)
        with self._lock:
            self._coming[0] -= 1
            self._coming[1] -= entry.size

    async def change(self) -> None:
        """Return when something was acked or failed."""
        self._changed.clear()
        await self._changed.wait()

    async def drained(self) -> None:
        """Return when all that was accepted so far is acked or failed."""
        futures = [entry.future for entry in self._unacked if entry.future is not None]
        if futures:
            await asyncio.wait(futures)

    def told(self, entry: Entry) -> None:
        """The caller knows that this entry failed."""
        self._untold.pop(entry, None)

    def take_untold(self) -> PublishError | None:
        """One error for all failures that nobody was told of yet."""
        if not self._untold:
            return None
        error = failure(list(self._untold), self._where())
        error.__cause__ = next(iter(self._untold.values()))
        self._untold.clear()
        return error

    async def close(self) -> None:
        """Stop sending. What is not acked by now fails by name: call `drained` first."""
        tasks = [task for task in (self._pump, self._watch) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._pump = self._watch = None
        self._fail(list(self._unacked), "the publisher was closed")

    # sending

    async def _run(self) -> None:
        try:
            await self._keep_sending()
        finally:
            await self._let_go()

    async def _keep_sending(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            self._broken = None
            before = self._last_ack
            try:
                self._producer = self._make()
                await self._producer.start()
                await self._send_all(self._producer)
            except (KafkaError, OSError, TimeoutError) as error:
                self._cause = await why_unreachable(self._options) or f"{type(error).__name__}: {error}"
            await self._let_go()
            self._to_send = deque(self._unacked)
            pause = _FIRST_PAUSE if self._last_ack > before else min(pause * 2, _LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def _send_all(self, producer: AbandonableProducer) -> None:
        while True:
            if self._broken is not None:
                raise self._broken
            if not self._to_send:
                self._wake.clear()
                await self._wake.wait()
                continue
            entry = self._to_send[0]
            if entry.topic not in self._counts and not await self._find_topic(producer, entry):
                continue
            entry.partition = partition_of(entry.key, self._counts[entry.topic])
            try:
                answer = await producer.send(
                    entry.topic, entry.value, entry.key, partition=entry.partition, headers=entry.headers
                )
            except MessageSizeTooLargeError as error:
                self._to_send.popleft()
                self._fail([entry], str(error), error)
                continue
            self._to_send.popleft()
            answer.add_done_callback(partial(self._answered, entry, producer))

    async def _find_topic(self, producer: AbandonableProducer, entry: Entry) -> bool:
        patience = min(_TOPIC_WAIT, self._timeout / 4)  # other topics wait behind this one
        until = asyncio.get_running_loop().time() + patience
        cause: BaseException | None = None
        while True:
            try:
                count = await producer.partition_count(entry.topic)
            except _REFUSALS as error:
                count, cause = None, error
            if count is not None:
                self._counts[entry.topic] = count
                return True
            if cause is not None or asyncio.get_running_loop().time() >= until:
                break
            await asyncio.sleep(_FIRST_PAUSE)  # just made topics take a moment to be known everywhere
        why = (
            f"the broker refuses access to the topic {entry.topic!r}"
            if cause is not None
            else f"there is no topic {entry.topic!r}: run `memstream topics create`"
        )
        self._fail([other for other in self._unacked if other.topic == entry.topic], why, cause)
        self._to_send = deque(other for other in self._to_send if other.topic != entry.topic)
        return False

    def _answered(self, entry: Entry, producer: AbandonableProducer, answer: asyncio.Future[RecordMetadata]) -> None:
        if producer is not self._producer or answer.cancelled():
            return
        error = answer.exception()
        if error is None:
            self._settle(entry, answer.result())
            return
        if isinstance(error, _REFUSALS):
            self._fail([entry], f"the broker refuses it: {error or type(error).__name__}", error)
        # a failed batch leaves a gap in the producer's sequence: a new producer sends the rest
        self._broken = error
        self._wake.set()

    def _settle(self, entry: Entry, record: RecordMetadata) -> None:
        self._last_ack = asyncio.get_running_loop().time()
        appended = record.timestamp_type == 1 and record.timestamp is not None and record.timestamp >= 0
        recorded = datetime.fromtimestamp(record.timestamp / 1000, UTC) if appended else None
        receipt = Receipt(
            entry.label, entry.source, entry.scope, record.topic, record.partition, record.offset, recorded
        )
        self._forget(entry)
        error = _after_ack(entry)
        if entry.future is None or entry.future.done():
            return
        if error is None:
            entry.future.set_result(receipt)
        else:
            entry.future.set_exception(error)

    async def _let_go(self) -> None:
        producer, self._producer = self._producer, None
        self._counts.clear()
        if producer is not None:
            await producer.abandon()

    # failing

    async def _watch_deadlines(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            oldest = next(iter(self._unacked), None)
            left = self._timeout if oldest is None else oldest.deadline - loop.time()
            if left > 0:
                await asyncio.sleep(left)
                continue
            await asyncio.sleep(_GRACE)  # a loop that was blocked has answers waiting to be read
            if oldest in self._unacked:
                await self._expire(loop.time())

    async def _expire(self, now: float) -> None:
        """Give up what is past its deadline: everything if nothing was acked meanwhile, else its partitions."""
        why = self._cause or await why_unreachable(self._options, 1_000) or "it answers, but does not ack"
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.wait([self._pump])  # it lets go of its producer
        late = [entry for entry in self._unacked if entry.deadline <= now]
        if late and self._last_ack < late[0].accepted:
            late = list(self._unacked)
        else:
            # what follows in the same partition fails with it, or it would overtake
            stuck = {(entry.topic, entry.partition) for entry in late}
            late = [entry for entry in self._unacked if (entry.topic, entry.partition) in stuck]
        self._fail(late, f"no ack within {self._timeout:g} s: {why}")
        self._cause = None
        self._to_send = deque(self._unacked)
        self._pump = None
        if self._unacked:
            self._pump = asyncio.get_running_loop().create_task(self._run())
            self._pump.add_done_callback(self._pump_ended)

    def _pump_ended(self, pump: asyncio.Task[None]) -> None:
        if pump.cancelled() or pump is not self._pump:
            return
        error = pump.exception()  # something unforeseen: nobody should wait for it
        self._pump = None
        self._to_send.clear()
        self._fail(list(self._unacked), f"{type(error).__name__}: {error}", error)

    def _fail(self, entries: Iterable[Entry], why: str, cause: BaseException | None = None) -> None:
        for entry in entries:
            if entry not in self._unacked:
                continue
            self._forget(entry)
            entry.failed = why
            error = failure([entry], self._where())
            error.__cause__ = cause
            self._untold[entry] = error
            if entry.future is not None and not entry.future.done():
                entry.future.set_exception(error)
                entry.future.exception()  # whoever drops the handle is told by flush, close or the next call

    def _forget(self, entry: Entry) -> None:
        del self._unacked[entry]
        self._bytes -= entry.size
        self._changed.set()

    def _where(self) -> str:
        return str(self._options["bootstrap_servers"])
