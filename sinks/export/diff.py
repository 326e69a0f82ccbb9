"""What another graph knows otherwise: entities, facts and preferences gained, lost and changed, with what was said.

For a change of the extractor: what two extractors make of the same log is compared by what is claimed, and not by how
it came about. Both graphs are read once, into a temporary database on disk, so that sources can be looked up there.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from memstream.schemas.patch import SOURCES
from memstream.sinks.export.compare import EXACT, same
from memstream.sinks.export.file import Advance, counted
from memstream.sinks.export.form import VERSIONS, Line, row_of
from memstream.sinks.export.verify import Source, common_scope

_SPEAKING = tuple(sorted(label.value for label in SOURCES))
_NODES = ("Entity", *VERSIONS, "Assertion", "Event", *_SPEAKING)
_STARTS = (*VERSIONS, *_SPEAKING)
_TOGETHER = 2_000
_QUOTE = 280
_CITED = 5
_NAMES = ("event_id", "call_id", "item_id")  # under which a source was published
_OUTRIGHT = "event "  # before the id of an event that is cited itself

_Row = tuple[str, tuple[Any, ...]]

# What makes two versions of a claim, or two entities, different to who reads them.
_TOLD = {
    "Entity": ("name", "description", "subtype", "aliases"),
    "Fact": ("text", "negated", "holds", "valid_from", "valid_to", "confidence"),
    "Preference": ("text", "polarity", "over", "context", "category", "holds", "valid_from", "valid_to", "confidence"),
}

_TABLES = """
CREATE TABLE known (side INT, kind TEXT, scope TEXT, id TEXT, text TEXT, state BLOB);
CREATE TABLE said (side INT, scope TEXT, id TEXT, label TEXT, name TEXT, words TEXT);
CREATE TABLE cited (side INT, scope TEXT, known TEXT, source TEXT, words TEXT);
"""
_INDEXES = """
CREATE INDEX known_order ON known (kind, scope, id, side);
CREATE INDEX said_key ON said (side, scope, id);
CREATE INDEX cited_key ON cited (side, scope, known);
"""
_KNOWN = "SELECT kind, scope, id, side, text, state FROM known ORDER BY kind, scope, id, side, state"
_SOURCES = """
SELECT DISTINCT said.name, said.label, coalesce(cited.words, said.words) FROM cited
JOIN said ON said.side = cited.side AND said.scope = cited.scope AND said.id = cited.source
WHERE cited.side = ? AND cited.scope = ? AND cited.known = ? ORDER BY 1 LIMIT ?
"""


class How(StrEnum):
    """What became of something from A to B."""

    GAINED = "gained"
    LOST = "lost"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Said:
    """Where something comes from: the id of the event (of the call, of the board's item), what it is, and its words."""

    id: str
    source: str
    words: str


@dataclass(frozen=True, slots=True)
class Change:
    """An entity, fact or preference that one graph knows otherwise than the other.

    `id` is the entity's id or the claim; `before` and `after` are what A and B know of it: one state of an entity,
    one for each time at which a claim holds. Sources are at most five a side.
    """

    how: How
    what: str
    scope: str
    id: str
    text: str
    before: tuple[dict[str, Any], ...]
    after: tuple[dict[str, Any], ...]
    sources_before: tuple[Said, ...]
    sources_after: tuple[Said, ...]


@contextmanager
def diff(
    a: Source, b: Source, scope: str | None = None, advance: Advance = lambda _: None
) -> Iterator[Iterator[Change]]:
    """What B knows otherwise than A, by kind, scope and id. Both are read when the block begins.

    Raises what `verify` does.
    """
    scope = common_scope(a, b, scope)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="memstream-diff-"))
        base = stack.enter_context(closing(sqlite3.connect(Path(folder) / "diff.sqlite", isolation_level=None)))
        base.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _TABLES)
        for side, source in enumerate((a, b)):
            _fill(base, side, counted(source.lines(scope, _NODES, _STARTS), advance))
        base.executescript(_INDEXES)
        yield _changes(base)


def _fill(base: sqlite3.Connection, side: int, lines: Iterable[Line]) -> None:
    rows: dict[str, list[tuple[Any, ...]]] = {"known": [], "said": [], "cited": []}
    for line in lines:
        for table, row in _rows(line):
            rows[table].append((side, *row))
            if len(rows[table]) == _TOGETHER:
                _insert(base, table, rows[table])
    for table, left in rows.items():
        _insert(base, table, left)


def _insert(base: sqlite3.Connection, table: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        base.execute("BEGIN")
        base.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 - a name of the tables above
        base.execute("COMMIT")
    rows.clear()


def _rows(line: Line) -> Iterator[_Row]:
    """What the temporary database keeps of a line: a table, and what is in its row behind the side."""
    props = row_of(line.text)["props"]
    if line.is_node:
        yield from _of_node(line, props)
        return
    _, label, scope, node, kind, _, _, other, *_ = line.key
    if label in VERSIONS and kind == "SOURCED_FROM":
        yield "cited", (scope, node.partition(".")[0], other, None)
    elif kind == "MENTIONS":
        yield "cited", (scope, other, node, None)


def _of_node(line: Line, props: dict[str, Any]) -> Iterator[_Row]:
    _, label, scope, node = line.key
    if label == "Entity":
        yield "known", (label, scope, node, f"{props.get('type', '')} {props.get('name', '')}", _state(label, props))
    elif label in VERSIONS:
        yield "known", (label, scope, props["claim"], props.get("text", ""), _state(label, props))
    elif label == "Assertion":
        if props.get("source_id") is None:  # stated outright: its event is what to cite
            yield "cited", (scope, props["claim"], _OUTRIGHT + props["event"], _quoted(props.get("text", "")))
    elif label == "Event":
        yield "said", (scope, _OUTRIGHT + node, "Statement", props.get("event_id", node), "")
    else:
        name = next((props[name] for name in _NAMES if name in props), node)
        yield "said", (scope, node, label, name, _quoted(_words(label, props)))


def _state(label: str, props: dict[str, Any]) -> bytes:
    told = {name: props[name] for name in _TOLD[label] if name in props}
    return orjson.dumps(told, option=orjson.OPT_SORT_KEYS)


def _words(label: str, props: dict[str, Any]) -> str:
    if label == "ToolCall":
        return f"{props.get('tool', '')}: {props.get('error') or props.get('result') or props.get('arguments') or ''}"
    return ": ".join(props[name] for name in ("title", "text") if isinstance(props.get(name), str))


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTE else line[: _QUOTE - 1] + "…"


def _changes(base: sqlite3.Connection) -> Iterator[Change]:
    for (kind, scope, known), rows in groupby(base.execute(_KNOWN), key=lambda row: row[:3]):
        found = list(rows)
        before, after = ([orjson.loads(row[5]) for row in found if row[3] == side] for side in (0, 1))
        if not same_states(before, after):
            how = How.GAINED if not before else How.LOST if not after else How.CHANGED
            yield Change(
                how,
                kind.lower(),
                scope,
                known,
                found[-1][4],
                tuple(before),
                tuple(after),
                _said(base, 0, scope, known),
                _said(base, 1, scope, known),
            )


def same_states(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> bool:
    """Whether two lists of states say the same, numbers within the comparison's precision."""
    return len(before) == len(after) and all(
        one.keys() == other.keys() and all(same(one[name], other[name], EXACT) for name in one)
        for one, other in zip(before, after, strict=True)
    )


def _said(base: sqlite3.Connection, side: int, scope: str, known: str) -> tuple[Said, ...]:
    return tuple(Said(*row) for row in base.execute(_SOURCES, (side, scope, known, _CITED)))
