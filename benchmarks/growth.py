"""What one more event costs the sink, as the graph grows, and as one slot grows.

The graph is filled by the sink itself, with events that say a hundred things each, in a scope of its own. At each size
the same kind of events are applied in small batches, and timed: a message that names two entities and says where one of
them lives or has been. For the slot all of it is said of one person: always the same, and two places in turn.
`million` is the same for the graph with a million facts: those beyond 100,000 are copies of the scope beside it.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.copies import copy_scope
from benchmarks.figures import Aim, Figure, Section
from benchmarks.sink import origin_of, patch_of, timed
from benchmarks.wipe import wipe_store
from memstream.extractors.vectors.dims import dimensions_of
from memstream.schemas.extraction import EntityName, EntityType, ExtractedAssertion, Extraction, Mention
from memstream.schemas.patch import Label, Patch
from memstream.schemas.topics import record_key
from memstream.settings import Settings
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.migrations import migrate
from memstream.sinks.records import PatchRecord
from memstream.sinks.stores import Store, Stores
from memstream.streams.projection.names import Ref
from memstream.streams.projection.rows import Rows
from memstream.streams.projection.said import add_extraction

GROWTH, MILLION = "growth", "million"
_FLAT = Aim(1.2, most=True)
_SIZES, _QUICK_SIZES, _MILLION_SIZES = (10_000, 100_000), (1_000, 10_000), (10_000, 100_000, 1_000_000)
_SLOTS, _QUICK_SLOTS = (100, 100_000), (100, 5_000)
_SAYS = 100  # what an event that fills says
_FILL = 20  # events in a batch that fills
_MOST_BY_SINK = 100_000  # facts; the rest are copies
_PROBE, _PROBES, _WARM_UP = 50, 20, 6
_PLACES = 1_000


@dataclass(slots=True)
class _Log:
    """A scope that is written event by event, as one partition of a topic."""

    store: Store
    scope: str
    sink: GraphSink
    topic: str
    next: int = 0

    @classmethod
    def begin(cls, store: Store) -> _Log:
        """An empty one."""
        name = secrets.token_hex(5)
        log = cls(store, f"benchmarks/{name}", GraphSink(store.driver, store.database, "benchmark"), f"b{name}.patches")
        log.sink.resume(log.topic, 0, 1)
        return log

    def patch(self, said: Sequence[ExtractedAssertion]) -> Patch:
        """A message that says this."""
        number = self.next
        self.next += 1
        text = f"2026-03-{1 + number // 86_400:02d}T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}"
        moment, event = f"{text}.000000Z", f"event-{number}"
        origin = origin_of(self.scope, GROWTH, event, moment, number)
        rows = Rows(origin)
        props = {"event_id": event, "source": GROWTH, "role": "user", "text": f"said {number}", "time": moment}
        ref = rows.own(Ref(Label.MESSAGE, origin.key), props | {"order": origin.order}, None)
        ends = dict.fromkeys(one for fact in said for one in (fact.subject, fact.object) if isinstance(one, EntityName))
        mentions = tuple(Mention(one, one.name, 0, len(one.name)) for one in ends)
        add_extraction(rows, Extraction(mentions=mentions, assertions=tuple(said)), ref)
        return patch_of(origin, rows)

    def apply(self, made: Sequence[Patch]) -> None:
        """One batch."""
        first = self.next - len(made)
        batch = [PatchRecord(first + i, record_key(self.scope), patch.encode()) for i, patch in enumerate(made)]
        applied = self.sink.apply(self.topic, 0, batch)
        self.sink.forget_changes([change.id for change in applied.changes])


async def run(stack: Settings, *, quick: bool) -> Section:
    """Seconds for an event at each size of the graph and of a slot, and their ratio to the smallest."""
    sizes, slots = (_QUICK_SIZES, _QUICK_SLOTS) if quick else (_SIZES, _SLOTS)
    return await asyncio.to_thread(_run, stack, GROWTH, sizes, slots)


async def run_million(stack: Settings, *, quick: bool) -> Section:
    """The same for larger graphs."""
    return await asyncio.to_thread(_run, stack, MILLION, _SIZES if quick else _MILLION_SIZES, ())


def _run(stack: Settings, name: str, sizes: Sequence[int], slots: Sequence[int]) -> Section:
    figures: list[Figure] = []
    with Stores.connect(stack) as stores:
        store = stores.of("benchmarks")
        migrate(store.driver, store.database, dimensions_of(stack.embedder))
        figures += _figures("facts in the graph", _graph(store, sizes))
        if slots:
            figures += _figures("assertions of one slot, all the same", _slot(store, slots, 1))
            figures += _figures("assertions of one slot, in turn", _slot(store, slots, 2))
    how = (f"Medians of {_PROBES} batches of {_PROBE} events, after {_WARM_UP} to warm up; no vectors.",)
    return Section(name, "One more event, as the graph grows", figures, how)


def _figures(what: str, costs: dict[int, float]) -> Iterator[Figure]:
    least = next(iter(costs.values()))
    for size, seconds in costs.items():
        yield Figure(f"{size:,} {what}", seconds * 1_000, "ms an event")
    yield Figure(f"largest to smallest, {what}", list(costs.values())[-1] / least, aim=_FLAT)


def _graph(store: Store, sizes: Sequence[int]) -> dict[int, float]:
    log, pick = _Log.begin(store), random.Random(7)  # noqa: S311
    copies: list[str] = []
    costs: dict[int, float] = {}
    facts = 0
    try:
        for size in sizes:
            while facts < min(size, _MOST_BY_SINK):
                numbers = range(facts, facts + _FILL * _SAYS)
                said = [_lives(number // 2, number) if number % 2 else _been(number // 2, number) for number in numbers]
                log.apply([log.patch(said[at : at + _SAYS]) for at in range(0, len(said), _SAYS)])
                facts += len(said)
            while facts * (1 + len(copies)) < size:
                copies.append(f"{log.scope}-{len(copies)}")
                copy_scope(store, log.scope, copies[-1])
            costs[size] = _probe(log, partial(_anything, pick, facts // 2))
    finally:
        wipe_store(store, (log.scope, *copies), log.topic)
    return costs


def _slot(store: Store, sizes: Sequence[int], places: int) -> dict[int, float]:
    log = _Log.begin(store)
    costs: dict[int, float] = {}
    filled = 0
    try:
        for size in sizes:
            while filled < size:
                said = [_lives(0, number % places) for number in range(filled, min(filled + _SAYS, size))]
                log.apply([log.patch(said)])
                filled += len(said)
            costs[size] = _probe(log, lambda number: _lives(0, number % places))
    finally:
        wipe_store(store, (log.scope,), log.topic)
    return costs


def _probe(log: _Log, make: Callable[[int], ExtractedAssertion]) -> float:
    """Seconds for one event of a small batch."""
    took = []
    for _ in range(_WARM_UP + _PROBES):
        batch = [log.patch([make(log.next)]) for _ in range(_PROBE)]
        took.append(timed(partial(log.apply, batch)) / _PROBE)
    return statistics.median(took[_WARM_UP:])


def _anything(pick: random.Random, people: int, number: int) -> ExtractedAssertion:
    """Someone who is there already has moved, or has been somewhere."""
    said = _lives if pick.random() < 0.5 else _been
    return said(pick.randrange(people), number)


def _lives(person: int, place: int) -> ExtractedAssertion:
    return ExtractedAssertion(_person(person), "lives_in", _place(place))


def _been(person: int, place: int) -> ExtractedAssertion:
    return ExtractedAssertion(_person(person), "visited", _place(place))


def _person(number: int) -> EntityName:
    return EntityName(EntityType.PERSON, f"Person {number}")


def _place(number: int) -> EntityName:
    return EntityName(EntityType.LOCATION, f"Place {number % _PLACES}")
