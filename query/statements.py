"""Cypher texts of the read service, each a named constant in one registry, so that tests see all of them.

A scoped statement names `$scope` at every place where it enters the graph and `$position` in its filters; what does not
is refused when the module is imported. A service statement reads no content of any scope.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_WRITES = re.compile(r"\b(?:CREATE|MERGE|DELETE|DETACH|SET|REMOVE|FOREACH|LOAD|DROP)\b")
_CLAUSE = re.compile(r"\b(?:OPTIONAL\s+)?MATCH\b")
_BOUND_START = re.compile(r"\s*\(\w+\)\s*[-<]")
_INDEX_CALL = re.compile(r"\bCALL\s+db\.index\.")


@dataclass(frozen=True, slots=True)
class Statement:
    """A constant Cypher text. `scoped` ones run only through a Reader, which gives them scope and position."""

    name: str
    text: str
    scoped: bool


REGISTRY: Final[dict[str, Statement]] = {}

LIVE: Final = "{0}.at <= $position AND ({0}.ended_at IS NULL OR {0}.ended_at > $position)"
"""The condition on a version of a fact as of the read's position; `{0}` stands for the variable."""


def scoped(name: str, text: str) -> Statement:
    """Register a statement over the content of one scope. Raises ValueError where it could leave the scope."""
    if "$position" not in text:
        raise ValueError(f"statement {name!r} does not filter by $position")
    for clause in _CLAUSE.split(text)[1:]:
        if "scope: $scope" not in clause and not _BOUND_START.match(clause):
            raise ValueError(f"statement {name!r} enters the graph without a scope: MATCH {clause.strip()[:80]!r}")
    if _INDEX_CALL.search(text) and ".scope = $scope" not in text:
        raise ValueError(f"statement {name!r} asks an index that all scopes share and does not filter by $scope")
    return _register(Statement(name, text, scoped=True))


def service(name: str, text: str) -> Statement:
    """Register a statement that finds positions and versions and reads no content of any scope."""
    return _register(Statement(name, text, scoped=False))


def _register(statement: Statement) -> Statement:
    if _WRITES.search(statement.text):
        raise ValueError(f"statement {statement.name!r} writes: the read service only reads")
    if statement.name in REGISTRY:
        raise ValueError(f"two statements are named {statement.name!r}")
    REGISTRY[statement.name] = statement
    return statement
