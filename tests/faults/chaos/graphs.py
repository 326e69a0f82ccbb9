"""What stands in a graph, in its canonical form, and how two of them differ. All use of the export is here."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass

import orjson
from neo4j import Driver

from memstream.schemas.patch import Verdict
from memstream.sinks.export.graph import export_lines

# Everything of a graph whose Neo4j is ours alone.
_WIPE = "MATCH (n) WHERE NOT n:SchemaVersion CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"
_EVENTS = """
MATCH (e:Event) WHERE e.event_id IS NOT NULL
RETURN e.scope AS scope, e.source AS source, e.event_id AS id, e.verdict AS verdict
"""
_OFFSETS = (
    "MATCH (o:StreamOffset {topic: $topic}) RETURN o.partition AS partition, o.offset AS offset, o.sealed AS sealed"
)


@dataclass(frozen=True, slots=True)
class Contents:
    """The canonical form of a whole graph."""

    lines: tuple[str, ...]

    @property
    def digest(self) -> str:
        """One hash over it."""
        return hashlib.sha256("\n".join(self.lines).encode()).hexdigest()

    def differences(self, other: Contents, most: int = 4) -> list[str]:
        """The first lines that only one of the two has; none where they are equal."""
        mine, theirs = Counter(self.lines), Counter(other.lines)
        only_mine = [f"- {line[:400]}" for line in (mine - theirs).elements()]
        only_theirs = [f"+ {line[:400]}" for line in (theirs - mine).elements()]
        return [*only_mine[:most], *only_theirs[:most]]


def contents(driver: Driver, database: str) -> Contents:
    """All scopes of a graph."""
    return Contents(tuple(_calm(line.text) for line in export_lines(driver, database)))


def _calm(line: bytes) -> str:
    """A line without what a fault may change: in which words a poison event's end was told."""
    row = orjson.loads(line)
    if row.get("node") == "Event" and row["props"].get("verdict") == Verdict.DEAD_LETTERED:
        row["props"].pop("reason", None)
        row["props"].pop("digest", None)  # of the verdict's bytes, which hold the reason
    return orjson.dumps(row, option=orjson.OPT_SORT_KEYS).decode()


def verdicts(driver: Driver, database: str) -> dict[tuple[str, str, str], str]:
    """What became of each event that the graph knows, by scope, source and id. Raises where one is there twice."""
    records = driver.execute_query(_EVENTS, database_=database).records
    found = {(row["scope"], row["source"], row["id"]): row["verdict"] for row in records}
    assert len(found) == len(records), "an event is in the graph twice"
    return found


def reached(driver: Driver, database: str, topic: str) -> dict[int, int]:
    """Up to which offset each partition is applied and sealed."""
    records = driver.execute_query(_OFFSETS, topic=topic, database_=database).records
    return {
        row["partition"]: min(row["offset"] or 0, row["sealed"] or 0) for row in records if row["offset"] is not None
    }


def wipe(driver: Driver, database: str) -> None:
    """Remove all but the schema."""
    with driver.session(database=database) as session:
        session.run(_WIPE).consume()
