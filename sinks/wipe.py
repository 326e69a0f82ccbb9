"""Emptying a graph, in batches that fit into memory: all that is Memstream's, and nothing else.

What is ours are the nodes of every label that has a constraint or an index of ours. SchemaVersion stays: it says that
the graph was migrated, and bears a replay's mark.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from neo4j import Driver, ManagedTransaction, Session

from memstream.schemas.patch import Label
from memstream.sinks.failures import told_as_ours
from memstream.sinks.indexes import VECTORS
from memstream.sinks.mark import NAME
from memstream.sinks.statements import run, statement

_KEPT = "SchemaVersion"
_OURS = "memstream_"
_TOGETHER = 1_000

# Where many edges meet: these go last, when the edges have gone with their other ends.
_HUBS = (Label.CONVERSATION, Label.ENTITY, Label.TOOL, Label.AGENT, Label.TAG, Label.MEMORY)

LABELS = """
SHOW INDEXES YIELD name, entityType, labelsOrTypes WHERE name STARTS WITH $ours AND entityType = 'NODE'
RETURN labelsOrTypes
"""
# Any nodes of the label, as they come; the text after `n:` stands for no data.
_SOME = "MATCH (n:LABEL) WITH n LIMIT $together DETACH DELETE n RETURN count(*) AS gone"
# Index: the unique key name.
FORGET_VECTORS = statement("forget vectors", "MATCH (v:SchemaVersion {name: $name}) SET v.dimensions = 0")
# Index: the unique key scope.
ANY_SCOPE = statement("any scope", "MATCH (s:Scope) WHERE s.scope IS NOT NULL RETURN 1 AS one LIMIT 1")
# Index: (topic, partition), by its first part.
TOPICS = statement(
    "topics of the graph",
    """
    MATCH (o:StreamOffset) WHERE o.topic IS NOT NULL AND o.partition IS NOT NULL AND o.offset IS NOT NULL
    RETURN DISTINCT o.topic AS topic
    """,
)
# Index: (topic, partition), by its first part.
APPLIED = statement(
    "applied offsets",
    """
    MATCH (o:StreamOffset {topic: $topic}) WHERE o.partition IS NOT NULL AND o.offset IS NOT NULL
    RETURN o.partition AS partition, o.offset AS offset
    """,
)
STORE = "CALL db.info() YIELD id RETURN id"


def is_empty(driver: Driver, database: str) -> bool:
    """Whether no patch was ever applied. Raises GraphUnavailable, TransientError."""
    with told_as_ours(), driver.session(database=database) as session:
        return session.execute_read(lambda tx: not run(tx, ANY_SCOPE))


def topics(driver: Driver, database: str) -> list[str]:
    """The patches topics that the graph was built from, by full name."""
    with told_as_ours(), driver.session(database=database) as session:
        return sorted(session.execute_read(lambda tx: [row["topic"] for row in run(tx, TOPICS)]))


def applied(driver: Driver, database: str, topic: str) -> dict[int, int]:
    """The offset applied last, by partition of a patches topic."""
    with told_as_ours(), driver.session(database=database) as session:
        rows = session.execute_read(lambda tx: run(tx, APPLIED, topic=topic))
    return {row["partition"]: row["offset"] for row in rows}


def store_id(driver: Driver, database: str) -> str:
    """What tells a database from every other, whatever the address that it is reached by."""
    with told_as_ours():
        return str(driver.execute_query(cast(Any, STORE), database_=database).records[0]["id"])


def wipe(driver: Driver, database: str, report: Callable[[int], None] = lambda _: None) -> int:
    """Remove all nodes of ours, and the vector indexes (the next migration makes them anew, of any dimensions).

    Tells `report` the nodes removed so far, and returns their number. May be interrupted, and begun again.
    """
    removed = 0
    with told_as_ours(), driver.session(database=database) as session:
        for name in VECTORS:
            session.run(cast(Any, f"DROP INDEX {name} IF EXISTS")).consume()
        run(session, FORGET_VECTORS, name=NAME)
        for label in _labels(session):
            while gone := session.execute_write(partial(_remove_some, label)):
                removed += gone
                report(removed)
    return removed


def _labels(session: Session) -> list[str]:
    rows = session.run(cast(Any, LABELS), ours=_OURS)
    found = {label for row in rows for label in row["labelsOrTypes"]} - {_KEPT}
    return sorted(found, key=lambda label: (label in _HUBS, label))


def _remove_some(label: str, tx: ManagedTransaction) -> int:
    return int(tx.run(cast(Any, _SOME.replace("LABEL", label)), together=_TOGETHER).single(strict=True)["gone"])
