"""The work behind an erasure, in steps: what it reaches is taken back in transactions of bounded size.

An erasure that reaches few events is done in the transaction that brings it. Of a larger one a first part is, and an
ErasureWork node keeps what is left to do: reads pass over all that it reaches from then on, each step takes back some
hundred events more, and whoever has the partition goes on with it after a crash. A step is atomic like a batch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from memstream.schemas.ids import hash_of
from memstream.sinks.erasure import Erasure
from memstream.sinks.reached import Reached, reached
from memstream.sinks.records import Place
from memstream.sinks.slots import Cause
from memstream.sinks.statements import Row, Runs, run, statement

STEP = 200
_SCOPES = 100

# Index: the unique key (scope, id).
LEAVE = statement(
    "leave erasures",
    """
    UNWIND $rows AS row
    MERGE (w:ErasureWork {scope: row.scope, id: row.id})
    ON CREATE SET w.events = 0, w.steps = 0
    SET w.kind = row.kind, w.named = row.named, w.until = row.until, w.below = row.below, w.event_id = row.event_id,
      w.since = row.since, w.pending = row.pending, w.cursor = row.cursor, w.events = w.events + row.events,
      w.steps = w.steps + row.steps
    """,
)
# Index: ErasureWork (pending).
PENDING = statement(
    "pending erasures",
    """
    MATCH (w:ErasureWork {pending: $pending})
    RETURN w.scope AS scope, w.id AS id, w.kind AS kind, w.named AS named, w.until AS until, w.below AS below,
      w.event_id AS event_id, w.since AS since, w.cursor AS cursor, w.events AS events,
      w.steps AS steps
    ORDER BY w.since, w.id LIMIT 1
    """,
)
# Index: the unique key scope of Scope, in its order.
SCOPES_BELOW = statement(
    "scopes below",
    """
    MATCH (s:Scope) WHERE s.scope STARTS WITH $prefix AND s.scope > $cursor
      AND s.topic = $topic AND s.partition = $partition
    RETURN s.scope AS scope ORDER BY s.scope LIMIT $most
    """,
)


@dataclass(frozen=True, slots=True)
class Work:
    """An erasure that is not done: what it is, what caused it, how many events it reached, and where it stands."""

    erasure: Erasure
    cause: Cause
    events: int = 0
    cursor: str = ""
    steps: int = 0


@dataclass(slots=True)
class Now:
    """The events that are taken back in this transaction, and whether there are more."""

    reached: list[tuple[Reached, Cause]] = field(default_factory=list)
    more: bool = False


def begin(tx: Runs, place: Place, brought: dict[Erasure, Cause], winners: Collection[tuple[str, str]]) -> Now:
    """What erasures that are new reach in their own scopes, as far as one transaction goes; the rest is left to steps.

    `winners` are events, by (scope, id), that the batch replaces: their new patches are judged by themselves.
    """
    now = Now()
    own = [erasure for erasure in brought if not erasure.below]
    found = reached(tx, own, STEP + 1) if own else []
    unfinished = {erasure for _, erasure in found[STEP:]} | {erasure for erasure in brought if erasure.below}
    counts: dict[Erasure, int] = {}
    for one, erasure in found[:STEP]:
        counts[erasure] = counts.get(erasure, 0) + 1
        if (one.event.scope, one.event.id) not in winners:
            now.reached.append((one, brought[erasure]))
    now.more = bool(unfinished)
    works = [(Work(erasure, cause), erasure in unfinished) for erasure, cause in brought.items()]
    _leave(tx, place, [(replace(work, events=counts.get(work.erasure, 0)), more) for work, more in works])
    return now


def next_work(tx: Runs, place: Place) -> Work | None:
    """The oldest erasure of the partition that is not done."""
    for row in run(tx, PENDING, pending=pending_of(place)):
        erasure = Erasure(row["scope"], row["kind"], row["named"], row["until"], row["below"])
        return Work(erasure, Cause(row["since"], row["event_id"]), row["events"], row["cursor"], row["steps"])
    return None


def scopes_of(tx: Runs, place: Place, work: Work) -> list[str]:
    """The scopes that the next step of an erasure looks at."""
    if not work.erasure.below:
        return [work.erasure.scope]
    prefix = work.erasure.scope + "/"
    rows = run(
        tx,
        SCOPES_BELOW,
        prefix=prefix,
        cursor=work.cursor,
        topic=place.topic,
        partition=place.partition,
        most=_SCOPES,
    )
    return [row["scope"] for row in rows]


def take(tx: Runs, place: Place, work: Work, scopes: Iterable[str], at: int) -> Now:
    """The next events that an erasure reaches in these scopes, which are locked; keeps how far it is.

    `at` is the position of the step: what it changes has changed there.
    """
    now = Now()
    looked = list(scopes)
    cause = replace(work.cause, at=max(at, work.cause.at), step=work.steps + 1)
    cursor = work.cursor
    for scope in looked:
        found = reached(tx, [replace(work.erasure, scope=scope, below=False)], STEP + 1 - len(now.reached))
        now.reached += [(one, cause) for one, _ in found]
        if len(now.reached) > STEP:
            now.reached, now.more = now.reached[:STEP], True
            break
        cursor = scope
    now.more = now.more or (work.erasure.below and len(looked) == _SCOPES)
    _leave(tx, place, [(replace(work, events=len(now.reached), cursor=cursor, steps=1), now.more)])
    return now


def pending_of(place: Place) -> str:
    """What marks the work of a partition."""
    return f"{place.topic}/{place.partition}"


def work_id(place: Place, erasure: Erasure) -> str:
    """The node of an erasure's work."""
    return hash_of("work", erasure.id(place))


def _leave(tx: Runs, place: Place, works: Iterable[tuple[Work, bool]]) -> None:
    rows: list[Row] = [
        {
            "scope": work.erasure.scope,
            "id": work_id(place, work.erasure),
            "kind": work.erasure.kind,
            "named": work.erasure.named,
            "until": work.erasure.until,
            "below": work.erasure.below,
            "event_id": work.cause.event_id,
            "since": work.cause.at,
            "cursor": work.cursor,
            "events": work.events,
            "steps": work.steps,
            "pending": pending_of(place) if more else None,
        }
        for work, more in works
    ]
    if rows:
        run(tx, LEAVE, rows=rows)
