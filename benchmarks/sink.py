"""The sink against the same rows sent bare: patches a second into the graph, with all that makes them safe.

Bare are the same nodes and edges, ready as maps, by UNWIND … MERGE for each label and each type of edge, in one
transaction for the same batch. The sink has records: it decodes them, locks, tells known events, reads, folds facts,
chains sessions, moves its offset and seals. Both write to the same Neo4j under the same constraints and indexes, into
scopes of their own, batch by batch in turn: so a machine that slows down slows both.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from neo4j import ManagedTransaction

from benchmarks.figures import Aim, Figure, Section
from benchmarks.wipe import wipe_store
from memstream.extractors.vectors.dims import dimensions_of
from memstream.schemas.extraction import EntityName, EntityType, ExtractedAssertion, Extraction, Mention
from memstream.schemas.ids import event_key, order_key
from memstream.schemas.patch import Edge, Label, Origin, Patch, Vector
from memstream.schemas.topics import record_key
from memstream.settings import Settings
from memstream.sinks.export.form import LABELS
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.migrations import migrate
from memstream.sinks.records import PatchRecord
from memstream.sinks.stores import Store, Stores
from memstream.streams.collector import search_seldom
from memstream.streams.projection import names
from memstream.streams.projection.names import Ref
from memstream.streams.projection.rows import Rows
from memstream.streams.projection.said import add_extraction

NAME = "sink"
_AIM = Aim(0.7)
_BATCH = 1_000
_BATCHES, _QUICK_BATCHES, _WARM_UP = 8, 3, 1
_PEOPLE, _PLACES, _SESSION = 400, 120, 25

Row = dict[str, Any]

# Index: the unique key (scope, id), walked for one scope, in both.
_NODES = """
MATCH (n:LABEL {scope: $scope}) WHERE n.id IS NOT NULL AND n.at >= $since
RETURN n.id AS id, properties(n) AS props
"""
_EDGES = """
MATCH (n:LABEL {scope: $scope}) WHERE n.id IS NOT NULL
MATCH (n)-[r]->(m) WHERE r.at >= $since
RETURN n.id AS a, m.id AS b, labels(m) AS labels, type(r) AS type, properties(r) AS props
"""


async def run(stack: Settings, *, quick: bool) -> Section:
    """Patches a second with and without vectors, and each against bare."""
    return await asyncio.to_thread(_run, stack, _QUICK_BATCHES if quick else _BATCHES)


def _run(stack: Settings, batches: int) -> Section:
    figures: list[Figure] = []
    detail: dict[str, Any] = {}
    search_seldom()  # as the sink's process does
    with Stores.connect(stack) as stores:
        store = stores.of("benchmarks")
        migrate(store.driver, store.database, dimensions_of(stack.embedder))
        for words, dims in (("with vectors", dimensions_of(stack.embedder)), ("without vectors", 0)):
            told = _measure(store, batches, dims)
            detail[words] = told
            figures += [
                Figure(f"sink, {words}", told["sink"], "patches/s"),
                Figure(f"bare UNWIND … MERGE, {words}", told["bare"], "patches/s"),
                Figure(f"sink to bare, {words}", told["sink"] / told["bare"], "", _AIM),
            ]
    how = (
        f"{batches} batches of {_BATCH:,} patches of messages, each then sent bare, after one of each to warm up; "
        f"{detail['without vectors']['rows']:.0f} nodes and edges a patch.",
    )
    return Section(NAME, "The sink: patches into the graph", figures, how, detail)


def _measure(store: Store, batches: int, dims: int) -> Row:
    root = f"benchmarks/{secrets.token_hex(4)}"
    ours, theirs = f"{root}/sink", f"{root}/bare"
    topic = f"b{secrets.token_hex(5)}.patches"
    sink = GraphSink(store.driver, store.database, "benchmark")
    sink.resume(topic, 0, 1)
    took: dict[str, list[float]] = {"sink": [], "bare": []}
    rows = 0
    try:
        for number in range(batches + _WARM_UP):
            given = records(patches(ours, number, dims), number * _BATCH)
            took["sink"].append(timed(partial(_apply, sink, topic, given)))
            bare = Bare.read(store, ours, theirs, number * _BATCH)
            took["bare"].append(timed(partial(bare.send, store)))
            rows += bare.size
    finally:
        wipe_store(store, (ours, theirs), topic)
    rates = {name: (len(times) - _WARM_UP) * _BATCH / sum(times[_WARM_UP:]) for name, times in took.items()}
    return {**rates, "seconds": took, "rows": rows / _BATCH / (batches + _WARM_UP)}


def timed(turn: Callable[[], object]) -> float:
    """Seconds that it takes."""
    begun = time.perf_counter()
    turn()
    return time.perf_counter() - begun


def _apply(sink: GraphSink, topic: str, records: list[PatchRecord]) -> None:
    applied = sink.apply(topic, 0, records)
    sink.forget_changes([change.id for change in applied.changes])


def records(made: Sequence[Patch], offset: int) -> list[PatchRecord]:
    """The records of patches, from an offset on."""
    return [PatchRecord(offset + i, record_key(patch.origin.scope), patch.encode()) for i, patch in enumerate(made)]


@dataclass(slots=True)
class Bare:
    """The nodes and edges that a batch left in the graph, by what would be written for each label and each type."""

    nodes: dict[str, list[Row]] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], list[Row]] = field(default_factory=dict)

    @classmethod
    def read(cls, store: Store, source: str, target: str, since: int) -> Bare:
        """The rows of a scope from a position on, for another scope."""
        bare = cls()
        with store.driver.session(database=store.database) as session:
            for label in LABELS:
                found = session.run(cast(Any, _NODES.replace("LABEL", label)), scope=source, since=since)
                for row in found:
                    node = {"scope": target, "id": row["id"], "props": {**row["props"], "scope": target}}
                    bare.nodes.setdefault(label, []).append(node)
                found = session.run(cast(Any, _EDGES.replace("LABEL", label)), scope=source, since=since)
                for row in found:
                    other = next(name for name in LABELS if name in row["labels"])
                    edge = {"scope": target, "a": row["a"], "b": row["b"], "props": row["props"]}
                    bare.edges.setdefault((label, row["type"], other), []).append(edge)
        return bare

    @property
    def size(self) -> int:
        """How many nodes and edges."""
        return sum(map(len, (*self.nodes.values(), *self.edges.values())))

    def send(self, store: Store) -> None:
        """All rows in one transaction."""
        with store.driver.session(database=store.database) as session:
            session.execute_write(self._write)

    def _write(self, tx: ManagedTransaction) -> None:
        for label, rows in self.nodes.items():
            text = f"UNWIND $rows AS row MERGE (n:{label} {{scope: row.scope, id: row.id}}) SET n += row.props"
            tx.run(cast(Any, text), rows=rows).consume()
        for (start, kind, end), rows in self.edges.items():
            text = (
                f"UNWIND $rows AS row MATCH (a:{start} {{scope: row.scope, id: row.a}}) "
                f"MATCH (b:{end} {{scope: row.scope, id: row.b}}) MERGE (a)-[r:{kind}]->(b) SET r += row.props"
            )
            tx.run(cast(Any, text), rows=rows).consume()


def patches(scope: str, number: int, dims: int) -> list[Patch]:
    """A batch of messages: who said them, whom and what they name, what they say of it; alike in every scope.

    Six in ten assert something: mostly what is new or was said before, one in ten of them that someone has moved.
    """
    pick = random.Random(number)  # noqa: S311
    return [_message(scope, number * _BATCH + i, dims, pick) for i in range(_BATCH)]


def _message(scope: str, number: int, dims: int, pick: random.Random) -> Patch:
    time_text = f"2026-03-01T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}.{number:06d}Z"
    event, session = f"event-{number}", f"session-{number // _SESSION}"
    origin = origin_of(scope, NAME, event, time_text, number, session=session)
    key = origin.key
    rows = Rows(origin)
    home = pick.randrange(_PEOPLE)
    person, place = f"Person {home}", f"Place {home % _PLACES if pick.random() < 0.9 else pick.randrange(_PLACES)}"
    predicate = pick.choice(("lives_in", "visited"))
    text = f"{person} told me last week how they like it in {place}, and that they will write of it soon ({number})."
    props = {"event_id": event, "source": NAME, "session_id": session, "role": "user", "text": text}
    vector = Vector.of(NAME, [pick.uniform(-1, 1) for _ in range(dims)]) if dims else None
    ref = rows.own(Ref(Label.MESSAGE, key), props | {"time": time_text, "order": origin.order}, vector)
    chat = names.conversation(scope, session)
    rows.share(chat, "seen", {"session_id": session, "first_time": time_text}, first=True)
    rows.edge(Edge.HAS_MESSAGE, chat, ref)
    who, where = EntityName(EntityType.PERSON, person), EntityName(EntityType.LOCATION, place)
    said = (ExtractedAssertion(who, predicate, where),) if pick.random() < 0.6 else ()
    mentions = (Mention(who, person, 0, len(person)), Mention(where, place, 40, 40 + len(place)))
    add_extraction(rows, Extraction(mentions=mentions, assertions=said), ref)
    return patch_of(origin, rows)


def origin_of(scope: str, name: str, event: str, moment: str, number: int, *, session: str | None = None) -> Origin:
    """The origin of a benchmark's message: recorded when it was said, its number is its offset."""
    return Origin(
        scope=scope,
        source=name,
        id=event,
        key=event_key(scope, name, event),
        type="message",
        topic="conversation",
        partition=0,
        offset=number,
        time=moment,
        recorded_at=moment,
        order=order_key(moment, None, name, event),
        session_id=session,
    )


def patch_of(origin: Origin, rows: Rows) -> Patch:
    """The patch of a benchmark's message."""
    return Patch(
        generation=1,
        extractor=origin.source,
        origin=origin,
        nodes=rows.nodes,
        edges=rows.edges,
        assertions=tuple(rows.assertions),
    )
