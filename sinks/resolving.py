"""What resolution reads of a scope: its entities page by page, facts about some, what was said and found of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from neo4j import READ_ACCESS, Driver, ManagedTransaction

from memstream.folds.parts import say_key, winner
from memstream.folds.sames import Known, Profile, Same, Status
from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import EntityType
from memstream.sinks.failures import told_as_ours
from memstream.sinks.links import SAME_AS
from memstream.sinks.manifest import LINKED
from memstream.sinks.statements import Row, Statement, run, statement

PAGE = 2_000
MOST_FACTS = 50
"""Facts of an entity that are looked at, the first by their claims."""

Pair = tuple[str, str]
T = TypeVar("T")

# Index: the unique key scope of Scope, then that of StreamOffset.
SCOPES = statement(
    "scopes to resolve",
    """
    MATCH (s:Scope) WHERE s.scope >= $after AND ($own IS NULL OR s.scope = $own)
    MATCH (o:StreamOffset {topic: s.topic, partition: s.partition}) WHERE o.sealed IS NOT NULL
    RETURN s.scope AS scope, s.partition AS partition, o.topic AS topic, o.sealed AS sealed,
      coalesce(s.forgot, -1) AS forgot
    ORDER BY scope
    """,
)
# Index: Entity (scope, norm), in its order.
ENTITIES = statement(
    "entities to resolve",
    """
    MATCH (e:Entity {scope: $scope}) WHERE e.norm >= $norm AND (e.norm > $norm OR e.id > $id) AND e.at IS NOT NULL
    RETURN e.id AS id, e.norm AS norm, e.type AS type, coalesce(e.name, e.norm) AS name,
      coalesce(e.aliases, []) AS aliases, e.description AS description, e.recorded_at AS recorded_at
    ORDER BY e.norm, e.id LIMIT $page
    """,
)
# Index: Fact (scope, subject) and (scope, object). What lies in a place or works for a body may be half the graph, and
# says little of it: so only people, objects and events are looked at from that side.
FACTS = statement(
    "facts to resolve by",
    """
    UNWIND $rows AS row
    CALL (row) {
      MATCH (f:Fact {scope: $scope, subject: row.id}) WHERE f.ended_at IS NULL AND f.holds AND NOT f.negated
      RETURN f.claim AS claim, f.predicate AS predicate, coalesce(f.object, f.value) AS key,
        coalesce(f.object_name, f.value) AS name, false AS inverse ORDER BY claim LIMIT $most
      UNION ALL
      WITH row WHERE row.both
      MATCH (f:Fact {scope: $scope, object: row.id}) WHERE f.ended_at IS NULL AND f.holds AND NOT f.negated
      RETURN f.claim AS claim, f.predicate AS predicate, f.subject AS key, f.subject_name AS name, true AS inverse
      ORDER BY claim LIMIT $most
    }
    RETURN collect({id: row.id, predicate: predicate, key: key, name: name, inverse: inverse}) AS rows
    """,
)
# Index: the unique key (scope, id) of Entity, then its own edges of the types.
PAIRS = statement(
    "pairs that are judged",
    """
    UNWIND $ids AS id
    MATCH (a:Entity {scope: $scope, id: id})-[r:LINKED|SAME_AS]->(b:Entity) WHERE type(r) = 'LINKED' OR r.derived
    RETURN collect({a: id, b: b.id, type: type(r), key: r.key, same: r.same, event: r.event, status: r.status,
      score: r.score, reason: r.reason}) AS rows
    """,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A scope, and how far the partition of the log is in the graph that it lives in, with all that is forgotten."""

    scope: str
    topic: str
    partition: int
    position: int


@dataclass(frozen=True, slots=True)
class Described:
    """An entity by its names alone, with its description; and when it was first recorded."""

    profile: Profile
    description: str | None
    recorded_at: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What was said of pairs, and what resolution has found of them so far."""

    said: dict[Pair, bool]
    found: dict[Pair, Same]


class ScopeReader:
    """Reads for resolution from one store. Raises GraphUnavailable and TransientError where Neo4j does not answer."""

    def __init__(self, driver: Driver, database: str) -> None:
        self._driver = driver
        self._database = database

    def places(self, scope: str | None = None) -> list[Place]:
        """The scope, or all of them in order, as far as anything of them can be read."""
        rows = self._rows(SCOPES, own=scope, after=scope or "")
        return [Place(row["scope"], row["topic"], row["partition"], max(row["sealed"], row["forgot"])) for row in rows]

    def entities(self, scope: str, page: int = PAGE) -> Iterator[Described]:
        """All entities of a scope, in the order of their names."""
        norm = last = ""
        while True:
            rows = self._rows(ENTITIES, scope=scope, norm=norm, id=last, page=page)
            yield from (_described(row) for row in rows)
            if len(rows) < page:
                return
            norm, last = rows[-1]["norm"], rows[-1]["id"]

    def facts(self, scope: str, profiles: Sequence[Profile], page: int = PAGE) -> dict[str, frozenset[Known]]:
        """The facts that hold about these entities, by their ids."""
        found: dict[str, set[Known]] = {}
        wide = {EntityType.ORGANIZATION, EntityType.LOCATION}
        for part in _parts(profiles, page):
            rows = [{"id": one.id, "both": one.type not in wide} for one in part]
            for row in self._rows(FACTS, scope=scope, rows=rows, most=MOST_FACTS):
                found.setdefault(row["id"], set()).add(_known(row))
        return {id_: frozenset(facts) for id_, facts in found.items()}

    def judged(self, scope: str, ids: Sequence[str], page: int = PAGE) -> Judged:
        """What is known of the pairs of these entities."""
        says: dict[Pair, list[tuple[str, bool]]] = {}
        found: dict[Pair, Same] = {}
        for part in _parts(ids, page):
            for row in self._rows(PAIRS, scope=scope, ids=list(part)):
                pair = (row["a"], row["b"])
                if row["type"] == LINKED:
                    says.setdefault(pair, []).append((say_key(row["key"], row["event"]), row["same"]))
                elif row["type"] == SAME_AS:
                    found[pair] = Same(*pair, Status(row["status"]), row["score"], row["reason"])
        latest = {pair: winner(each, first=False) for pair, each in says.items()}
        return Judged({pair: best[1] for pair, best in latest.items() if best is not None}, found)

    def _rows(self, what: Statement, **parameters: object) -> list[Row]:
        def read(tx: ManagedTransaction) -> list[Row]:
            return run(tx, what, **parameters)

        with (
            told_as_ours(),
            self._driver.session(database=self._database, default_access_mode=READ_ACCESS) as session,
        ):
            return session.execute_read(read)


def _parts(items: Sequence[T], size: int) -> Iterable[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _described(row: Row) -> Described:
    profile = Profile(row["id"], EntityType(row["type"]), row["name"], tuple(sorted(row["aliases"])))
    return Described(profile, row["description"], row["recorded_at"])


def _known(row: Row) -> Known:
    """A fact as it reads from the entity: seen from its object it is the inverse, or is marked so."""
    name, table = row["predicate"], catalogue()
    if row["inverse"]:
        turned = table.inverse_of(name)
        name = turned or f"~{name}"
    return Known(name, row["key"] or "", row["name"] or "", table.is_single(name))
