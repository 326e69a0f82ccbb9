"""Filling a graph quickly: all of a scope is copied, inside Neo4j, into a scope beside it. Nodes first, then edges."""

from __future__ import annotations

from typing import Any, cast

from neo4j import Session

from memstream.sinks.export.form import LABELS
from memstream.sinks.stores import Store

# Index: the unique key (scope, id) of each label, in all of these; words in capitals stand for labels and types.
_NODES = """
MATCH (n:LABEL {scope: $source}) WHERE n.id IS NOT NULL
CALL (n) { CREATE (m:$(labels(n))) SET m = n {.*, scope: $target} } IN TRANSACTIONS OF 1000 ROWS
"""
_KINDS = """
MATCH (a:LABEL {scope: $source}) WHERE a.id IS NOT NULL
MATCH (a)-[r]->(b) RETURN DISTINCT type(r) AS type, labels(b) AS labels
"""
_EDGES = """
MATCH (a:LABEL {scope: $source}) WHERE a.id IS NOT NULL
CALL (a) {
  MATCH (a)-[r:TYPE]->(b:OTHER)
  MATCH (c:LABEL {scope: $target, id: a.id})
  MATCH (d:OTHER {scope: $target, id: b.id})
  CREATE (c)-[s:TYPE]->(d) SET s = properties(r)
} IN TRANSACTIONS OF 1000 ROWS
"""


def copy_scope(store: Store, source: str, target: str) -> None:
    """Copy all nodes of a scope and the edges between them."""
    with store.driver.session(database=store.database) as session:
        for label in LABELS:
            _run(session, _NODES.replace("LABEL", label), source, target)
        for label in LABELS:
            kinds = {
                (row["type"], next(one for one in LABELS if one in row["labels"]))
                for row in _run(session, _KINDS.replace("LABEL", label), source, target)
            }
            for kind, other in sorted(kinds):
                text = _EDGES.replace("LABEL", label).replace("TYPE", kind).replace("OTHER", other)
                _run(session, text, source, target)


def _run(session: Session, text: str, source: str, target: str) -> list[dict[str, Any]]:
    return session.run(cast(Any, text), source=source, target=target).data()
