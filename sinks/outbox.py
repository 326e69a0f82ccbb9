"""The outbox: what became true is kept with the batch and forgotten once it was sent: so it is sent at least once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson

from memstream.schemas.ids import hash_of
from memstream.sinks.records import Change, Place
from memstream.sinks.statements import Row, Runs, run, statement

# No look-up.
STORE = statement("store changes", "UNWIND $rows AS row CREATE (o:Outbox) SET o = row")
# Index: Outbox (topic, partition, offset).
PENDING = statement(
    "pending changes",
    """
    MATCH (o:Outbox {topic: $topic, partition: $partition})
    WHERE o.offset >= 0
    RETURN o.id AS id, o.partition AS partition, o.payload AS payload
    ORDER BY o.topic, o.partition, o.offset
    """,
)
# Index: the unique key (scope, id).
FORGET = statement("forget changes", "UNWIND $ids AS id MATCH (o:Outbox {scope: '', id: id}) DELETE o")


def store(
    tx: Runs, ends: Mapping[Place, int], homes: Mapping[str, Place], told: Iterable[tuple[str, int, Row]]
) -> dict[Place, list[Change]]:
    """Keep what became true with batches that end at these offsets: (scope, position, payload) each, in their order.

    `homes` tells the partition of each scope.
    """
    changes: dict[Place, list[Change]] = {place: [] for place in ends}
    for scope, at, payload in sorted(told, key=lambda one: one[1]):
        place = homes[scope]
        entry, mine = entry_of(place, ends[place]), changes[place]
        mine.append(Change(entry, scope, place.partition, at, len(mine), payload))
    # one entry for a batch: its changes are sent and forgotten together
    rows = [_entry(place, ends[place], mine) for place, mine in changes.items() if mine]
    if rows:
        run(tx, STORE, rows=rows)
    return changes


def entry_of(place: Place, offset: int) -> str:
    """The entry of a batch that ends at this offset."""
    return hash_of("outbox", place.topic, str(place.partition), str(offset))


def _entry(place: Place, offset: int, changes: Iterable[Change]) -> Row:
    told = [
        {"scope": one.scope, "offset": one.offset, "ordinal": one.ordinal, "payload": one.payload} for one in changes
    ]
    return {
        "scope": "",
        "id": entry_of(place, offset),
        "topic": place.topic,
        "partition": place.partition,
        "offset": offset,
        "payload": orjson.dumps(told).decode(),
    }


def pending(tx: Runs, topic: str, partition: int) -> list[Change]:
    """What was not forgotten yet, in order."""
    return [
        Change(id=row["id"], partition=row["partition"], **change)
        for row in run(tx, PENDING, topic=topic, partition=partition)
        for change in orjson.loads(row["payload"])
    ]


def forget(tx: Runs, ids: Iterable[str]) -> None:
    """These entries were sent."""
    run(tx, FORGET, ids=sorted(set(ids)))
