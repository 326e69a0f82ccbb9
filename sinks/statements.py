"""Cypher texts of the sinks, each a named constant in one registry, so that a test sees the plan of every one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

Row = dict[str, Any]


class Runs(Protocol):
    """A transaction or a session: what runs a statement."""

    def run(self, query: Any, parameters: dict[str, Any]) -> Any:
        """Send it."""
        ...


@dataclass(frozen=True, slots=True)
class Statement:
    """A constant Cypher text with parameters."""

    name: str
    text: str


REGISTRY: Final[dict[str, Statement]] = {}


def statement(name: str, text: str) -> Statement:
    """Register a text. Raises ValueError where the name is taken."""
    if name in REGISTRY:
        raise ValueError(f"two statements are named {name!r}")
    REGISTRY[name] = Statement(name, text)
    return REGISTRY[name]


def run(tx: Runs, what: Statement, **parameters: Any) -> list[Row]:
    """All rows of a statement. Errors are the driver's own: the transaction's function must let them through."""
    return [dict(record) for record in tx.run(cast(Any, what.text), parameters)]
