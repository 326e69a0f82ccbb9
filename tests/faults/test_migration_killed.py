"""A change of what is in the graph, killed in the middle on a live graph: it goes on and ends right."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from neo4j import Driver
from slow_migration import steps

from memstream.schemas.errors import SchemaTooNew
from memstream.settings import Settings
from memstream.sinks.migrating import BATCH
from memstream.sinks.migrations import migrate
from memstream.sinks.stores import Stores

SUPPORT = Path(__file__).parents[1] / "support"
NODES, FEW = 20_000, 3_000
MAKE = """
UNWIND range(1, $count) AS i
CREATE (n:LABEL {scope: 'tests/' + toString(i % 7), id: toString(i), size: i})
"""
STATE = "MATCH (n:LABEL) RETURN count(n) AS nodes, count(n.doubled) AS doubled, sum(n.times) AS times"


@dataclass(frozen=True)
class Graph:
    """Nodes of a label of their own, and a schema of their own, in the running Neo4j."""

    driver: Driver
    database: str
    name: str
    label: str
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def rows(self, text: str, **parameters: Any) -> list[dict[str, Any]]:
        """Rows of a query of a test."""
        result = self.driver.execute_query(text.replace("LABEL", self.label), parameters, database_=self.database)
        return [dict(record) for record in result.records]

    def start(self) -> subprocess.Popen[str]:
        """The migration, as a process."""
        words = [sys.executable, str(SUPPORT / "slow_migration.py"), self.name, self.label]
        self.started.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        return self.started[-1]


@pytest.fixture
def graph(stack: Settings) -> Iterator[Graph]:
    """It leaves nothing behind."""
    mark = secrets.token_hex(4)
    with Stores.connect(stack) as stores:
        store = stores.of("")
        made = Graph(store.driver, store.database, f"test-{mark}", f"Migrated{mark}")
        try:
            yield made
        finally:
            for process in made.started:
                process.kill()
                with process:  # closes the pipe, and waits
                    pass
            with store.driver.session(database=store.database) as session:
                text: Any = f"MATCH (n:{made.label}) CALL (n) {{ DELETE n }} IN TRANSACTIONS OF 5000 ROWS"
                session.run(text).consume()
            made.rows("DROP CONSTRAINT LABEL_key IF EXISTS")
            made.rows("MATCH (m:Migration {name: $name}) WHERE m.id IS NOT NULL DELETE m", name=made.name)
            made.rows("MATCH (v:SchemaVersion {name: $name}) DELETE v", name=made.name)


def told(process: subprocess.Popen[str]) -> Iterator[tuple[int, int]]:
    """Nodes seen and changed, batch by batch."""
    assert process.stdout is not None
    for line in process.stdout:
        seen, changed = line.split()
        yield int(seen), int(changed)


def test_a_killed_migration_goes_on_where_it_was(graph: Graph) -> None:
    """Kill -9 in the middle of 20,000 nodes: each is changed once, those that came meanwhile too, none is seen anew."""
    graph.rows(MAKE, count=NODES)
    first = graph.start()
    batches = told(first)
    for seen, _ in batches:
        if seen >= 6 * BATCH:
            break
    first.kill()
    first.wait()
    seen = max([seen, *(one for one, _ in batches)])
    assert seen < NODES, "it ended before it was killed"
    [kept] = graph.rows("MATCH (m:Migration {name: $name}) RETURN m.seen AS seen, m.walk AS walk", name=graph.name)
    assert (seen <= kept["seen"] < NODES, kept["walk"]) == (True, 1)

    # a sink of the version before writes on: also before the place to which the walk has come
    graph.rows(
        "UNWIND ['tests/0', 'tests/6', 'tests/9'] AS scope CREATE (n:LABEL {scope: scope, id: '0', size: 1})",
    )
    second = graph.start()
    went_on = list(told(second))
    assert second.wait() == 0
    assert kept["seen"] < went_on[0][0] <= kept["seen"] + BATCH
    added = NODES + 3
    assert graph.rows(STATE) == [{"nodes": added, "doubled": added, "times": added}]
    assert went_on[-1][1] == added
    again = migrate(graph.driver, graph.database, name=graph.name, migrations=steps(graph.label))
    assert (again.before, again.ran) == (2, ())


def test_two_migrations_at_once_change_everything_once(graph: Graph) -> None:
    """The second waits for the first, and finds nothing left to do."""
    graph.rows(MAKE, count=FEW)
    both = [graph.start(), graph.start()]
    batches = [list(told(process)) for process in both]
    assert [process.wait() for process in both] == [0, 0]
    assert sorted(map(bool, batches)) == [False, True]
    assert graph.rows(STATE) == [{"nodes": FEW, "doubled": FEW, "times": FEW}]


def test_a_migration_that_a_newer_memstream_began_is_not_run_against(graph: Graph) -> None:
    """Announced is as good as done: an older one does not touch the graph, and says what to do."""
    graph.rows(
        "CREATE (m:Migration {id: $name + '.9', name: $name, number: 9, announced: true, walk: 2})", name=graph.name
    )
    with pytest.raises(SchemaTooNew, match="has schema version 9, this Memstream knows up to"):
        migrate(graph.driver, graph.database, name=graph.name)
