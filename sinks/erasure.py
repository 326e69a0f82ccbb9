"""Erasures: kept in the graph, they reach what is there and what arrives later, up to their time.

An erasure names events by key, sessions, subjects or the whole scope. What it covers leaves an Event node that says
that it was, when and where, and nothing of what it said. Erasures themselves are not erased.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memstream.schemas.ids import hash_of
from memstream.schemas.patch import ErasureRow
from memstream.schemas.statement import ErasureKind
from memstream.sinks.known import Stored, erased
from memstream.sinks.nodes import RESET
from memstream.sinks.records import Incoming
from memstream.sinks.slots import Cause
from memstream.sinks.statements import Row, Runs, run, statement
from memstream.sinks.writer import Writer

# Index: the unique key (scope, id), by its first part.
KEPT = statement(
    "erasures of scopes",
    """
    UNWIND $scopes AS scope
    MATCH (x:Erasure {scope: scope}) WHERE x.id IS NOT NULL
    RETURN x.scope AS scope, x.id AS id, x.kind AS kind, x.ids AS ids, x.until AS until
    """,
)
# Index: the unique key (scope, id).
KEEP = statement(
    "keep erasures",
    "UNWIND $rows AS row MERGE (x:Erasure {scope: row.scope, id: row.id}) ON CREATE SET x += row",
)
_FOUND = """
  AND e.recorded_at <= row.until AND e.verdict <> 'erased' AND e.erasure IS NULL
RETURN DISTINCT row.i AS i, elementId(e) AS eid, e.scope AS scope, e.id AS id, e.generation AS generation,
  e.topic AS topic, e.partition AS partition, e.offset AS offset, e.recorded_at AS recorded_at, e.digest AS digest,
  e.verdict AS verdict, e.made AS made
"""
_IDS = "UNWIND $rows AS row UNWIND row.ids AS one MATCH (e:Event {scope: row.scope, "
# Index: Event (scope, id), (scope, event_id), (scope, session_id), (scope, subject); a whole scope by (scope, id).
FIND = {
    ErasureKind.EVENT: [
        statement("events by key", _IDS + "id: one}) WHERE true" + _FOUND),
        statement("events by id", _IDS + "event_id: one}) WHERE true" + _FOUND),
    ],
    ErasureKind.SESSION: [statement("events of sessions", _IDS + "session_id: one}) WHERE true" + _FOUND)],
    ErasureKind.USER: [statement("events of subjects", _IDS + "subject: one}) WHERE true" + _FOUND)],
    ErasureKind.SCOPE: [
        statement(
            "events of a scope",
            "UNWIND $rows AS row MATCH (e:Event {scope: row.scope}) WHERE e.id IS NOT NULL" + _FOUND,
        )
    ],
}
FIND[ErasureKind.MESSAGE] = FIND[ErasureKind.EVENT]
# By internal id: what is left of an Event.
STRIP = statement(
    "read events",
    "UNWIND $eids AS eid MATCH (e) WHERE elementId(e) = eid RETURN eid, properties(e) AS props",
)


@dataclass(frozen=True, slots=True)
class Erasure:
    """What is to be forgotten in a scope, as far as recorded up to `until`."""

    scope: str
    kind: str
    ids: frozenset[str]
    until: str

    @classmethod
    def of(cls, scope: str, row: ErasureRow) -> Erasure:
        """The erasure of a patch's row."""
        return cls(scope, row.kind, frozenset(row.ids), row.until)

    @property
    def id(self) -> str:
        """The same erasure twice is one."""
        return hash_of("erasure", self.scope, self.kind, self.until, *sorted(self.ids))

    def covers(self, one: Incoming) -> bool:
        """Whether it reaches this event."""
        origin = one.patch.origin
        if one.scope != self.scope or origin.recorded_at > self.until or one.patch.erasures:
            return False
        named: dict[str, set[str | None]] = {
            ErasureKind.EVENT: {origin.key, origin.id},
            ErasureKind.MESSAGE: {origin.key, origin.id},
            ErasureKind.SESSION: {origin.session_id},
            ErasureKind.USER: {origin.subject},
        }
        return self.kind == ErasureKind.SCOPE or not self.ids.isdisjoint(named.get(self.kind, ()))


def read_and_keep(tx: Runs, batch: Sequence[Incoming]) -> tuple[list[Erasure], dict[Erasure, Cause]]:
    """All erasures of the batch's scopes; and those that this batch brings, with what brings them.

    An erasure counts whichever patch of its event wins.
    """
    rows = run(tx, KEPT, scopes=sorted({one.scope for one in batch}))
    known = {Erasure(row["scope"], row["kind"], frozenset(row["ids"]), row["until"]): row["id"] for row in rows}
    brought: dict[Erasure, Cause] = {}
    for one in batch:
        for row in one.patch.erasures:
            erasure = Erasure.of(one.scope, row)
            if erasure not in known:
                brought.setdefault(erasure, Cause(one.offset, one.patch.origin.id))
    if brought:
        kept = [
            {"scope": x.scope, "id": x.id, "kind": x.kind, "ids": sorted(x.ids), "until": x.until, "at": cause.at}
            for x, cause in brought.items()
        ]
        run(tx, KEEP, rows=kept)
    return [*known, *brought], brought


def reached(tx: Runs, brought: dict[Erasure, Cause]) -> list[tuple[Stored, Cause]]:
    """The events in the graph that new erasures cover, each once."""
    found: dict[str, tuple[Stored, Cause]] = {}
    for kind, statements in FIND.items():
        erasures = [x for x in brought if x.kind == kind]
        if not erasures:
            continue
        rows = [{"i": i, "scope": x.scope, "ids": sorted(x.ids), "until": x.until} for i, x in enumerate(erasures)]
        for what in statements:
            for row in run(tx, what, rows=rows):
                found.setdefault(row["eid"], (Stored.of(row), brought[erasures[row["i"]]]))
    return list(found.values())


def strip(writer: Writer, events: Iterable[Stored]) -> None:
    """Leave of these Event nodes only that they were."""
    eids = [event.eid for event in events]
    if not eids:
        return
    rows: list[Row] = [{"eid": row["eid"], "props": erased(row["props"])} for row in writer.run(STRIP, eids=eids)]
    writer.run(RESET, rows=rows)
