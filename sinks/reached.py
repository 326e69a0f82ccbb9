"""The events in the graph that erasures reach, the newest first, at most so many at a time.

The newest go first because what shows on a shared node is mostly what was said first: so a session's node is folded
again at the end, and not with each of its messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memstream.schemas.statement import ErasureKind
from memstream.sinks.erasure import Erasure, Known, covered, own_id
from memstream.sinks.known import AGE, ERASED, Stored, erased
from memstream.sinks.nodes import RESET
from memstream.sinks.records import Identity, Incoming, Place
from memstream.sinks.slots import Cause
from memstream.sinks.statements import Row, Runs, run, statement
from memstream.sinks.writer import Writer

_FOUND = """
    AND coalesce(e.first, e.recorded_at) <= row.until AND e.verdict <> 'erased' AND e.erasure IS NULL
  RETURN e ORDER BY e.at DESC LIMIT $most
}
RETURN DISTINCT row.i AS i, elementId(e) AS eid, e.scope AS scope, e.id AS id, e.generation AS generation,
  e.topic AS topic, e.partition AS partition, e.offset AS offset, e.recorded_at AS recorded_at, e.digest AS digest,
  e.verdict AS verdict, e.made AS made, e.session_id AS session, e.event_id AS event_id, e.first AS first
"""
_EVENTS = "UNWIND $rows AS row CALL (row) { MATCH (e:Event {scope: row.scope, "
_LOST = _EVENTS[:-2] + "}) WHERE e.id IS NOT NULL AND e.lost IS NOT NULL AND row.own IN e.lost"
# Index: Event (scope, id), (scope, event_id), (scope, session_id), (scope, subject); a whole scope by (scope, id); an
# entity by its unique key, then the says of it, and Event (scope, lost) for those that named it once.
FIND = {
    ErasureKind.EVENT: [
        statement("events by key", _EVENTS + "id: row.named}) WHERE true" + _FOUND),
        statement("events by id", _EVENTS + "event_id: row.named}) WHERE true" + _FOUND),
    ],
    ErasureKind.SESSION: [statement("events of sessions", _EVENTS + "session_id: row.named}) WHERE true" + _FOUND)],
    ErasureKind.USER: [statement("events of subjects", _EVENTS + "subject: row.named}) WHERE true" + _FOUND)],
    ErasureKind.ENTITY: [
        statement(
            "events of entities",
            "UNWIND $rows AS row CALL (row) { MATCH (:Entity {scope: row.scope, id: row.named})<-[:WROTE]-(e:Event) "
            "WHERE true" + _FOUND,
        ),
        statement("events that named entities", _LOST + _FOUND),
    ],
    ErasureKind.SCOPE: [
        statement(
            "events of a scope",
            "UNWIND $rows AS row CALL (row) { MATCH (e:Event {scope: row.scope}) WHERE e.id IS NOT NULL" + _FOUND,
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
class Reached:
    """An event that is to be forgotten, and where else to look for what was read with its help."""

    event: Stored
    session: str | None
    event_id: str | None


def reached(tx: Runs, erasures: Iterable[Erasure], most: int) -> list[tuple[Reached, Erasure]]:
    """Events in the graph that these erasures of scopes cover, each once, at most `most` by each erasure."""
    found: dict[str, tuple[Reached, Erasure]] = {}
    by_kind: dict[str, list[Erasure]] = {}
    for erasure in erasures:
        by_kind.setdefault(erasure.kind, []).append(erasure)
    for kind, asked in by_kind.items():
        rows = [_row(i, one) for i, one in enumerate(asked)]
        for what in FIND[ErasureKind(kind)]:
            for row in run(tx, what, rows=rows, most=most):
                one = Reached(Stored.of(row), row["session"], row["event_id"])
                found.setdefault(row["eid"], (one, asked[row["i"]]))
    return list(found.values())


def _row(i: int, erasure: Erasure) -> Row:
    own = own_id(erasure.scope, erasure.kind, erasure.named)
    return {"i": i, "scope": erasure.scope, "named": erasure.named, "until": erasure.until, "own": own}


def by_event(reached: Iterable[tuple[Reached, Cause]]) -> list[tuple[Reached, Cause]]:
    """Each event once."""
    return list({one.event.eid: (one, cause) for one, cause in reached}.values())


def aged(
    tx: Runs, homes: Mapping[str, Place], events: Sequence[tuple[Stored, Incoming]]
) -> list[tuple[Reached, Cause]]:
    """Let stored events be as old as a patch says that is not applied; those that an erasure covers by that."""
    if not events:
        return []
    rows = [{"i": i, "eid": one.eid, "first": by.patch.origin.recorded_at} for i, (one, by) in enumerate(events)]
    found: dict[Identity, tuple[Reached, Cause]] = {}
    known: list[Known] = []
    for row in run(tx, AGE, rows=rows):
        stored, by = events[row["i"]]
        if stored.verdict == ERASED or row["erasure"]:
            continue
        cause = Cause(by.offset, by.patch.origin.id)
        found[stored.scope, stored.id] = Reached(stored, row["session"], row["event_id"]), cause
        names = (row["event_id"], row["session"], row["subject"], frozenset(row["entities"]))
        first, lost = by.patch.origin.recorded_at, frozenset(row["lost"] or ())
        known.append(Known(stored.scope, stored.id, *names, first, lost))
    return [found[one] for one in sorted(covered(tx, homes, known))]


def strip(writer: Writer, events: Iterable[Stored]) -> None:
    """Leave of these Event nodes only that they were."""
    eids = [event.eid for event in events]
    if not eids:
        return
    rows: list[Row] = [{"eid": row["eid"], "props": erased(row["props"])} for row in writer.run(STRIP, eids=eids)]
    writer.run(RESET, rows=rows)
