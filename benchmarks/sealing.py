"""What a sealed log costs a message: its event sealed and opened, its patch sealed and opened, against both in clear.

Each step is timed by itself over the same events and patches, in turn with the step in clear; the least of several
turns counts. Neither the broker nor the graph takes part.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.figures import Aim, Figure, Section
from benchmarks.sink import patches
from benchmarks.texts import corpus, events
from memstream.extractors.vectors.dims import dimensions_of
from memstream.schemas import cloudevents
from memstream.schemas.events import Event
from memstream.schemas.patch import Patch
from memstream.sealing import KeyStore
from memstream.sealing.events import open_event, seal_event
from memstream.sealing.file_keys import FileKeys
from memstream.settings import Settings
from memstream.sinks.records import PatchRecord, decode
from memstream.streams.projection import encode
from memstream.streams.projection.sections import sealed

NAME = "sealing"
_AIM = Aim(1.0, most=True)
_MANY, _QUICK_MANY, _TURNS = 1_000, 200, 5
_PEOPLE = 20


async def run(stack: Settings, *, quick: bool) -> Section:
    """Milliseconds a message, for each step and in all, and how many bytes patches have, sealed to clear."""
    return await asyncio.to_thread(_run, dimensions_of(stack.embedder), _QUICK_MANY if quick else _MANY)


def _run(dims: int, many: int) -> Section:
    told = events(corpus(), "benchmarks/sealing", many)
    said = [one.model_copy(update={"subject": f"person-{number % _PEOPLE}"}) for number, one in enumerate(told)]
    made = patches("benchmarks/sealing", 0, dims)[:many]
    with tempfile.TemporaryDirectory() as folder:
        store = FileKeys(str(Path(folder) / "keys.db"))
        event = _added(len(said), partial(_events, said, None), partial(_events, said, store))
        clear, shut = [encode(one) for one in made], _sealed(store, made)
        making = _added(len(made), lambda: [encode(one) for one in made], partial(_sealed, store, made))
        reading = _added(len(made), partial(_read, clear, None), partial(_read, shut, store))
        store.close()
    room = sum(map(len, shut)) / sum(map(len, clear))
    figures = [
        Figure("event sealed and opened", event, "ms"),
        Figure("patch sealed", making, "ms"),
        Figure("patch opened", reading, "ms"),
        Figure("a message in all", event + making + reading, "ms", _AIM),
        Figure("bytes of a sealed patch to one in clear", room),
    ]
    how = (f"{len(said)} messages and {len(made)} patches with {dims} dimensions, the best of {_TURNS} turns each.",)
    return Section(NAME, "A sealed log: what a message costs more", figures, how)


def _added(many: int, clear: Callable[[], object], shut: Callable[[], object]) -> float:
    """Milliseconds that one takes more."""
    best = {clear: float("inf"), shut: float("inf")}
    for _ in range(_TURNS):
        for step, least in list(best.items()):
            begun = time.perf_counter()
            step()
            best[step] = min(least, time.perf_counter() - begun)
    return (best[shut] - best[clear]) / many * 1_000


def _events(said: Sequence[Event], store: KeyStore | None) -> None:
    for one in said:
        _, value, headers = cloudevents.encode(one)
        if store is not None:
            opened = open_event(store, *seal_event(store, one, value, headers))
            assert opened is not None
            assert opened.value == value


def _sealed(store: KeyStore, made: Sequence[Patch]) -> list[bytes]:
    keys = [store.current("benchmarks/sealing", f"person-{number}") for number in range(_PEOPLE)]
    return [sealed(one, keys[n % _PEOPLE], lambda _: [keys[0]]) for n, one in enumerate(made)]


def _read(values: Sequence[bytes], store: KeyStore | None) -> None:
    for value in values:
        decode(PatchRecord(0, None, value), store)
