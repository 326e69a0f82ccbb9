"""Brings a graph to the schema of this version: constraints, indexes, changes of what is there, and the version.

Migrations are numbered and run in order. Each of their statements creates only what is not there, and each change
remembers how far it is (sinks.migrating), so a migration that died half way is run again and goes on. Several sinks may
start at once: they queue at a lock, and the second finds the work done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from neo4j import Driver, ManagedTransaction, Session

from memstream.schemas.errors import FatalError, SchemaTooNew
from memstream.sinks import indexes
from memstream.sinks.failures import told_as_ours
from memstream.sinks.migrating import KEY, Change, Tell, Walk, Walked, change_all
from memstream.sinks.statements import run, statement

NAME = "memstream"
ONLINE_SECONDS = 600

# Before the first migration there is no index of it; there is one node with this label.
_KEY = "CREATE CONSTRAINT memstream_schema_key IF NOT EXISTS FOR (v:SchemaVersion) REQUIRE v.name IS UNIQUE"

# Index: the unique key name, in both.
LOCK = statement(
    "lock schema",
    """
    MERGE (v:SchemaVersion {name: $name}) SET v.lock = randomUUID()
    RETURN v.version AS version, v.dimensions AS dimensions
    """,
)
# Index: the unique key id of Migration, all of it.
ANNOUNCED = statement(
    "announced versions",
    """
    MATCH (m:Migration) WHERE m.id IS NOT NULL AND m.name = $name AND m.announced
    RETURN max(m.number) AS version
    """,
)
# Index: the unique key (scope, id) of Assertion, up to the first hit; asked once, of graphs before version 4.
PLACELESS = statement(
    "assertions without a place",
    "MATCH (a:Assertion) WHERE a.scope IS NOT NULL AND a.id IS NOT NULL AND a.place IS NULL RETURN a.id AS id LIMIT 1",
)
STORE = statement(
    "store schema version",
    """
    MATCH (v:SchemaVersion {name: $name})
    SET v.version = $version, v.dimensions = $dimensions, v.applied_at = datetime()
    """,
)


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema: a number, what it is for, the statements that make it, and what is changed with it."""

    number: int
    what: str
    statements: Callable[[], list[str]] = list
    change: Change | None = None


# An event that the sink itself refused had the generation of its patch, and outranked the event when it was put back.
REFUSED_RANK_LAST = Change.of(
    "refused events rank last",
    "Event",
    "WHERE n.verdict = 'dead_lettered' AND n.generation <> 0 SET n.generation = 0",
)

RUNS_OF_SLOTS = 4

MIGRATIONS = (
    Migration(1, "keys, ranges and full text", indexes.base),
    Migration(2, REFUSED_RANK_LAST.what, indexes.base, REFUSED_RANK_LAST),
    Migration(3, "erasures in steps, and payloads", indexes.base),
    Migration(RUNS_OF_SLOTS, "runs of slots", indexes.base),
    Migration(5, "entities that events named once", indexes.base),
    Migration(6, "entities that may be one", indexes.base),
)
VERSION = MIGRATIONS[-1].number


@dataclass(frozen=True, slots=True)
class Migrated:
    """From which version to which, and the dimensions of its vector indexes (0: none)."""

    before: int
    after: int
    dimensions: int
    ran: tuple[str, ...]


def _tell_nobody(what: str, walked: Walked) -> None:
    """Nobody listens."""


def migrate(
    driver: Driver,
    database: str,
    dimensions: int = 0,
    *,
    name: str = NAME,
    migrations: Sequence[Migration] = MIGRATIONS,
    tell: Tell = _tell_nobody,
) -> Migrated:
    """Bring the graph to this version, with vector indexes of the embedder's `dimensions` (0: leave them as they are).

    Waits until every index is online; `tell` hears how far a change of what is there has come. What was done stays
    done, and is not begun anew. Raises SchemaTooNew where a newer Memstream has migrated the graph or began to,
    FatalError where its vectors have other dimensions, GraphUnavailable, TransientError.
    """
    version = migrations[-1].number
    with told_as_ours(), driver.session(database=database) as session:
        _schema(session, _KEY)
        _schema(session, KEY)
        # holds the lock in a transaction of its own, since Neo4j takes no schema change beside data in one
        with session.begin_transaction() as tx:
            (row,) = run(tx, LOCK, name=name)
            before = row["version"] or 0
            (announced,) = run(tx, ANNOUNCED, name=name)
            refuse_newer(max(before, announced["version"] or 0), version)
            _check_vectors(row["dimensions"], dimensions)
            if before < RUNS_OF_SLOTS <= version and run(tx, PLACELESS):
                raise FatalError(
                    f"the graph has schema version {before}, from before slots were kept as runs: empty it and let the "
                    "sink apply the patches again (docs/replay.md)"
                )
            todo = [migration for migration in migrations if migration.number > before]
            ran = _run_all(driver, database, todo, name, tell)
            _make_vectors(driver, database, dimensions)
            run(tx, STORE, name=name, version=version, dimensions=dimensions or row["dimensions"] or 0)
            tx.commit()
    return Migrated(before, version, dimensions, ran)


def refuse_newer(found: int, version: int = VERSION) -> None:
    """Raise SchemaTooNew where the graph is newer than what this code knows."""
    if found > version:
        raise SchemaTooNew(
            f"the graph has schema version {found}, this Memstream knows up to {version}: use a newer Memstream, "
            "or replay the topics into an empty graph"
        )


def _check_vectors(stored: int | None, dimensions: int) -> None:
    if stored and dimensions and stored != dimensions:
        raise FatalError(
            f"the graph's vectors have {stored} dimensions, the embedder makes {dimensions}: another embedder needs a "
            "replay of the topics into an empty graph"
        )


def _run_all(driver: Driver, database: str, migrations: Sequence[Migration], name: str, tell: Tell) -> tuple[str, ...]:
    ran: list[str] = []
    for migration in migrations:
        with driver.session(database=database) as session:
            for text in migration.statements():
                _schema(session, text)
            session.run("CALL db.awaitIndexes($seconds)", seconds=ONLINE_SECONDS).consume()
        if migration.change is not None:
            change_all(driver, database, Walk(name, migration.number, migration.change), tell)
        ran.append(f"{migration.number}: {migration.what}")
    return tuple(ran)


def _make_vectors(driver: Driver, database: str, dimensions: int) -> None:
    with driver.session(database=database) as session:
        for text in indexes.vectors(dimensions):
            _schema(session, text)
        session.run("CALL db.awaitIndexes($seconds)", seconds=ONLINE_SECONDS).consume()


def _schema(session: Session, text: str) -> None:
    def write(tx: ManagedTransaction) -> None:
        tx.run(cast(Any, text)).consume()

    session.execute_write(write)
