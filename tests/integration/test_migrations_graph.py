"""The graph is brought to the schema of this version: once, by many at once, and never backwards."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from neo4j import Driver

from memstream.extractors.vectors.dims import dimensions_of
from memstream.schemas.errors import FatalError, SchemaTooNew
from memstream.settings import Settings
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.indexes import FULL_TEXTS, NODE_KEYS, RANGES, VECTORS
from memstream.sinks.lock import lock
from memstream.sinks.migrations import MIGRATIONS, REFUSED_RANK_LAST, VERSION, Migrated, migrate
from memstream.sinks.records import Place
from memstream.sinks.statements import run
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
def version(stores: Stores, stack: Settings) -> Driver:
    """A migrated graph."""
    store = stores.of("")
    migrate(store.driver, store.database, dimensions_of(stack.embedder))
    return store.driver


@pytest.fixture
def schema(stores: Stores, version: Driver, stack: Settings) -> Iterator[str]:
    """A schema of this test alone, as a version that is kept beside the graph's own: sinks that run don't see it."""
    name = f"test-{secrets.token_hex(4)}"
    rows(
        stores,
        f"CREATE (v:SchemaVersion {{name: '{name}', version: {VERSION}, dimensions: {dimensions_of(stack.embedder)}}})",
    )
    yield name
    rows(stores, f"MATCH (v:SchemaVersion {{name: '{name}'}}) DELETE v")
    rows(stores, f"MATCH (m:Migration {{name: '{name}'}}) WHERE m.id IS NOT NULL DELETE m")


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


def test_several_that_start_at_once_queue(version: Driver, schema: str, stores: Stores, stack: Settings) -> None:
    """Of three at once on a graph without a version each comes to its end, and one does the work."""
    rows(stores, f"MATCH (v:SchemaVersion {{name: '{schema}'}}) SET v.version = 0")
    done: list[Migrated] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            done.append(migrate(version, stack.neo4j_database, name=schema, migrations=MIGRATIONS[:1]))
        except BaseException as error:  # noqa: BLE001 - told in the test's own thread
            errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
    assert errors == []
    assert sorted((one.before, len(one.ran)) for one in done) == [(0, 1), (1, 0), (1, 0)]


def test_a_newer_graph_is_refused(version: Driver, schema: str, stores: Stores, stack: Settings) -> None:
    """An older Memstream does not touch what it does not understand."""
    rows(stores, f"MATCH (v:SchemaVersion {{name: '{schema}'}}) SET v.version = {VERSION + 1}")
    with pytest.raises(SchemaTooNew, match="use a newer Memstream"):
        migrate(version, stack.neo4j_database, name=schema)


NEWER = f"CREATE (m:Migration {{id: $id, name: 'memstream', number: {VERSION + 1}, announced: true}})"


def test_a_sink_stops_where_a_newer_version_is_announced(version: Driver, scope: str, stack: Settings) -> None:
    """It reads that under the lock of its partition, before it writes. Rolled back, so that no other sink sees it."""
    graph = GraphSink(version, stack.neo4j_database, "tests")
    place = Place(f"{secrets.token_hex(5)}.patches", 0, "tests")
    graph.resume(place.topic, place.partition, 1)
    with version.session(database=stack.neo4j_database) as session, session.begin_transaction() as tx:
        assert lock(tx, [place]) == {place: -1}
        tx.run(NEWER, id=scope).consume()
        with pytest.raises(SchemaTooNew, match="use a newer Memstream"):
            lock(tx, [place])
        tx.rollback()
    version.execute_query(
        "MATCH (o:StreamOffset {topic: $topic, partition: 0}) DELETE o",
        topic=place.topic,
        database_=stack.neo4j_database,
    )


REFUSED = "CREATE (e:Event {scope: $scope, id: $id, verdict: $verdict, generation: 4})"


def test_refusals_of_before_rank_last_after_the_second_migration(
    version: Driver, stores: Stores, scope: str, stack: Settings
) -> None:
    """What a sink refused had its patch's generation; other events keep theirs."""
    for one, verdict in (("a", "dead_lettered"), ("b", "applied")):
        version.execute_query(REFUSED, scope=scope, id=one, verdict=verdict, database_=stack.neo4j_database)
    with version.session(database=stack.neo4j_database) as session:
        [walked] = run(session, REFUSED_RANK_LAST.in_scope, scope=scope, after="", size=10)
    assert (walked["seen"], walked["changed"], walked["after"]) == (2, 1, "b")
    found = rows(stores, f"MATCH (e:Event {{scope: '{scope}'}}) RETURN e.id AS id, e.generation AS g ORDER BY id")
    rows(stores, f"MATCH (e:Event {{scope: '{scope}'}}) DELETE e")
    assert found == [{"id": "a", "g": 0}, {"id": "b", "g": 4}]


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
