"""Insisting on what fails for the moment: again and again, ever more seldom, until it works or is called off."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import TypeVar

import structlog

from memstream.schemas.errors import TransientError
from memstream.streams import metrics
from memstream.streams.monitor import Readiness

log = structlog.get_logger(__name__)

T = TypeVar("T")

_WHAT = "graph"
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 10.0


class CalledOff(Exception):
    """The thing is not wanted any more: partitions are being given back, or the process stops."""


class Persistence:
    """Runs blocking work in a thread, and tries it again for as long as it fails transiently.

    Meanwhile the stage is not ready, nothing is fetched, and the consumer's heartbeats go on.
    """

    def __init__(self, stage: str, ready: Readiness) -> None:
        self._stage = stage
        self._ready = ready
        self._called_off = asyncio.Event()
        self._trying = 0

    def call_off(self) -> None:
        """Let every wait end with CalledOff, now and later, until `resume`."""
        self._called_off.set()

    def resume(self) -> None:
        """Insist again."""
        self._called_off.clear()

    async def insist(self, work: Callable[[], T]) -> T:
        """The result of `work`. Raises CalledOff, and what else `work` raises."""
        pause, failed = _FIRST_PAUSE, False
        try:
            while True:
                try:
                    return await asyncio.to_thread(work)
                except TransientError as error:
                    if not failed:
                        failed = True
                        self._trying += 1
                    self._ready.lacks(str(error), _WHAT)
                    metrics.RETRIES.labels(self._stage, type(error).__name__).inc()
                    log.warning("trying_again", why=str(error), in_seconds=round(pause, 1))
                await self._sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
                pause = min(pause * 2, _LONGEST_PAUSE)
        finally:
            if failed:
                self._trying -= 1
                if not self._trying:
                    self._ready.has(_WHAT)
                    log.info("goes_on")

    async def _sleep(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._called_off.wait()
        except TimeoutError:
            return
        raise CalledOff
