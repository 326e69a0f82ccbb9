"""The buffer's rules where a single broker can't show them: one partition stuck, a refusal, something unforeseen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError, NotLeaderForPartitionError

from memstream.client.outbox import Outbox
from memstream.client.producer import AbandonableProducer, partition_of
from memstream.client.receipt import Entry, Pending
from memstream.schemas.errors import PublishError

TOO_LARGE: BaseException = MessageSizeTooLargeError()
NOT_LEADER: BaseException = NotLeaderForPartitionError()
GONE: BaseException = KafkaConnectionError()
Answer = Callable[["Line", bytes, int], BaseException | str | None]


class Line:
    """Stands in for the producer: what `answer` gives for a record decides; "never" leaves it without an answer."""

    def __init__(self, number: int, answer: Answer) -> None:
        self.number = number
        self.sent: list[bytes] = []
        self.abandoned = False
        self._answer = answer

    async def start(self) -> None:
        """Connected at once."""

    async def partition_count(self, topic: str) -> int | None:  # noqa: ARG002 - the producer's signature
        """Two partitions for every topic."""
        return 2

    async def send(
        self, topic: str, value: bytes, key: bytes, *, partition: int, headers: list[tuple[str, bytes]]
    ) -> asyncio.Future[Any]:
        """Take a record and answer it in the loop's next turn."""
        del key, headers
        self.sent.append(value)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        answer = self._answer(self, value, partition)
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        elif answer is None:
            offset = len(self.sent) - 1
            future.set_result(
                SimpleNamespace(topic=topic, partition=partition, offset=offset, timestamp=0, timestamp_type=1)
            )
        return future

    async def abandon(self) -> None:
        """Nothing is sent any more."""
        self.abandoned = True


class Lines:
    """The lines that were made, in order, and the outbox over them."""

    def __init__(self, answer: Answer, timeout: float = 0.4) -> None:
        self.made: list[Line] = []
        self._answer = answer
        self.outbox = Outbox(
            self._make, {"bootstrap_servers": "127.0.0.1:1"}, timeout=timeout, max_events=100, max_bytes=10_000
        )

    def _make(self) -> AbandonableProducer:
        self.made.append(Line(len(self.made), self._answer))
        return cast(AbandonableProducer, self.made[-1])

    def put(self, key: bytes, *values: bytes) -> list[Pending]:
        """Entries of one key."""
        entries = [Entry(value.decode(), None, "a", "s", "t", key, value, []) for value in values]
        for entry in entries:
            self.outbox.put(entry)
        return [Pending(entry, self.outbox.told) for entry in entries]


KEYS = {partition_of(key, 2): key for key in (b"k1", b"k2", b"k3", b"k4", b"k5")}


async def test_a_stuck_partition_costs_only_its_own_events() -> None:
    """What was said later into the stuck partition fails with it; the other partition goes on."""

    def answer(line: Line, value: bytes, partition: int) -> BaseException | str | None:
        return "never" if partition == 0 else None

    lines = Lines(answer)
    stuck = lines.put(KEYS[0], b"a", b"b")
    await asyncio.sleep(0.2)
    late = lines.put(KEYS[0], b"c")
    flowing = lines.put(KEYS[1], b"x")
    assert (await flowing[0]).partition == 1
    for pending in [*stuck, *late]:
        with pytest.raises(PublishError, match="no ack within"):
            await pending
    after = lines.put(KEYS[1], b"y")
    assert (await after[0]).partition == 1
    assert lines.made[0].abandoned
    await lines.outbox.close()
    assert lines.outbox.take_untold() is None


async def test_a_refused_record_fails_alone_and_the_rest_is_sent_anew() -> None:
    """A refusal leaves a gap in the producer's numbers, so a new one sends what followed, in order."""

    def answer(line: Line, value: bytes, partition: int) -> BaseException | str | None:
        if value == b"big":
            return TOO_LARGE
        return "never" if line.number == 0 else None

    lines = Lines(answer, timeout=5)
    refused, *rest = lines.put(KEYS[0], b"big", b"b", b"c")
    with pytest.raises(PublishError, match="the broker refuses it"):
        await refused
    assert [(await pending).offset for pending in rest] == [0, 1]
    assert [line.sent for line in lines.made[1:]] == [[b"b", b"c"]]
    assert lines.made[0].abandoned
    await lines.outbox.close()


async def test_a_broken_batch_is_sent_again_by_a_new_producer() -> None:
    """What may pass is tried again with all that is unacked, and what was acked is not."""

    def answer(line: Line, value: bytes, partition: int) -> BaseException | str | None:
        if line.number == 0 and value != b"a":
            return NOT_LEADER
        return None

    lines = Lines(answer, timeout=5)
    pending = lines.put(KEYS[0], b"a", b"b", b"c")
    assert [(await one).offset for one in pending] == [0, 0, 1]
    assert lines.made[1].sent == [b"b", b"c"]
    await lines.outbox.close()


async def test_something_unforeseen_fails_by_name_and_leaves_it_usable() -> None:
    """Nobody waits for a sender that is no more."""

    def answer(line: Line, value: bytes, partition: int) -> BaseException | str | None:
        return RuntimeError("a bug") if line.number == 0 else None

    lines = Lines(answer, timeout=5)
    first, second = lines.put(KEYS[0], b"a", b"b")
    for pending in (first, second):
        with pytest.raises(PublishError, match="RuntimeError: a bug"):
            await pending
    (after,) = lines.put(KEYS[0], b"c")
    assert (await after).event_id == "c"
    assert [line.abandoned for line in lines.made] == [True, False]
    await lines.outbox.close()


async def test_what_nobody_asked_for_is_told_in_one_error() -> None:
    """All of it, with the reason; what was asked for is left out; a second time there is nothing to tell."""

    def answer(line: Line, value: bytes, partition: int) -> BaseException | str | None:
        return "never"

    lines = Lines(answer, timeout=0.2)
    pending = lines.put(KEYS[0], *(f"e{number}".encode() for number in range(9)))
    await lines.outbox.drained()
    with pytest.raises(PublishError):
        await pending[0]
    error = lines.outbox.take_untold()
    assert error is not None
    assert error.event_ids == tuple(f"e{number}" for number in range(1, 9))
    assert str(error).startswith("8 events were not acked by 127.0.0.1:1: e1, e2, e3, e4, e5 and 3 more.")
    assert lines.outbox.take_untold() is None
    await lines.outbox.close()


async def test_closing_fails_what_is_left_by_name() -> None:
    """Without having waited, what is unacked is told and not forgotten."""

    def answer(line: Line, value: bytes, partition: int) -> BaseException | str | None:
        return "never"

    lines = Lines(answer, timeout=60)
    (pending,) = lines.put(KEYS[0], b"a")
    await asyncio.sleep(0)
    await lines.outbox.close()
    with pytest.raises(PublishError, match="was closed"):
        await pending


async def test_room_is_counted_in_events_and_bytes_and_one_always_fits() -> None:
    """An entry larger than the whole buffer is taken when it is alone."""

    def answer(line: Line, value: bytes, partition: int) -> BaseException | str | None:
        return GONE

    lines = Lines(answer, timeout=60)
    assert lines.outbox.has_room(1_000_000)
    lines.put(KEYS[0], b"a" * 9_000)
    assert lines.outbox.has_room(900)
    assert not lines.outbox.has_room(1_100)
    lines.put(KEYS[0], *[b"b"] * 99)
    assert not lines.outbox.has_room(1)
    await lines.outbox.close()
