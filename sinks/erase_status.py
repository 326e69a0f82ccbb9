"""What an erasure would reach, and how far those are that were asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neo4j import Driver

from memstream.schemas.names import normalise_name
from memstream.schemas.statement import ErasureKind
from memstream.sinks.erasure import Erasure, own_id
from memstream.sinks.failures import told_as_ours
from memstream.sinks.statements import Row, run, statement

_COUNT = "UNWIND $rows AS row MATCH (e:Event {scope: row.scope, "
_WHERE = """ AND ($until IS NULL OR coalesce(e.first, e.recorded_at) <= $until)
  AND e.verdict <> 'erased' AND e.erasure IS NULL
RETURN count(DISTINCT e) AS n"""
# Index: as of the statements of sinks.reached.
COUNTS = {
    ErasureKind.EVENT: (
        statement("count events by key", _COUNT + "id: row.named}) WHERE true" + _WHERE),
        statement("count events by id", _COUNT + "event_id: row.named}) WHERE true" + _WHERE),
    ),
    ErasureKind.SESSION: (statement("count of sessions", _COUNT + "session_id: row.named}) WHERE true" + _WHERE),),
    ErasureKind.USER: (statement("count of subjects", _COUNT + "subject: row.named}) WHERE true" + _WHERE),),
    ErasureKind.ENTITY: (
        statement(
            "count of entities",
            "UNWIND $rows AS row MATCH (:Entity {scope: row.scope, id: row.named})<-[:WROTE]-(e:Event) WHERE true"
            + _WHERE,
        ),
        statement(
            "count of what named entities",
            "UNWIND $rows AS row MATCH (e:Event {scope: row.scope}) "
            "WHERE e.id IS NOT NULL AND e.lost IS NOT NULL AND row.own IN e.lost" + _WHERE,
        ),
    ),
    ErasureKind.SCOPE: (
        statement(
            "count of scopes",
            "UNWIND $rows AS row MATCH (e:Event {scope: row.scope}) WHERE e.id IS NOT NULL" + _WHERE,
        ),
    ),
}
COUNTS[ErasureKind.MESSAGE] = COUNTS[ErasureKind.EVENT]
# Index: the unique key scope of Scope.
ALL_BELOW = statement(
    "all scopes below", "MATCH (s:Scope) WHERE s.scope STARTS WITH $prefix RETURN s.scope AS scope ORDER BY scope"
)
# Index: Entity (scope, norm), and the unique key (scope, id).
NAMED = statement(
    "entities by name or id",
    """
    UNWIND $names AS name
    CALL (name) {
      MATCH (e:Entity {scope: $scope, norm: name.norm}) RETURN e
      UNION MATCH (e:Entity {scope: $scope, id: name.name}) RETURN e
    }
    RETURN DISTINCT name.name AS asked, e.id AS id, e.type AS type, e.name AS name ORDER BY asked, type, id
    """,
)
_WORK = """
  w.scope AS scope, w.kind AS kind, w.named AS named, w.until AS until, w.below AS below, w.event_id AS event_id,
  w.events AS events, w.steps AS steps, w.pending IS NULL AS done
ORDER BY scope, event_id, kind, named, below
"""
# Index: the unique key (scope, id), by its first part; and ErasureWork (pending).
WORK_OF = statement(
    "erasures of a scope", "MATCH (w:ErasureWork {scope: $scope}) WHERE w.id IS NOT NULL RETURN" + _WORK
)
WORK_LEFT = statement("erasures not done", "MATCH (w:ErasureWork) WHERE w.pending IS NOT NULL RETURN" + _WORK)


# Index: the unique key (scope, id) of Entity, then the says of it; Event (scope, lost).
EVENTS_OF = statement(
    "events that name entities",
    """
    UNWIND $ids AS id
    CALL (id) {
      MATCH (:Entity {scope: $scope, id: id})<-[:WROTE]-(e:Event) RETURN e
      UNION
      MATCH (e:Event {scope: $scope}) WHERE e.id IS NOT NULL AND e.lost IS NOT NULL AND $own[id] IN e.lost RETURN e
    }
    WITH e WHERE e.verdict <> 'erased' AND e.erasure IS NULL
      AND ($until IS NULL OR coalesce(e.first, e.recorded_at) <= $until)
    RETURN DISTINCT e.source AS source, e.event_id AS event_id ORDER BY source, event_id
    """,
)
# Index: the unique key (scope, id).
APPLIED = statement("event there", "MATCH (e:Event {scope: $scope, id: $id}) RETURN e.verdict AS verdict")


@dataclass(frozen=True, slots=True)
class Progress:
    """An erasure as far as it is: events taken back so far, in so many steps after the first."""

    scope: str
    kind: str
    named: str
    until: str
    below: bool
    event_id: str
    events: int
    steps: int
    done: bool


@dataclass(frozen=True, slots=True)
class Named:
    """An entity that a name stands for."""

    asked: str
    id: str
    type: str
    name: str


def would_reach(driver: Driver, database: str, erasures: Iterable[Erasure], until: str | None) -> int:
    """How many events that are there now erasures would reach; `below` ones in all scopes below theirs."""
    total = 0
    with told_as_ours(), driver.session(database=database) as session:
        for one in erasures:
            scopes = [one.scope] if not one.below else [row["scope"] for row in _below(session, one.scope)]
            rows: list[Row] = [
                {"scope": scope, "named": one.named, "own": own_id(scope, one.kind, one.named)} for scope in scopes
            ]
            for what in COUNTS[ErasureKind(one.kind)]:
                total += run(session, what, rows=rows, until=until)[0]["n"] if rows else 0
    return total


def scopes_below(driver: Driver, database: str, scope: str) -> list[str]:
    """The scopes below a scope that the graph knows."""
    with told_as_ours(), driver.session(database=database) as session:
        return [row["scope"] for row in _below(session, scope)]


def entities_named(driver: Driver, database: str, scope: str, names: Sequence[str]) -> list[Named]:
    """The entities that these names or ids stand for, of every type."""
    asked = [{"name": name, "norm": normalise_name(name)} for name in names]
    with told_as_ours(), driver.session(database=database) as session:
        return [Named(**row) for row in run(session, NAMED, scope=scope, names=asked)]


def events_of(
    driver: Driver, database: str, scope: str, entities: Sequence[str], until: str | None
) -> dict[str, list[str]]:
    """The events that name entities now, by their source: another extractor may read other names in them."""
    found: dict[str, list[str]] = {}
    with told_as_ours(), driver.session(database=database) as session:
        own = {one: own_id(scope, ErasureKind.ENTITY, one) for one in entities}
        for row in run(session, EVENTS_OF, scope=scope, ids=list(entities), own=own, until=until):
            found.setdefault(row["source"], []).append(row["event_id"])
    return found


def progress(driver: Driver, database: str, scope: str | None = None) -> list[Progress]:
    """The erasures of a scope, done or not; without a scope all that are not done."""
    with told_as_ours(), driver.session(database=database) as session:
        rows = run(session, WORK_LEFT) if scope is None else run(session, WORK_OF, scope=scope)
        return [Progress(**row) for row in rows]


def is_applied(driver: Driver, database: str, scope: str, key: str) -> bool:
    """Whether the graph has the event of this key."""
    with told_as_ours(), driver.session(database=database) as session:
        return bool(run(session, APPLIED, scope=scope, id=key))


def _below(session: object, scope: str) -> list[Row]:
    return run(session, ALL_BELOW, prefix=scope + "/")  # type: ignore[arg-type]
