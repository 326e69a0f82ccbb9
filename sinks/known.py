"""Which patches of a batch count: one event may arrive many times, and one patch of it decides, whatever the order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memstream.schemas.patch import Verdict
from memstream.sinks.records import Incoming, Rank
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
      made: e.made}) AS rows
    """,
)


@dataclass(frozen=True, slots=True)
class Stored:
    """An Event that is in the graph: its rank, and what it made there."""

    eid: str
    scope: str
    id: str
    rank: Rank
    verdict: str
    made: str | None

    @classmethod
    def of(cls, row: Row) -> Stored:
        """The event of a row."""
        place = (row["recorded_at"], row["topic"], row["partition"], row["offset"])
        rank = Rank.of(row["generation"], place, row["digest"])
        return cls(row["eid"], row["scope"], row["id"], rank, row["verdict"], row["made"])


@dataclass(slots=True)
class Judged:
    """The patches of a batch that count, in the order of their offsets, and the stored events that they take over."""

    winners: list[Incoming] = field(default_factory=list)
    replaced: list[Stored] = field(default_factory=list)
    dropped: int = 0


def judge(tx: Runs, fresh: Sequence[Incoming]) -> Judged:
    """Of all patches of one event, here and in the graph, the one of the best rank counts. A tie is the same patch."""
    best: dict[tuple[str, str], Incoming] = {}
    for one in fresh:
        held = best.get((one.scope, one.key))
        if held is None or one.rank < held.rank:
            best[one.scope, one.key] = one
    judged = Judged(dropped=len(fresh) - len(best))
    for stored in read(tx, best):
        challenger = best[stored.scope, stored.id]
        if challenger.rank < stored.rank:
            judged.replaced.append(stored)
        else:
            del best[stored.scope, stored.id]
            judged.dropped += 1
    judged.winners = sorted(best.values(), key=lambda one: one.offset)
    return judged


def read(tx: Runs, keys: Iterable[tuple[str, str]]) -> list[Stored]:
    """The events of these (scope, id) that are in the graph."""
    rows = [{"scope": scope, "id": event} for scope, event in sorted(keys)]
    return [Stored.of(row) for row in run(tx, EVENTS, keys=rows)] if rows else []


def event_props(one: Incoming, made: str, *, uses: bool = False) -> Row:
    """The Event node of a patch that is applied."""
    origin = one.patch.origin
    return _kept(one) | {
        "event_id": origin.id,
        "source": origin.source,
        "reason": one.patch.reason,
        "time": origin.time,
        "session_id": origin.session_id,
        "subject": origin.subject,
        "agent_id": origin.agent_id,
        "cut": list(one.patch.cut) or None,
        "made": made,
        "uses": uses or None,
    }


def erased_props(one: Incoming) -> Row:
    """The Event node of a patch that an erasure covers: that it was, and nothing of what or of whom it said."""
    return erased(_kept(one) | {"event_id": one.patch.origin.id})


def erased(props: Row) -> Row:
    """What is left of an Event when it is erased; its digest would still give its text away to who can guess it."""
    kept = ("scope", "id", "event_id", "type", "generation", "topic", "partition", "offset", "at", "recorded_at")
    return {name: props.get(name) for name in kept} | {"verdict": ERASED, "digest": ""}


def _kept(one: Incoming) -> Row:
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
    }
