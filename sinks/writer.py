"""Writes rows into one transaction in few statements, whatever their labels and types.

Every end of an edge is first made to exist by its unique key (scope, id), as a stub, one statement for each label; what
follows finds nodes by their internal ids, which hold inside the transaction. An event is applied once, so its edges
are created and not merged. All of it runs under the locks of sinks.lock, so nobody else writes these scopes meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memstream.schemas.patch import Label
from memstream.sinks.statements import Row, Runs, Statement, run, statement

# Locks: the index entry of each key, in sorted order. Index: the unique key (scope, id) of the label.
_TOUCH = """
UNWIND $rows AS row
MERGE (n:LABEL {scope: row.scope, id: row.id})
RETURN collect({i: row.i, eid: elementId(n), at: n.at, recorded_at: n.recorded_at,
  parts: [k IN keys(n) WHERE k STARTS WITH 'key_' OR k STARTS WITH 'names_' | [k, n[k]]]}) AS rows
"""
TOUCH = {label: statement(f"touch {label}", _TOUCH.replace("LABEL", label)) for label in Label}

# No look-up.
CREATE = statement(
    "create nodes",
    """
    UNWIND $rows AS row
    CREATE (n:$(row.labels)) SET n = row.props
    RETURN collect({i: row.i, eid: elementId(n)}) AS rows
    """,
)
# By internal id, in all four.
SET = statement("set properties", "UNWIND $rows AS row MATCH (n) WHERE elementId(n) = row.eid SET n += row.props")
LABEL = statement("add labels", "UNWIND $rows AS row MATCH (n) WHERE elementId(n) = row.eid SET n:$(row.labels)")
CONNECT = statement(
    "create edges",
    """
    UNWIND $rows AS row
    MATCH (a) WHERE elementId(a) = row.a
    MATCH (b) WHERE elementId(b) = row.b
    CREATE (a)-[r:$(row.type)]->(b) SET r = row.props
    """,
)
DISCONNECT = statement("drop edges", "UNWIND $rows AS row MATCH ()-[r]->() WHERE elementId(r) = row.eid DELETE r")


class NodeKey(NamedTuple):
    """A node by label, scope and id."""

    label: Label
    scope: str
    id: str


@dataclass(slots=True)
class Node:
    """A node that is there: what the sink needs to know of it. `parts` has the winning key and names of each part."""

    eid: str
    at: int | None
    recorded_at: str | None
    parts: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)

    @classmethod
    def of(cls, row: Row) -> Node:
        """The node of a row of TOUCH."""
        values = dict(row["parts"])
        parts = {
            name.removeprefix("key_"): (key, tuple(values.get("names_" + name.removeprefix("key_"), ())))
            for name, key in values.items()
            if name.startswith("key_")
        }
        return cls(row["eid"], row["at"], row["recorded_at"], parts)


class Writer:
    """Collects rows and writes them in a few statements. Rows appear in the order in which they were given."""

    def __init__(self, tx: Runs) -> None:
        self.tx = tx
        self.nodes: dict[NodeKey, Node] = {}
        self.created = 0
        self.connected = 0
        self._sets: list[Row] = []
        self._labels: list[Row] = []
        self._edges: list[Row] = []
        self._drops: list[Row] = []

    def run(self, what: Statement, **parameters: Any) -> list[Row]:
        """Run a statement in the transaction."""
        return run(self.tx, what, **parameters)

    def touch(self, keys: Iterable[NodeKey]) -> None:
        """Make these nodes exist, if only as stubs; afterwards they are in `nodes`."""
        wanted: dict[Label, list[NodeKey]] = {}
        for key in sorted(set(keys) - self.nodes.keys()):
            wanted.setdefault(key.label, []).append(key)
        for label in sorted(wanted):
            keys_of = wanted[label]
            rows = [{"i": i, "scope": key.scope, "id": key.id} for i, key in enumerate(keys_of)]
            for row in self.run(TOUCH[label], rows=rows):
                self.nodes[keys_of[row["i"]]] = Node.of(row)

    def create(self, rows: list[tuple[list[str], Row]]) -> list[str]:
        """Make nodes that are not there yet, and tell their internal ids in the same order."""
        if not rows:
            return []
        self.created += len(rows)
        sent = [{"i": i, "labels": labels, "props": props} for i, (labels, props) in enumerate(rows)]
        made = {row["i"]: row["eid"] for row in self.run(CREATE, rows=sent)}
        return [made[i] for i in range(len(rows))]

    def set(self, eid: str, props: Row, labels: Iterable[str] = ()) -> None:
        """Set properties; None removes one."""
        self._sets.append({"eid": eid, "props": props})
        if names := list(labels):
            self._labels.append({"eid": eid, "labels": names})

    def connect(self, kind: str, start: str, end: str, props: Row) -> None:
        """An edge between two internal ids."""
        self._edges.append({"type": kind, "a": start, "b": end, "props": props})

    def disconnect(self, eids: Iterable[str]) -> None:
        """Drop edges by their internal ids."""
        self._drops.extend({"eid": eid} for eid in eids)

    def flush(self) -> None:
        """Write what was collected: properties, then edges dropped, then edges made."""
        self.connected += len(self._edges)
        for what, rows in (
            (SET, self._sets),
            (LABEL, self._labels),
            (DISCONNECT, self._drops),
            (CONNECT, self._edges),
        ):
            if rows:
                self.run(what, rows=rows)
        self._sets, self._labels, self._drops, self._edges = [], [], [], []
