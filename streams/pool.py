"""The pool of extraction processes: chunks of sessions in, their results out, whatever happens to a child.

The loop only awaits. A child that dies or hangs is replaced, and its chunk is cut in halves until the record is found
at which a child dies twice with nothing beside it: that one is refused, all others get their results.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from memstream.schemas.errors import FatalError, PoisonError, Reason, TransientError
from memstream.streams import metrics
from memstream.streams.pool_child import DONE, POISON, TRANSIENT, Worker
from memstream.streams.pool_process import ChildLost, PoolProcess
from memstream.streams.records import Output, Record, Refusal, SessionResult, SessionWork

log = structlog.get_logger(__name__)

_STAGE = "extract"
_CHUNKS_A_CHILD = 2
_LEAST_CHUNK = 2_000  # cost below which a chunk of its own is not worth the way to a child
_RECORD_COST = 200  # bytes of text that cost as much as a record without any
_TRANSIENT_TRIES = 8

Refuse = Callable[[Record, Refusal], Output]
"""What a refused record becomes: its dead letter, and the patch that is its verdict."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a chunk may take: some seconds, and some for each kilobyte of its records."""

    seconds: float = 30.0
    per_kilobyte: float = 2.0

    def of(self, works: Sequence[SessionWork]) -> float:
        """Seconds after which the child that has these is taken to hang."""
        return self.seconds + self.per_kilobyte * sum(_cost(work) for work in works) / 1_000


@dataclass(slots=True)
class _Slot:
    child: PoolProcess | None = None


class Pool:
    """`size` children, each with a worker made by `factory` (which goes to the child by pickle)."""

    def __init__(
        self, factory: Callable[[], Worker], size: int, refuse: Refuse, patience: Patience | None = None
    ) -> None:
        self._factory = factory
        self._size = size
        self._refuse = refuse
        self._patience = patience or Patience()
        self._idle: asyncio.Queue[_Slot] = asyncio.Queue()
        self._slots = [_Slot() for _ in range(size)]
        for slot in self._slots:
            self._idle.put_nowait(slot)

    @property
    def pids(self) -> list[int]:
        """The process ids of the children that live."""
        return [slot.child.pid for slot in self._slots if slot.child is not None]

    async def warm_up(self) -> None:
        """Start all children and wait until each has loaded. Raises FatalError where they can't."""
        await asyncio.gather(*(self._child_of(slot) for slot in self._slots))

    async def close(self) -> None:
        """End the children."""
        children = [slot.child for slot in self._slots if slot.child is not None]
        for slot in self._slots:
            slot.child = None
        await asyncio.gather(*(child.end() for child in children))
        metrics.CHILDREN.set(0)

    async def process(self, works: Sequence[SessionWork]) -> list[SessionResult]:
        """The results of the sessions, in their order.

        Raises FatalError where a worker has a bug, TransientError where what it needs stays away.
        """
        worth = sum(_cost(work) for work in works) // _LEAST_CHUNK
        chunks = balance(works, max(1, min(worth, self._size * _CHUNKS_A_CHILD)))
        done = await asyncio.gather(*(self._chunk([works[index] for index in chunk]) for chunk in chunks))
        results: dict[int, SessionResult] = {}
        for chunk, chunk_results in zip(chunks, done, strict=True):
            results.update(zip(chunk, chunk_results, strict=True))
        return [results[index] for index in range(len(works))]

    async def _chunk(self, works: list[SessionWork]) -> list[SessionResult]:
        try:
            return await self._attempt(works)
        except (ChildLost, PoisonError) as error:
            log.warning("chunk_failed", records=sum(len(work.records) for work in works), why=str(error))
            if len(works) > 1:
                half = len(works) // 2
                return [*await self._chunk(works[:half]), *await self._chunk(works[half:])]
            return [await self._one_session(works[0], error)]

    async def _one_session(self, work: SessionWork, error: Exception) -> SessionResult:
        """Cut a session's records in halves; the later ones get the state that the earlier ones left."""
        if len(work.records) == 1:
            return await self._one_record(work, error)
        half = len(work.records) // 2
        [first] = await self._chunk([SessionWork(work.key, work.state, work.records[:half])])
        state = work.state if first.state is None else first.state
        [second] = await self._chunk([SessionWork(work.key, state, work.records[half:])])
        after = first.state if second.state is None else second.state
        return SessionResult(work.key, after, [*first.outputs, *second.outputs])

    async def _one_record(self, work: SessionWork, error: Exception) -> SessionResult:
        if isinstance(error, ChildLost):  # once may be the fault of another: memory, a person
            try:
                [result] = await self._attempt([work])
            except (ChildLost, PoisonError) as again:
                error = again
            else:
                return result
        record = work.records[0]
        how = f"extraction failed twice at this event alone: the process {error}"
        message = how if isinstance(error, ChildLost) else str(error)
        log.error("record_refused", topic=record.topic, partition=record.partition, offset=record.offset, why=message)
        return SessionResult(work.key, None, [self._refuse(record, Refusal(Reason.EXTRACTION_FAILED, message))])

    async def _attempt(self, works: list[SessionWork]) -> list[SessionResult]:
        for attempt in range(_TRANSIENT_TRIES):
            kind, said = await self._exchange(works)
            if kind == DONE:
                results: list[SessionResult] = said
                return results
            if kind == POISON:
                raise PoisonError(said)
            if kind != TRANSIENT:
                raise FatalError(f"Extraction can't go on; nothing of this batch was taken: {said}")
            metrics.RETRIES.labels(_STAGE, "transient").inc()
            pause = min(0.5 * 2**attempt, 30.0) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter
            log.warning("extraction_waits", why=said, next_try_seconds=round(pause, 1))
            await asyncio.sleep(pause)
        raise TransientError(f"extraction could not go on after {_TRANSIENT_TRIES} tries: {said}")

    async def _exchange(self, works: list[SessionWork]) -> tuple[str, Any]:
        slot = await self._idle.get()
        try:
            child = await self._child_of(slot)
            return await child.exchange(works, self._patience.of(works))
        except BaseException as error:
            if slot.child is not None:
                slot.child = None
                metrics.CHILDREN.dec()
            if isinstance(error, ChildLost):
                metrics.RETRIES.labels(_STAGE, "child_lost").inc()
            raise
        finally:
            self._idle.put_nowait(slot)

    async def _child_of(self, slot: _Slot) -> PoolProcess:
        if slot.child is None:
            try:
                child = await PoolProcess.start(self._factory)
            except ChildLost as lost:
                raise FatalError(f"An extraction process {lost.how} while it loaded its models") from lost
            slot.child = child
            metrics.CHILDREN.inc()
        return slot.child


def _cost(work: SessionWork) -> int:
    return sum(_RECORD_COST + len(record.value or b"") for record in work.records)


def balance(works: Sequence[SessionWork], parts: int) -> list[list[int]]:
    """Indexes of the sessions in at most `parts` chunks of about equal cost, the costliest first."""
    chunks: list[list[int]] = [[] for _ in range(min(parts, len(works)))]
    loads = [0] * len(chunks)
    costs = [_cost(work) for work in works]
    for index in sorted(range(len(works)), key=lambda i: (-costs[i], i)):
        lightest = loads.index(min(loads))
        chunks[lightest].append(index)
        loads[lightest] += costs[index]
    return [chunks[i] for i in sorted(range(len(chunks)), key=lambda i: -loads[i])]
