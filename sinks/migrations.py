"""Brings a graph to the schema of this version: constraints, indexes, and the version that says so.

Migrations are numbered, run in order, and each of their statements creates only what is not there, so a migration that
died half way is run again. Several sinks may start at once: they queue at a lock, and the second finds the work done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from neo4j import Driver, ManagedTransaction, Session, Transaction

from memstream.schemas.errors import FatalError, SchemaTooNew
from memstream.sinks import indexes
from memstream.sinks.failures import told_as_ours
from memstream.sinks.statements import Runs, run, statement

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
STORE = statement(
    "store schema version",
    """
    MATCH (v:SchemaVersion {name: $name})
    SET v.version = $version, v.dimensions = $dimensions, v.applied_at = datetime()
    """,
)


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema: a number, what it is for, and the statements that make it."""

    number: int
    what: str
    statements: Callable[[], list[str]]


MIGRATIONS = (Migration(1, "keys, ranges and full text", indexes.base),)
VERSION = MIGRATIONS[-1].number


@dataclass(frozen=True, slots=True)
class Migrated:
    """From which version to which, and the dimensions of its vector indexes (0: none)."""

    before: int
    after: int
    dimensions: int
    ran: tuple[str, ...]


def migrate(driver: Driver, database: str, dimensions: int = 0) -> Migrated:
    """Bring the graph to this version, with vector indexes of the embedder's `dimensions` (0: leave them as they are).

    Waits until every index is online. Raises SchemaTooNew where a newer Memstream has migrated it, FatalError where
    its vectors have other dimensions, GraphUnavailable and TransientError where Neo4j does not take it now.
    """
    with told_as_ours(), driver.session(database=database) as session:
        _schema(session, _KEY)
        # holds the lock in a transaction of its own, since Neo4j takes no schema change beside data in one
        with session.begin_transaction() as tx:
            (row,) = run(tx, LOCK, name=NAME)
            before = row["version"] or 0
            _check(before, row["dimensions"], dimensions)
            ran = _run_all(driver, database, before, dimensions)
            _store(tx, dimensions or row["dimensions"] or 0)
            tx.commit()
    return Migrated(before, VERSION, dimensions, ran)


def _check(before: int, stored: int | None, dimensions: int) -> None:
    if before > VERSION:
        raise SchemaTooNew(
            f"the graph has schema version {before}, this Memstream knows up to {VERSION}: use a newer Memstream, "
            "or replay the topics into an empty graph"
        )
    if stored and dimensions and stored != dimensions:
        raise FatalError(
            f"the graph's vectors have {stored} dimensions, the embedder makes {dimensions}: another embedder needs a "
            "replay of the topics into an empty graph"
        )


def _run_all(driver: Driver, database: str, before: int, dimensions: int) -> tuple[str, ...]:
    ran: list[str] = []
    with driver.session(database=database) as session:
        for migration in MIGRATIONS:
            if migration.number > before:
                for text in migration.statements():
                    _schema(session, text)
                ran.append(f"{migration.number}: {migration.what}")
        for text in indexes.vectors(dimensions):
            _schema(session, text)
        session.run("CALL db.awaitIndexes($seconds)", seconds=ONLINE_SECONDS).consume()
    return tuple(ran)


def _schema(session: Session, text: str) -> None:
    def write(tx: ManagedTransaction) -> None:
        tx.run(cast(Any, text)).consume()

    session.execute_write(write)


def _store(tx: Transaction, dimensions: int) -> None:
    runs: Runs = tx
    run(runs, STORE, name=NAME, version=VERSION, dimensions=dimensions)
