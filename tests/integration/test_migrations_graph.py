"""The graph is brought to the schema of this version: once, by many at once, and never backwards."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from neo4j import Driver

from memstream.extractors.dims import dimensions_of
from memstream.schemas.errors import FatalError, SchemaTooNew
from memstream.settings import Settings
from memstream.sinks.indexes import FULL_TEXTS, NODE_KEYS, RANGES, VECTORS
from memstream.sinks.migrations import VERSION, Migrated, migrate
from memstream.sinks.stores import Stores


@pytest.fixture
def stores(stack: Settings) -> Iterator[Stores]:
    """The stores of the settings."""
    with Stores.connect(stack) as made:
        yield made


def rows(stores: Stores, text: str) -> list[dict[str, Any]]:
    """Rows of a query of a test."""
    store = stores.of("")
    result = store.driver.execute_query(text, database_=store.database)
    return [dict(record) for record in result.records]


@pytest.fixture
def version(stores: Stores, stack: Settings) -> Iterator[Driver]:
    """A migrated graph, whose stored version is put right after the test."""
    store = stores.of("")
    migrate(store.driver, store.database, dimensions_of(stack.embedder))
    yield store.driver
    rows(stores, f"MATCH (v:SchemaVersion {{name: 'memstream'}}) SET v.version = {VERSION}")


def test_everything_is_there_and_online(stores: Stores, stack: Settings) -> None:
    """Keys, ranges, full text and vectors are ready when the migration returns, whatever they were called before."""
    store = stores.of("")
    migrate(store.driver, store.database, dimensions_of(stack.embedder))
    shown = rows(stores, "SHOW INDEXES YIELD name, state, labelsOrTypes AS labels, properties WHERE state = 'ONLINE'")
    ranges = {(*(row["labels"] or ()), *(row["properties"] or ())) for row in shown}
    assert {(label, *properties) for label, properties in RANGES.values()} <= ranges
    assert {(label, "scope", "id") for label in NODE_KEYS} <= ranges
    # these are asked by their names
    assert {*FULL_TEXTS, *VECTORS} <= {row["name"] for row in shown}


def test_a_second_migration_finds_nothing_to_do(version: Driver, stack: Settings) -> None:
    """It tells the version that it found."""
    again = migrate(version, stack.neo4j_database, dimensions_of(stack.embedder))
    assert (again.before, again.after, again.ran) == (VERSION, VERSION, ())


def test_several_that_start_at_once_queue(version: Driver, stores: Stores, stack: Settings) -> None:
    """Of three at once on a graph without a version each comes to its end, and one does the work."""
    rows(stores, "MATCH (v:SchemaVersion {name: 'memstream'}) SET v.version = 0")
    done: list[Migrated] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            done.append(migrate(version, stack.neo4j_database, dimensions_of(stack.embedder)))
        except BaseException as error:  # noqa: BLE001 - told in the test's own thread
            errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
    assert errors == []
    assert sorted(one.before for one in done) == [0, VERSION, VERSION]


def test_a_newer_graph_is_refused(version: Driver, stores: Stores, stack: Settings) -> None:
    """An older Memstream does not touch what it does not understand."""
    rows(stores, f"MATCH (v:SchemaVersion {{name: 'memstream'}}) SET v.version = {VERSION + 1}")
    with pytest.raises(SchemaTooNew, match="use a newer Memstream"):
        migrate(version, stack.neo4j_database)


def test_vectors_of_another_length_are_refused(version: Driver, stack: Settings) -> None:
    """Another embedder needs a replay: old and new vectors can't be compared."""
    if not dimensions_of(stack.embedder):
        pytest.fail("the stack of the tests has an embedder")
    with pytest.raises(FatalError, match="another embedder needs a replay"):
        migrate(version, stack.neo4j_database, dimensions_of(stack.embedder) + 1)


def test_the_command_tells_programs_what_it_did(version: Driver) -> None:
    """`memstream migrate --json` prints the version and the dimensions."""
    told = subprocess.run(
        [sys.executable, "-m", "memstream.cli", "migrate", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(told.stdout)["after"] == VERSION
