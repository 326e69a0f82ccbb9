"""The models bare: `nlp.pipe` with the same components and batch size, then the embedder in batches, and nothing else.

The pipeline is as spaCy loads it: what Memstream does to make it quicker is Memstream's, and not in these figures.
They run in as many processes as the pipeline has, started like those of its pool, and loaded and warm before the clock
starts. All of them begin together; the clock ends with the last one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from memstream.extractors.parse.pipeline import load_bare
from memstream.extractors.vectors.embedders import create_embedder
from memstream.streams.pool_child import DONE, Worker
from memstream.streams.pool_process import PoolProcess

_PATIENCE = 1_800.0
NO_VECTORS = "none"


@dataclass(frozen=True, slots=True)
class Clock:
    """When a process began and ended, on the machine's monotonic clock."""

    began: float
    ended: float


class BareModels:
    """Built in each process. `process` runs the texts through the models and tells when."""

    def __init__(self, embedder: str) -> None:
        self._nlp, self._batch_size = load_bare()
        self._embedder = create_embedder(embedder, cache_size=0)

    def process(self, texts: list[str]) -> Clock:
        """Parse all, then embed all."""
        began = time.monotonic()
        for _ in self._nlp.pipe(texts, batch_size=self._batch_size):
            pass
        if self._embedder.dims:
            self._embedder.embed(texts)
        return Clock(began, time.monotonic())


async def bare_rate(warm_up: Sequence[str], texts: Sequence[str], processes: int, embedder: str = NO_VECTORS) -> float:
    """Texts a second of all processes together."""
    # the pool's child runs whatever has a `process`: what this one takes and gives is between it and us
    factory = cast(Callable[[], Worker], partial(BareModels, embedder))
    children = await asyncio.gather(*(PoolProcess.start(factory) for _ in range(processes)))
    try:
        await _run(children, warm_up)
        clocks = await _run(children, texts)
    finally:
        await asyncio.gather(*(child.end() for child in children))
    return len(texts) / (max(clock.ended for clock in clocks) - min(clock.began for clock in clocks))


async def _run(children: Sequence[PoolProcess], texts: Sequence[str]) -> list[Clock]:
    """Each process takes every n-th text: shares of about equal length."""
    shares = [list(texts[number :: len(children)]) for number in range(len(children))]
    answers = await asyncio.gather(
        *(child.exchange(share, _PATIENCE) for child, share in zip(children, shares, strict=True))
    )
    clocks = []
    for kind, said in answers:
        if kind != DONE:
            raise RuntimeError(f"the bare models failed: {said}")
        clocks.append(said)
    return clocks
