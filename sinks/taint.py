"""What was read with the help of an erased event goes with it: mentions and assertions of other events of its session.

An event in the graph says in its manifest what it used; a patch that comes later says so itself. Both are cut by the
same rule (folds.erasure), so it makes no difference which came first. Whom an event is no longer about it remembers by
the ids of the erasures that would reach it by that: whether the entity is erased before or after makes no difference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from memstream.folds.erasure import uses, without
from memstream.sinks.erasure import entities_in, lost_ids
from memstream.sinks.known import Stored
from memstream.sinks.manifest import Manifest, read_manifest, split, write_manifest
from memstream.sinks.records import Incoming
from memstream.sinks.slots import Cause
from memstream.sinks.statements import Runs, run, statement
from memstream.sinks.writer import Writer

_EVENT = """
  elementId(e) AS eid, e.scope AS scope, e.id AS id, e.generation AS generation, e.topic AS topic,
  e.partition AS partition, e.offset AS offset, e.recorded_at AS recorded_at, e.digest AS digest, e.verdict AS verdict,
  e.made AS made, e.session_id AS session, e.event_id AS event_id
"""
# Index: the unique key (scope, id) of Event.
GONE = statement(
    "erased of events",
    "UNWIND $keys AS key MATCH (e:Event {scope: key.scope, id: key.id}) WHERE e.verdict = 'erased' "
    "RETURN collect({scope: e.scope, id: e.id}) AS rows",
)
# Index: Event (scope, session_id).
USERS = statement(
    "events that used others",
    "UNWIND $rows AS row MATCH (e:Event {scope: row.scope, session_id: row.session}) WHERE e.uses = true "
    "RETURN DISTINCT" + _EVENT,
)
# By internal id.
REWRITE = statement(
    "rewrite manifests",
    "UNWIND $rows AS row MATCH (e) WHERE elementId(e) = row.eid SET e.made = row.made, e.uses = row.uses, "
    "e.lost = CASE WHEN row.lost IS NULL THEN e.lost ELSE coalesce(e.lost, []) + row.lost END",
)


@dataclass(frozen=True, slots=True)
class Gone:
    """An event that is erased now: where it was, and by what."""

    scope: str
    key: str
    session: str | None
    cause: Cause


@dataclass(frozen=True, slots=True)
class Tainted:
    """An event in the graph that loses a part of what it made."""

    event: Stored
    cause: Cause
    part: Manifest
    left: Manifest
    orphans: frozenset[str]


def tainted(tx: Runs, gone: Collection[Gone], but: Collection[tuple[str, str]]) -> list[Tainted]:
    """Events that used what is erased now. `but` are (scope, id) of those that are taken back as a whole anyway."""
    sessions = sorted({(one.scope, one.session) for one in gone if one.session is not None})
    if not sessions:
        return []
    erased: dict[str, dict[str, Cause]] = {}
    for one in gone:
        erased.setdefault(one.scope, {})[one.key] = one.cause
    found = []
    for row in run(tx, USERS, rows=[{"scope": scope, "session": session} for scope, session in sessions]):
        event, keys = Stored.of(row), erased[row["scope"]]
        if (event.scope, event.id) in but:
            continue
        part, left, orphans = split(read_manifest(event.made), keys)
        if part.edges or part.assertions:
            used = {key for edge in part.edges for key in edge.used}
            used |= {key for about in part.about.values() for key in about.used}
            cause = max((keys[key] for key in used & keys.keys()), key=lambda cause: cause.at)
            found.append(Tainted(event, cause, part, left, frozenset(orphans)))
    return found


def rewrite(writer: Writer, rows: Iterable[Tainted]) -> None:
    """Let the Event nodes say what is left of what they made."""
    sent = [
        {
            "eid": one.event.eid,
            "made": write_manifest(one.left),
            "uses": one.left.uses or None,
            "lost": lost_ids(one.event.scope, one.orphans),
        }
        for one in rows
    ]
    if sent:
        writer.run(REWRITE, rows=sent)


def pruned(tx: Runs, applied: Sequence[Incoming], gone: Collection[Gone]) -> list[Incoming]:
    """These patches without what used an event that is erased, now or before."""
    used = {one.identity: keys for one in applied if (keys := uses(one.patch))}
    if not used:
        return list(applied)
    asked = sorted({(one.scope, key) for one in applied for key in used.get(one.identity, ())})
    erased: dict[str, set[str]] = {}
    for row in run(tx, GONE, keys=[{"scope": scope, "id": key} for scope, key in asked]):
        erased.setdefault(row["scope"], set()).add(row["id"])
    for one in gone:
        erased.setdefault(one.scope, set()).add(one.key)
    return [_pruned(one, erased.get(one.scope, ())) if one.identity in used else one for one in applied]


def _pruned(one: Incoming, erased: Collection[str]) -> Incoming:
    left = without(one.patch, erased)
    return replace(one, patch=left, lost=entities_in(one.patch) - entities_in(left))
