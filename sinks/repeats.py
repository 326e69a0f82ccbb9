"""Batches of nothing but repeats: patches that the graph has, told by origin and digest before they are read in full.

After a topic was mirrored twice, or a stage has done its work again, whole batches are known. Reading a patch in full
costs more than finding that it is known, so such a batch is told first. This needs no lock: a patch that is in the
graph leaves it for a better one alone, and is dropped either way. A single stranger in the batch, an erasure, or a
scope of another log, and the batch goes the usual way with all its checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from memstream.sinks.records import PatchRecord, Place, digest_of
from memstream.sinks.statements import Row, Runs, run, statement

LEAST = 50  # records: a smaller batch is read in full as quickly
_SAMPLE = 10

# Index: the unique key (scope, id) of Event, the unique key scope of Scope.
SAME = statement(
    "repeated patches",
    """
    UNWIND $rows AS row
    MATCH (e:Event {scope: row.scope, id: row.id})
    WHERE e.digest = row.digest AND e.generation = row.generation AND e.recorded_at = row.recorded_at
      AND e.topic = row.topic AND e.partition = row.partition AND e.offset = row.offset
    MATCH (s:Scope {scope: row.scope}) WHERE s.topic = $topic AND s.partition = $partition
    RETURN count(*) AS known
    """,
)


def all_known(tx: Runs, place: Place, records: Sequence[PatchRecord]) -> bool:
    """Whether the graph has every one of these patches, the very same. A sample is looked at first."""
    step = max(len(records) // _SAMPLE, 1)
    return _known(tx, place, records[::step]) and _known(tx, place, records)


def key_of(record: PatchRecord) -> str:
    """The key of a patch's event, of a record that is known to be one."""
    return str(orjson.loads(record.value or b"")["origin"]["key"])


def _known(tx: Runs, place: Place, records: Sequence[PatchRecord]) -> bool:
    rows = [_row(record) for record in records]
    if any(row is None for row in rows):
        return False
    (found,) = run(tx, SAME, rows=rows, topic=place.topic, partition=place.partition)
    return bool(found["known"] == len(rows))


def _row(record: PatchRecord) -> Row | None:
    """What tells a patch from every other; None for what is no patch, and for what reaches further than its event."""
    try:
        raw: dict[str, Any] = orjson.loads(record.value or b"")
        if raw.get("erasures") or raw.get("copy_below"):
            return None
        origin = raw["origin"]
        told = {name: origin[name] for name in ("scope", "recorded_at", "topic", "partition", "offset")}
        return told | {"id": origin["key"], "generation": raw["generation"], "digest": digest_of(record.value or b"")}
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        return None
