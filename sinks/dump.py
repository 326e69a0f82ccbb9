"""The canonical form of a scope: all that converges, sorted. Two graphs built from the same events have the same one.

Left out is what follows from arrival and not from what was said: positions, closed versions, internal ids, stubs,
locks, offsets and the outbox. A version of a fact is named by its claim and its first source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import orjson
from neo4j import Driver

from memstream.schemas.patch import Label
from memstream.sinks.failures import told_as_ours
from memstream.sinks.statements import Row, run, statement

SAID = tuple(label.value for label in Label)
VERSIONS = ("Fact", "Preference")
SERVICE = ("Event", "Erasure", "Assertion", "Retraction")

_ARRIVAL = frozenset({"at", "changed", "lock", "scope", "stok"})
_OF_LABEL = {
    "Event": _ARRIVAL | {"made"},
    "Assertion": _ARRIVAL | {"fact"},
    "Fact": _ARRIVAL | {"id", "content", "current"},
    "Preference": _ARRIVAL | {"id", "content", "current"},
}
_OF_EDGE = frozenset({"at", "fact"})

# Index: the unique key (scope, id), walked for one scope, in both.
_NODES = """
MATCH (n:LABEL {scope: $scope}) WHERE n.id IS NOT NULL AND n.at IS NOT NULL AND n.ended_at IS NULL
RETURN labels(n) AS labels, properties(n) AS props ORDER BY n.id
"""
_EDGES = """
MATCH (n:LABEL {scope: $scope}) WHERE n.id IS NOT NULL AND n.at IS NOT NULL AND n.ended_at IS NULL
MATCH (n)-[r]->(m) WHERE m.ended_at IS NULL
RETURN type(r) AS type, properties(r) AS props, labels(n) AS from_labels, n.id AS from_id, n.claim AS from_claim,
  n.name AS from_name, labels(m) AS to_labels, m.id AS to_id, m.claim AS to_claim, m.name AS to_name
"""
LABELS = (*SAID, *VERSIONS, *SERVICE)
NODES = {label: statement(f"dump {label}", _NODES.replace("LABEL", label)) for label in LABELS}
EDGES = {label: statement(f"dump edges of {label}", _EDGES.replace("LABEL", label)) for label in LABELS}


def dump(driver: Driver, database: str, scope: str) -> list[str]:
    """Every node and edge of a scope as a line of JSON, sorted."""
    with told_as_ours(), driver.session(database=database) as session:
        rows = session.execute_read(lambda tx: list(_rows(tx, scope)))
    return sorted(orjson.dumps(row, option=orjson.OPT_SORT_KEYS).decode() for row in rows)


def digest(lines: list[str]) -> str:
    """One hash over the canonical form."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _rows(tx: Any, scope: str) -> Iterator[Row]:
    for label in LABELS:
        dropped = _OF_LABEL.get(label, _ARRIVAL)
        for row in run(tx, NODES[label], scope=scope):
            props = {name: value for name, value in row["props"].items() if name not in dropped}
            yield {"node": label, "labels": sorted(row["labels"]), **props}
        for row in run(tx, EDGES[label], scope=scope):
            props = {name: value for name, value in row["props"].items() if name not in _OF_EDGE}
            yield {"edge": row["type"], "from": _end(row, "from"), "to": _end(row, "to"), **props}


def _end(row: Row, end: str) -> list[str]:
    label = next(name for name in LABELS if name in row[f"{end}_labels"])
    if label in VERSIONS:
        return [label, row[f"{end}_claim"], row[f"{end}_name"]]
    return [label, row[f"{end}_id"]]
