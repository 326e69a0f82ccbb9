"""Loads an export into an empty graph, for reading and for comparing.

What is loaded has no positions of a log: all of it can be read at once, as of position 0 of a topic that is none, and
sinks refuse the graph, since nobody knows what of a log is in it (the mark says so, see sinks.mark). Each batch is one
transaction with the number of lines that are loaded, so a load that was cut off goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from neo4j import ManagedTransaction

from memstream.schemas.errors import InvalidInput
from memstream.schemas.ids import scope_token
from memstream.sinks import mark, wipe
from memstream.sinks.export.file import Advance, ExportFile, Totals
from memstream.sinks.export.form import LABELS, SERVICE, VERSIONS, End, Line, read_value, row_of
from memstream.sinks.failures import told_as_ours
from memstream.sinks.mark import Mark, Phase
from memstream.sinks.migrations import migrate
from memstream.sinks.nodes import FULL_TEXT
from memstream.sinks.statements import Row, Runs, run, statement
from memstream.sinks.stores import Store
from memstream.sinks.writer import CONNECT, LABEL, SET

TOPIC = "(export)"  # no topic of Kafka can be named so
_TOGETHER = 1_000
_TOGETHER_BYTES = 4_000_000
_WITH_TOKEN = frozenset({*FULL_TEXT, *VERSIONS})

# Index: the unique key (scope, id) of the label.
_ENDS = """
UNWIND $rows AS row
MERGE (n:LABEL {scope: row.scope, id: row.id})
RETURN collect({i: row.i, eid: elementId(n)}) AS rows
"""
ENDS = {label: statement(f"load {label}", _ENDS.replace("LABEL", label)) for label in LABELS}
# Index: the unique key scope.
HEADS = statement(
    "load scopes",
    """
    UNWIND $scopes AS scope
    MERGE (s:Scope {scope: scope})
    ON CREATE SET s.topic = $topic, s.partition = $partition
    """,
)
# Index: the unique key (topic, partition), in all four.
LOADED = statement(
    "lines loaded", "MATCH (o:StreamOffset {topic: $topic, partition: $partition}) RETURN o.lines AS lines"
)
# Writes first, which locks: of two processes that load, one waits, and finds the number moved on.
TAKE = statement(
    "take lines",
    """
    MERGE (o:StreamOffset {topic: $topic, partition: $partition})
    ON CREATE SET o.partitions = 1, o.lines = 0
    SET o.lock = 'import'
    RETURN o.lines AS lines
    """,
)
REACHED = statement(
    "lines reached", "MATCH (o:StreamOffset {topic: $topic, partition: $partition}) SET o.lines = $lines"
)
OPEN = statement(
    "open what was loaded",
    "MATCH (o:StreamOffset {topic: $topic, partition: $partition}) SET o.sealed = 0",
)

_PLACE = {"topic": TOPIC, "partition": 0}


@dataclass(frozen=True, slots=True)
class Loaded:
    """What an export has, and how many of its lines an earlier run had loaded already."""

    totals: Totals
    before: int


def load(
    store: Store, file: ExportFile, totals: Totals, dimensions: int = 0, advance: Advance = lambda _: None
) -> Loaded:
    """Load an export, which was checked and has these `totals`, into an empty graph, or go on with loading it.

    `dimensions` are for the vector indexes. Raises InvalidInput where the graph has something else, or where a value
    can't be loaded; what the driver's errors become.
    """
    migrate(store.driver, store.database, dimensions)
    told = f"an export of {totals.nodes:,} nodes, loaded"
    own = Mark(f"import {totals.digest}", told, partial=True, phase=Phase.FILLING)
    _claim(store, own)
    with told_as_ours(), store.driver.session(database=store.database) as session:
        done = before = session.execute_read(_loaded)
        advance(before)
        for batch in _batches(islice(file.lines(), before, None)):
            done += len(batch)
            session.execute_write(_write, batch, done)
            advance(len(batch))
        session.execute_write(lambda tx: run(tx, OPEN, **_PLACE))
    mark.write(store.driver, store.database, Mark(own.run, own.told, own.partial, Phase.DONE))
    return Loaded(totals, before)


def _claim(store: Store, own: Mark) -> None:
    there = mark.read(store.driver, store.database)
    if there is not None and there.run == own.run:
        return
    if (there is not None and there.phase is not Phase.DONE) or not wipe.is_empty(store.driver, store.database):
        what = f" ({there.told})" if there is not None else ""
        raise InvalidInput(
            f"the graph is not empty{what}: an export is loaded into a graph of its own. Name another with --into, or "
            "empty this one"
        )
    mark.write(store.driver, store.database, own)


def _loaded(tx: ManagedTransaction) -> int:
    rows = run(tx, LOADED, **_PLACE)
    return rows[0]["lines"] if rows else 0


def _batches(lines: Iterable[Line]) -> Iterator[list[Line]]:
    batch: list[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line.text)
        if len(batch) == _TOGETHER or size > _TOGETHER_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _write(tx: Runs, batch: list[Line], done: int) -> None:
    there = run(tx, TAKE, **_PLACE)[0]["lines"]
    if there == done:
        return  # the commit came through, and the answer to it did not
    if there != done - len(batch):
        raise InvalidInput("another process loads into this graph: let it end, then verify")
    rows = [row_of(line.text) for line in batch]
    nodes = [(End(row["node"], row["scope"], row["id"]), row) for row in rows if "node" in row]
    edges = [(End(*row["from"]), End(*row["to"]), row) for row in rows if "edge" in row]
    eids = _touch(tx, {*(end for end, _ in nodes), *(end for a, b, _ in edges for end in (a, b))})
    run(tx, SET, rows=[{"eid": eids[end], "props": _node_props(end, row["props"])} for end, row in nodes])
    run(tx, LABEL, rows=[{"eid": eids[end], "labels": row["labels"]} for end, row in nodes if row["labels"]])
    run(tx, CONNECT, rows=[_edge(eids[a], eids[b], row) for a, b, row in edges])
    run(tx, HEADS, scopes=sorted({end.scope for end in eids}), **_PLACE)
    run(tx, REACHED, lines=done, **_PLACE)


def _touch(tx: Runs, ends: Iterable[End]) -> dict[End, str]:
    """The internal ids of these nodes; those that are not there yet are made, as stubs."""
    by_label: dict[str, list[End]] = {}
    for end in sorted(ends):
        by_label.setdefault(end.label, []).append(end)
    found: dict[End, str] = {}
    for label, wanted in by_label.items():
        if label not in ENDS:
            raise InvalidInput(f"the export has nodes with label {label}, which this Memstream does not know")
        rows = [{"i": i, "scope": end.scope, "id": end.id} for i, end in enumerate(wanted)]
        for row in run(tx, ENDS[label], rows=rows):
            found[wanted[row["i"]]] = row["eid"]
    return found


def _node_props(end: End, written: Row) -> Row:
    props: Row = {name: read_value(value) for name, value in written.items()}
    props["at"] = 0
    if end.label in VERSIONS:
        props["current"] = True
    if end.label in _WITH_TOKEN:
        props["stok"] = scope_token(end.scope)
    return props if end.label in SERVICE else props | {"changed": 0}


def _edge(start: str, end: str, row: dict[str, Any]) -> Row:
    props = {name: read_value(value) for name, value in row["props"].items()}
    return {"type": row["edge"], "a": start, "b": end, "props": {**props, "at": 0}}
