"""Shared nodes as of a position: where one has changed since, its says up to the position are folded again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson

from memstream.folds.parts import say_key, winner
from memstream.query.graph import Reader, Row
from memstream.query.statements import Statement, scoped
from memstream.schemas.patch import Label

# Node by its unique key (scope, id), then the edges of its own says.
_SAYS = """
    UNWIND $ids AS id
    MATCH (n:LABEL {scope: $scope, id: id})<-[w:WROTE]-(e:Event)
    WHERE w.at <= $position AND e.at <= $position
    RETURN id, w.part AS part, w.key AS key, coalesce(w.first, false) AS first, w.props AS props, e.id AS event
"""


def _says(label: Label) -> Statement:
    return scoped(f"says of {label.value}", _SAYS.replace("LABEL", label.value))


SAYS: Final = {
    label: _says(label)
    for label in (
        Label.CONVERSATION,
        Label.ENTITY,
        Label.TRACE,
        Label.STEP,
        Label.TOOL_CALL,
        Label.BOARD_ITEM,
    )
}

JSON_FIELDS = frozenset({"metadata", "arguments", "result", "environment"})


async def as_of(reader: Reader, label: Label, rows: list[Row]) -> list[Row]:
    """The rows (maps with `id` and `changed`) as of the reader's position, in their order; JSON text is read.

    What only the node itself carries (ids, types) stays; what its says carry is what they said up to then.
    """
    at = reader.position
    late = [row["id"] for row in rows if at.erasing or (row.get("changed") or -1) > at.offset]
    if late:
        folded = fold_says(await reader.rows(SAYS[label], ids=sorted(set(late))))
        rows = [_told(row, folded[row["id"]]) if row["id"] in folded else row for row in rows]
    return [read_json(row) for row in rows]


def fold_says(says: Iterable[Row]) -> dict[str, Row]:
    """The properties of each node from its says: in each part the greatest key wins, or the least where `first`."""
    parts: dict[tuple[str, str, bool], list[tuple[str, str]]] = {}
    for say in says:
        place = (say["id"], say["part"], say["first"])
        parts.setdefault(place, []).append((say_key(say["key"], say["event"]), say["props"] or "{}"))
    nodes: dict[str, Row] = {}
    for (node, _, first), said in sorted(parts.items()):
        if (best := winner(said, first)) is not None:
            nodes.setdefault(node, {}).update(orjson.loads(best[1]))
    return nodes


def read_json(row: Row) -> Row:
    """The row with its JSON texts as values; a text that is no JSON stays a text."""
    return {name: _value(value) if name in JSON_FIELDS else value for name, value in row.items()}


def _told(row: Row, said: Row) -> Row:
    kept = {"id", "changed", "norm", "type", "session_id", "trace_id", "step_id", "call_id", "item_id", "parent"}
    return {name: said.get(name, value if name in kept else None) for name, value in row.items()}


def _value(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
