"""Which patches of a batch count: one event may arrive many times, and one patch of it decides, whatever the order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memstream.schemas.patch import Verdict
from memstream.sinks.erasure import lost_ids
from memstream.sinks.manifest import read_manifest
from memstream.sinks.records import Identity, Incoming, Rank
from memstream.sinks.statements import Row, Runs, run, statement

ERASED = "erased"

# Index: the unique key (scope, id) of Event.
EVENTS = statement(
    "known events",
    """
    UNWIND $keys AS key
    MATCH (e:Event {scope: key.scope, id: key.id})
    RETURN collect({eid: elementId(e), scope: e.scope, id: e.id, generation: e.generation, topic: e.topic,
      partition: e.partition, offset: e.offset, recorded_at: e.recorded_at, digest: e.digest, verdict: e.verdict,
      made: e.made, first: e.first}) AS rows
    """,
)


# By internal id, then its own says.
AGE = statement(
    "age events",
    """
    UNWIND $rows AS row
    MATCH (e) WHERE elementId(e) = row.eid SET e.first = row.first
    RETURN row.i AS i, e.event_id AS event_id, e.session_id AS session, e.subject AS subject, e.erasure AS erasure,
      e.lost AS lost, [(e)-[:WROTE]->(n:Entity) | n.id] AS entities
    """,
)


@dataclass(frozen=True, slots=True)
class Stored:
    """An Event that is in the graph: its rank, what it made there, and when it was first recorded, by any patch."""

    eid: str
    scope: str
    id: str
    rank: Rank
    verdict: str
    made: str | None
    first: str = ""

    @classmethod
    def of(cls, row: Row) -> Stored:
        """The event of a row."""
        place = (row["recorded_at"], row["topic"], row["partition"], row["offset"])
        rank = Rank.of(row["generation"], place, row["digest"])
        return cls(
            row["eid"],
            row["scope"],
            row["id"],
            rank,
            row["verdict"],
            row["made"],
            row.get("first") or row["recorded_at"],
        )


@dataclass(slots=True)
class Judged:
    """The patches of a batch that count, in the order of their offsets, and the stored events that they take over.

    `first` tells by (scope, id) when an event was first recorded, by any of its patches; `aged` are stored events that
    turn out to be older than was known, with the patch that says so. `shed` are payloads, by (scope, id), that only
    patches have which do not count: extraction has put them into the offload store, and nobody keeps them.
    """

    winners: list[Incoming] = field(default_factory=list)
    replaced: list[Stored] = field(default_factory=list)
    first: dict[Identity, str] = field(default_factory=dict)
    aged: list[tuple[Stored, Incoming]] = field(default_factory=list)
    shed: dict[Identity, set[str]] = field(default_factory=dict)
    dropped: int = 0


def judge(tx: Runs, fresh: Sequence[Incoming]) -> Judged:
    """Of all patches of one event, here and in the graph, the one of the best rank counts. A tie is the same patch."""
    best: dict[Identity, Incoming] = {}
    oldest: dict[Identity, Incoming] = {}
    for one in fresh:
        older = oldest.get(one.identity)
        if older is None or one.patch.origin.recorded_at < older.patch.origin.recorded_at:
            oldest[one.identity] = one
        held = best.get(one.identity)
        if held is None or one.rank < held.rank:
            best[one.identity] = one
    judged = Judged(dropped=len(fresh) - len(best))
    judged.first = {key: one.patch.origin.recorded_at for key, one in oldest.items()}
    standing: dict[Identity, Stored] = {}
    for stored in read(tx, best):
        key = (stored.scope, stored.id)
        challenger = best[key]
        if challenger.rank >= stored.rank and judged.first[key] < stored.first:
            judged.aged.append((stored, oldest[key]))
        judged.first[key] = min(judged.first[key], stored.first)
        if challenger.rank < stored.rank:
            judged.replaced.append(stored)
        else:
            del best[stored.scope, stored.id]
            judged.dropped += 1
            standing[key] = stored
    judged.winners = sorted(best.values(), key=lambda one: one.offset)
    judged.shed = _shed(fresh, best, standing)
    return judged


def _shed(
    fresh: Sequence[Incoming], best: dict[Identity, Incoming], standing: dict[Identity, Stored]
) -> dict[Identity, set[str]]:
    """Payloads that only those of these patches have which do not count."""
    shed: dict[Identity, set[str]] = {}
    for one in fresh:
        key = one.identity
        if one.payloads:
            winner = best.get(key)
            counts = winner.payloads if winner else frozenset(read_manifest(standing[key].made).payloads)
            shed.setdefault(key, set()).update(one.payloads - counts)
    return {key: payloads for key, payloads in shed.items() if payloads}


def read(tx: Runs, keys: Iterable[Identity]) -> list[Stored]:
    """The events of these (scope, id) that are in the graph."""
    rows = [{"scope": scope, "id": event} for scope, event in sorted(keys)]
    return [Stored.of(row) for row in run(tx, EVENTS, keys=rows)] if rows else []


def event_props(one: Incoming, first: str, made: str, *, uses: bool = False) -> Row:
    """The Event node of a patch that is applied; `first` is when the event was first recorded, by any patch."""
    origin = one.patch.origin
    return _kept(one, first) | {
        "event_id": origin.id,
        "source": origin.source,
        "reason": one.patch.reason,
        "time": origin.time,
        "session_id": origin.session_id,
        "subject": origin.subject,
        "agent_id": origin.agent_id,
        "cut": list(one.patch.cut) or None,
        "missing": list(one.patch.missing) or None,
        "made": made,
        "uses": uses or None,
        "lost": lost_ids(one.scope, one.lost),
    }


def erased_props(one: Incoming, first: str) -> Row:
    """The Event node of a patch that an erasure covers: that it was, and nothing of what or of whom it said."""
    return erased(_kept(one, first) | {"event_id": one.patch.origin.id})


def erased(props: Row) -> Row:
    """What is left of an Event when it is erased; its digest would still give its text away to who can guess it."""
    kept = (
        "scope",
        "id",
        "event_id",
        "type",
        "generation",
        "topic",
        "partition",
        "offset",
        "at",
        "recorded_at",
        "first",
    )
    return {name: props.get(name) for name in kept} | {"verdict": ERASED, "digest": ""}


def _kept(one: Incoming, first: str) -> Row:
    origin = one.patch.origin
    return {
        "scope": origin.scope,
        "id": origin.key,
        "type": origin.type,
        "generation": one.generation,
        "topic": origin.topic,
        "partition": origin.partition,
        "offset": origin.offset,
        "digest": one.digest,
        "verdict": (one.patch.verdict or Verdict.APPLIED).value,
        "erasure": bool(one.patch.erasures) or None,
        "at": one.offset,
        "recorded_at": origin.recorded_at,
        "first": first if first < origin.recorded_at else None,
    }
