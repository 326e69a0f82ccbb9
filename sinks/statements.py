"""Cypher texts of the sinks, each a named constant in one registry, so that a test sees the plan of every one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

Row = dict[str, Any]


class Rows(list[Any]):
    """Rows to send. The driver writes the parameters of each statement out for its debug log, listened to or not."""

    def __repr__(self) -> str:
        """Their number, and nothing of what they say."""
        return f"<{len(self)} rows>"


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
    """All rows of a statement. Errors are the driver's own: the transaction's function must let them through.

    A statement that may give many rows gives them as one: `RETURN collect({…}) AS rows`. The driver handles each record
    by itself, which costs more than what is in it.
    """
    sent = {name: Rows(value) if isinstance(value, list) else value for name, value in parameters.items()}
    result = tx.run(cast(Any, what.text), sent)
    if result.keys() == ["rows"]:
        return [row for record in result for row in record["rows"]]
    return [dict(record) for record in result]
