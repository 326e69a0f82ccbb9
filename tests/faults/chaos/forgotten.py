"""Whether what was to be forgotten is, and nothing else: by the log's patches, and by the proof that the product has.

Which events an erasure reaches is told here by the words of docs/erasure.md, from the patches alone, and compared with
what the graph has of each.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

from neo4j import Driver

from chaos import graphs
from chaos.story import mark
from memstream.schemas.patch import ErasureRow, Label, Patch
from memstream.schemas.scope import is_within
from memstream.schemas.statement import ErasureKind
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.sinks.known import ERASED
from memstream.sinks.proof import Needles, Searched, search_graph
from memstream.streams.log_reader import read_to_end
from memstream.streams.offload import OffloadStore
from memstream.streams.proof import search_letters, search_payloads

_LOOKED_FOR = 12  # marks of erased events in each scope


@dataclass(slots=True)
class _Told:
    """An event as its patches have it: there may be several, with different contents."""

    scope: str
    event_id: str
    session: str | None
    subject: str | None
    first: str
    entities: set[str] = field(default_factory=set)
    is_card: bool = False


@dataclass(slots=True)
class _Log:
    """All events of the patches by their keys, and the erasures with their scopes."""

    events: dict[str, _Told] = field(default_factory=dict)
    erasures: list[tuple[str, ErasureRow]] = field(default_factory=list)

    def take(self, patch: Patch) -> None:
        """One more patch."""
        if patch.erasures:
            if not patch.copy_below:
                self.erasures += [(patch.origin.scope, row) for row in patch.erasures]
            return  # erasures are not erased
        one = patch.origin
        fresh = _Told(one.scope, one.id, one.session_id, one.subject, one.recorded_at)
        told = self.events.setdefault(one.key, fresh)
        told.first = min(told.first, one.recorded_at)
        told.entities |= {row.id for row in patch.nodes if row.label is Label.ENTITY}
        told.is_card = told.is_card or any(row.label is Label.MEMORY for row in patch.nodes)


async def check(settings: Settings, driver: Driver, pick: random.Random) -> tuple[dict[str, int], list[str]]:
    """Counts for the report, and in words what must not be."""
    log = _Log()
    async for record in read_to_end(settings, Topic.PATCHES.named(settings.topic_prefix)):
        log.take(Patch.decode(record.value))
    known = await asyncio.to_thread(graphs.verdicts, driver, settings.neo4j_database)
    gone = {key for key, verdict in known.items() if verdict == ERASED}
    must, may = _reached(log)
    wrong = [f"{len(must - gone)} events are not erased: {_some(log, must - gone)}"] if must - gone else []
    beyond = gone - must - may
    wrong += [f"{len(beyond)} events are erased that no erasure reaches: {_some(log, beyond)}"] if beyond else []
    found = await asyncio.to_thread(_searched, settings, driver, log, gone, pick)
    wrong += [f"found in the {one.place}: {one.what}, {one.holds}" for one in found.findings[:5]]
    wrong += await asyncio.to_thread(_of_payloads, settings, driver, log)
    letters = Searched(erased=found.erased)
    await search_letters(settings, _scopes(log), Needles(), letters)
    counts = {
        "erasures published": len(log.erasures),
        "events that are erased": len(gone),
        "nodes and edges searched for them": found.counts["nodes"] + found.counts["edges"],
        "payloads searched": found.counts.get("payloads", 0),
        "dead letters of erased events, which the log keeps": len(letters.findings),
    }
    return counts, wrong


def _reached(log: _Log) -> tuple[set[str], set[str]]:
    """The keys of the events that must be erased, and of others that may be.

    May be: which names count, and whether the evidence of a card is gone, follows from which content counts.
    """
    must: set[str] = set()
    may: set[str] = set()
    for key, one in log.events.items():
        names: dict[ErasureKind, set[str | None] | set[str]] = {
            ErasureKind.EVENT: {key},
            ErasureKind.MESSAGE: {key},
            ErasureKind.SESSION: {one.session},
            ErasureKind.USER: {one.subject},
            ErasureKind.ENTITY: one.entities,
        }
        for scope, row in log.erasures:
            if one.first > row.until or not (one.scope == scope or (row.children and is_within(one.scope, scope))):
                continue
            if row.kind == ErasureKind.SCOPE or not names[ErasureKind(row.kind)].isdisjoint(row.ids):
                (may if row.kind == ErasureKind.ENTITY else must).add(key)
        if one.is_card:
            may.add(key)
    return must, may


def _searched(settings: Settings, driver: Driver, log: _Log, gone: Iterable[str], pick: random.Random) -> Searched:
    """The proof, scope by scope: by some of the marks in the graph, by all of them in the offload store."""
    marks: dict[str, list[str]] = defaultdict(list)
    for key in sorted(gone):
        told = log.events[key]
        marks[told.scope].append(mark(int(told.event_id.removeprefix("e"))))
    found = Searched()
    for scope in _scopes(log):
        all_of_it = marks.get(scope, [])
        sample = Needles(words=tuple(pick.sample(all_of_it, min(_LOOKED_FOR, len(all_of_it)))))
        searched = search_graph(driver, settings.neo4j_database, [scope], sample)
        search_payloads(settings, [scope], Needles(words=tuple(all_of_it)), searched)
        found.findings += searched.findings
        found.erased |= searched.erased
        for what, count in searched.counts.items():
            found.count(what, count)
    return found


def _of_payloads(settings: Settings, driver: Driver, log: _Log) -> list[str]:
    """What the offload store has is what the graph says that it has."""
    store = OffloadStore(settings.offload_url)
    there = set(chain.from_iterable(store.all(scope) for scope in _scopes(log)))
    kept = graphs.payloads(driver, settings.neo4j_database)
    wrong = [f"{len(kept - there)} payloads are gone that are kept: {sorted(kept - there)[:3]}"] if kept - there else []
    loose = there - kept
    return wrong + ([f"{len(loose)} payloads are there that nobody keeps: {sorted(loose)[:3]}"] if loose else [])


def _scopes(log: _Log) -> list[str]:
    return sorted({one.scope for one in log.events.values()} | {scope for scope, _ in log.erasures})


def _some(log: _Log, keys: Iterable[str]) -> list[tuple[str, str]]:
    return [(log.events[key].scope, log.events[key].event_id) for key in sorted(keys)[:5]]
