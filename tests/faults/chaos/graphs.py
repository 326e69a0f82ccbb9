"""What stands in a graph, in its canonical form, and how two of them differ. All use of the export is here.

A graph is written to a file, so that two can be compared line by line, and looked at where they differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from neo4j import Driver

from memstream.schemas.patch import Verdict
from memstream.sinks.erase_status import progress
from memstream.sinks.export.compare import Difference
from memstream.sinks.export.file import Header, Totals, replacing, write
from memstream.sinks.export.form import Line, row_of
from memstream.sinks.export.graph import GraphLines
from memstream.sinks.export.verify import FileSource, verify

# Everything of a graph whose Neo4j is ours alone.
_WIPE = "MATCH (n) WHERE NOT n:SchemaVersion CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"
_EVENTS = "MATCH (e:Event) WHERE e.event_id IS NOT NULL RETURN e.id AS key, e.verdict AS verdict"
_OFFSETS = (
    "MATCH (o:StreamOffset {topic: $topic}) RETURN o.partition AS partition, o.offset AS offset, o.sealed AS sealed"
)
_LOOSE = "MATCH (p:Payload) WHERE p.loose IS NOT NULL RETURN count(p) AS n"
_KEPT = """
MATCH (n) WHERE n.offload IS NOT NULL RETURN n.offload AS handle
UNION MATCH (p:Payload)-[:KEPT_BY]->(:Event) RETURN p.id AS handle
"""


@dataclass(frozen=True, slots=True)
class Contents:
    """The canonical form of a whole graph, in a file."""

    path: Path
    totals: Totals

    def differences(self, other: Contents, most: int = 4) -> list[str]:
        """The first things in which the two differ, in words (A is this one); none where they are equal."""
        if self.totals.digest == other.totals.digest:
            return []
        found = verify(FileSource(self.path), FileSource(other.path), limit=most).differences
        return [_told(one) for one in found] or ["only in what lies behind the precision of numbers"]


def contents(driver: Driver, database: str, path: Path) -> Contents:
    """All scopes of a graph, written to a file. Raises what an export raises."""
    graph = GraphLines(driver, database)
    positions = graph.positions()
    with replacing(path) as out:
        return Contents(path, write(out, Header.of(None, positions), map(_calm, graph.lines(positions))))


def _calm(line: Line) -> Line:
    """A line without what a fault may change: in which words a poison event's end was told."""
    if not line.is_node or line.key[1] != "Event":
        return line
    row = row_of(line.text)
    if row["props"].get("verdict") != Verdict.DEAD_LETTERED:
        return line
    row["props"].pop("reason", None)
    row["props"].pop("digest", None)  # of the verdict's bytes, which hold the reason
    return Line(line.key, orjson.dumps(row, option=orjson.OPT_SORT_KEYS))


def _told(one: Difference) -> str:
    whole: Any = "" if one.property is not None else f": {one.b if one.a is None else one.a}"
    return f"{one}{whole}"[:600]


def verdicts(driver: Driver, database: str) -> dict[str, str]:
    """What became of each event that the graph knows, by its key. Raises where one is there twice."""
    records = driver.execute_query(_EVENTS, database_=database).records
    found = {row["key"]: row["verdict"] for row in records}
    assert len(found) == len(records), "an event is in the graph twice"
    return found


def reached(driver: Driver, database: str, topic: str) -> dict[int, int]:
    """Up to which offset each partition is applied and sealed."""
    records = driver.execute_query(_OFFSETS, topic=topic, database_=database).records
    return {
        row["partition"]: min(row["offset"] or 0, row["sealed"] or 0) for row in records if row["offset"] is not None
    }


def is_done_erasing(driver: Driver, database: str) -> bool:
    """Whether no erasure has work left, and no payload is to be deleted."""
    (row,) = driver.execute_query(_LOOSE, database_=database).records
    return row["n"] == 0 and all(one.done for one in progress(driver, database))


def payloads(driver: Driver, database: str) -> set[str]:
    """The handles of all results that nodes name or events keep: what must lie in the offload store."""
    return {row["handle"] for row in driver.execute_query(_KEPT, database_=database).records}


def wipe(driver: Driver, database: str) -> None:
    """Remove all but the schema."""
    with driver.session(database=database) as session:
        session.run(_WIPE).consume()
