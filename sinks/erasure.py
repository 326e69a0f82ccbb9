"""Erasures: kept in the graph, they reach what is there and what arrives later, up to their time.

An erasure names an event by its key or id, a session, a subject, an entity or the whole scope; each name has a node of
its own, found by key, so that a thousand erasures cost an event no more than one. What it covers leaves an Event node
that says that it was, when and where, and nothing of what it said. Erasures themselves are not erased. One that reaches
below its scope is kept once in each partition of the patches, for the scopes that live there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from memstream.schemas.ids import hash_of
from memstream.schemas.patch import Label, Patch
from memstream.schemas.statement import ErasureKind
from memstream.sinks.records import Identity, Incoming, Place
from memstream.sinks.slots import Cause
from memstream.sinks.statements import Row, Runs, run, statement

BELOW = (ErasureKind.SESSION, ErasureKind.USER, ErasureKind.SCOPE)

# Index: the unique key (scope, id), by its first part: is there any?
ANY = statement(
    "scopes with erasures",
    """
    UNWIND $scopes AS scope
    CALL (scope) { MATCH (x:Erasure {scope: scope}) WHERE x.id IS NOT NULL RETURN x LIMIT 1 }
    RETURN scope
    """,
)
# Index: the unique key (scope, id).
KEPT = statement(
    "erasures by key",
    """
    UNWIND $keys AS key
    MATCH (x:Erasure {scope: key.scope, id: key.id})
    RETURN collect({id: x.id, until: x.until}) AS rows
    """,
)
# Index: the unique key (scope, id). The latest bound counts.
KEEP = statement(
    "keep erasures",
    """
    UNWIND $rows AS row
    MERGE (x:Erasure {scope: row.scope, id: row.id})
    ON CREATE SET x += row
    SET x.until = CASE WHEN x.until < row.until THEN row.until ELSE x.until END
    """,
)


@dataclass(frozen=True, slots=True)
class Erasure:
    """What is to be forgotten in a scope, or in the scopes below it, as far as recorded up to `until`."""

    scope: str
    kind: str
    named: str
    until: str
    below: bool = False

    def id(self, place: Place) -> str:
        """The node that keeps it: one for each name, and for what reaches below one in each partition."""
        if self.below:
            return below_id(place, self.scope, self.kind, self.named)
        return own_id(self.scope, self.kind, self.named)


def own_id(scope: str, kind: str, named: str) -> str:
    """The id of the erasure of a name in its scope."""
    return hash_of("erasure", scope, kind, named)


def below_id(place: Place, scope: str, kind: str, named: str) -> str:
    """The id of the erasure of a name below a scope, as far as a partition has it."""
    return hash_of("erasure below", place.topic, str(place.partition), scope, kind, named)


def lost_ids(scope: str, entities: Iterable[str]) -> list[str] | None:
    """What an event keeps of entities that it names no more: the ids of their erasures, which tell no name or entity.

    None where there are none.
    """
    return sorted(own_id(scope, ErasureKind.ENTITY, entity) for entity in entities) or None


def entities_in(patch: Patch) -> frozenset[str]:
    """The entities that a patch names."""
    return frozenset(row.id for row in patch.nodes if row.label is Label.ENTITY)


def above(scope: str) -> list[str]:
    """The scopes above a scope, the nearest first."""
    parts = scope.split("/")
    return ["/".join(parts[:n]) for n in range(len(parts) - 1, 0, -1)]


def brought_by(one: Incoming) -> Iterable[Erasure]:
    """The erasures of a patch: those of its scope, or of the scopes below where it is a copy for them."""
    below = one.patch.copy_below
    for row in one.patch.erasures:
        if below and not row.children:
            continue
        for named in row.ids if row.kind != ErasureKind.SCOPE else ("",):
            yield Erasure(one.scope, row.kind, named, row.until, below)


def keep(tx: Runs, place: Place, batch: Sequence[Incoming]) -> dict[Erasure, Cause]:
    """Keep the erasures that a batch brings; returns those that reach further than what was kept before.

    An erasure counts whichever patch of its event wins.
    """
    brought: dict[str, tuple[Erasure, Cause]] = {}
    for one in batch:
        for erasure in brought_by(one):
            held = brought.get(erasure.id(place))
            if held is None or held[0].until < erasure.until:
                brought[erasure.id(place)] = (erasure, Cause(one.offset, one.patch.origin.id))
    if not brought:
        return {}
    keys = [{"scope": erasure.scope, "id": one} for one, (erasure, _) in brought.items()]
    known = {row["id"]: row["until"] for row in run(tx, KEPT, keys=keys)}
    new = {one: pair for one, pair in brought.items() if one not in known or known[one] < pair[0].until}
    run(tx, KEEP, rows=[_props(place, one, *pair) for one, pair in new.items()])
    return dict(new.values())


@dataclass(frozen=True, slots=True)
class Known:
    """An event as erasures name it: `first` is when it was first recorded.

    `lost` are the ids of the erasures of those entities that it named once (see `lost_ids`).
    """

    scope: str
    key: str
    event_id: str
    session: str | None
    subject: str | None
    entities: frozenset[str]
    first: str
    lost: frozenset[str] = frozenset()

    @classmethod
    def of(cls, one: Incoming, first: str) -> Known:
        """The event of a patch."""
        origin = one.patch.origin
        names = (origin.id, origin.session_id, origin.subject, entities_in(one.patch))
        return cls(one.scope, one.key, *names, first)


def covered(tx: Runs, homes: Mapping[str, Place], events: Sequence[Known]) -> set[Identity]:
    """Those of these events that an erasure covers, whichever came first; `homes` tells the partition of each scope."""
    asked = {scope for one in events for scope in (one.scope, *above(one.scope))}
    flagged = {row["scope"] for row in run(tx, ANY, scopes=sorted(asked))} if asked else set()
    keys: dict[tuple[str, str], list[Known]] = {}
    for one in events if flagged else ():
        for scope, kept in keys_of(homes[one.scope], one, flagged):
            keys.setdefault((scope, kept), []).append(one)
    if not keys:
        return set()
    by_id: dict[str, list[Known]] = {}
    for (_, kept), named in keys.items():
        by_id.setdefault(kept, []).extend(named)
    rows = run(tx, KEPT, keys=[{"scope": scope, "id": kept} for scope, kept in sorted(keys)])
    return {(one.scope, one.key) for row in rows for one in by_id[row["id"]] if one.first <= row["until"]}


def keys_of(place: Place, one: Known, flagged: Collection[str]) -> Iterable[tuple[str, str]]:
    """Scope and id of every erasure that would reach this event, in those scopes that have any."""
    names = [(kind, name) for kind in (ErasureKind.EVENT, ErasureKind.MESSAGE) for name in (one.key, one.event_id)]
    names += [(ErasureKind.ENTITY, entity) for entity in one.entities]
    wide = [(ErasureKind.SCOPE, "")]
    wide += [(ErasureKind.SESSION, one.session)] if one.session is not None else []
    wide += [(ErasureKind.USER, one.subject)] if one.subject is not None else []
    for kind, named in (*names, *wide) if one.scope in flagged else ():
        yield one.scope, own_id(one.scope, kind, named)
    for kept in one.lost if one.scope in flagged else ():
        yield one.scope, kept
    for scope in (scope for scope in above(one.scope) if scope in flagged):
        for kind, named in wide:
            yield scope, below_id(place, scope, kind, named)


def _props(place: Place, one: str, erasure: Erasure, cause: Cause) -> Row:
    props: Row = {
        "scope": erasure.scope,
        "id": one,
        "kind": erasure.kind,
        "named": erasure.named,
        "until": erasure.until,
    }
    if erasure.below:
        # without a position of its own: the digest is of what was said, and copies follow from the partitions
        return props | {"below": True, "topic": place.topic, "partition": place.partition, "since": cause.at}
    return props | {"at": cause.at}
