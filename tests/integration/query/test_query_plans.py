"""Every Cypher text of the read service is planned by a real Neo4j: index look-ups only."""

from __future__ import annotations

import re
from typing import Any

import pytest

import memstream.query.app  # noqa: F401 - registers every statement
from memstream.query.hiding import hiding
from memstream.query.statements import REGISTRY, Statement
from memstream.sinks.stores import Store

_NUMBERS = {"limit", "each", "fetch", "position", "most", "dims"}
_LISTS = {
    "ids",
    "norms",
    "subjects",
    "objects",
    "versions",
    "steps",
    "slots",
    "assertions",
    "holders",
    "claims",
    "scopes",
}
_SCANS = {"AllNodesScan", "NodeByLabelScan", "AllRelationshipsScan", "RelationshipTypeScan", "CartesianProduct"}


def _parameters(statement: Statement) -> dict[str, object]:
    names = set(re.findall(r"\$(\w+)", statement.text))
    found: dict[str, object] = {}
    for name in names:
        if name in _NUMBERS:
            found[name] = 10
        elif name == "hidden":
            found[name] = {"scope": {}, "session": {"s": "t"}, "user": {}, "event": {}}
        elif name in _LISTS:
            found[name] = [{"slot": "s", "claim": "c"}] if name == "claims" else ["x"]
        else:
            found[name] = [0.1] * 384 if name == "vector" else True if name == "superseded" else "x"
    return found


def _operators(plan: dict[str, object]) -> set[str]:
    names = {str(plan["operatorType"]).partition("@")[0].partition("(")[0]}
    for child in plan.get("children", []):  # type: ignore[attr-defined]
        names |= _operators(child)
    return names


@pytest.mark.parametrize("hides", [False, True], ids=["", "hiding"])
@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_statement_enters_the_graph_by_an_index(store: Store, name: str, hides: bool) -> None:
    """No statement scans a label, all nodes or all edges, whatever it is asked, also while something is erased."""
    statement = hiding(REGISTRY[name]) if hides else REGISTRY[name]
    text: Any = "EXPLAIN " + statement.text
    summary = store.driver.execute_query(text, _parameters(statement), database_=store.database).summary
    assert summary.plan is not None
    assert not _operators(summary.plan) & _SCANS, summary.plan["args"]["string-representation"]
