"""The outbox: what became true is kept with the batch and forgotten once it was sent: so it is sent at least once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from memstream.schemas.ids import hash_of
from memstream.sinks.lock import Place
from memstream.sinks.records import Change
from memstream.sinks.statements import Row, Runs, run, statement

# No look-up.
STORE = statement("store changes", "CREATE (o:Outbox) SET o = $props")
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


def store(tx: Runs, place: Place, offset: int, told: Iterable[tuple[str, int, Row]]) -> list[Change]:
    """Keep what became true with a batch that ends at `offset`: (scope, position, payload) each, in their order."""
    entry = hash_of("outbox", place.topic, str(place.partition), str(offset))
    rows: list[dict[str, Any]] = [
        {"scope": scope, "offset": at, "ordinal": ordinal, "payload": payload}
        for ordinal, (scope, at, payload) in enumerate(sorted(told, key=lambda one: one[1]))
    ]
    if rows:
        # one entry for a batch: its changes are sent and forgotten together
        props = {
            "scope": "",
            "id": entry,
            "topic": place.topic,
            "partition": place.partition,
            "offset": offset,
            "payload": orjson.dumps(rows).decode(),
        }
        run(tx, STORE, props=props)
    return [Change(id=entry, partition=place.partition, **row) for row in rows]


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
