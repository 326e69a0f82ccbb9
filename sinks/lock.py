"""The locks of a transaction, the offsets of its partitions, and their seals.

Neo4j takes a lock only where something is written, so the sink locks by writing: first the StreamOffsets of the
partitions, then the heads of the batch's scopes, both in sorted order. Only then it reads. Who comes second waits
there, and then finds the offset moved on: a worker that lost its partition can't apply anything twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memstream.schemas.errors import FatalError, LogMismatch, TopicMismatch
from memstream.sinks import mark, migrations
from memstream.sinks.records import Place, Resume
from memstream.sinks.statements import Row, Runs, run, statement

# Index: the unique key (topic, partition), in all of the next four.
BEGIN = statement(
    "begin partition",
    """
    MERGE (o:StreamOffset {topic: $topic, partition: $partition})
    ON CREATE SET o.partitions = $partitions
    SET o.lock = $worker
    RETURN o.partitions AS partitions, o.offset AS offset, o.event AS event
    """,
)
LOCK = statement(
    "lock partitions",
    """
    UNWIND $rows AS row
    MATCH (o:StreamOffset {topic: row.topic, partition: row.partition}) SET o.lock = row.worker
    RETURN row.i AS i, o.offset AS offset
    """,
)
# Read under the lock: a newer version that is announced waits for it (sinks.migrating). Index: the unique keys.
VERSIONS = statement(
    "schema versions",
    """
    OPTIONAL MATCH (v:SchemaVersion {name: $name})
    OPTIONAL MATCH (m:Migration) WHERE m.id IS NOT NULL AND m.name = $name AND m.announced
    RETURN coalesce(max(v.version), 0) AS version, coalesce(max(m.number), 0) AS announced
    """,
)
ADVANCE = statement(
    "advance offsets",
    """
    UNWIND $rows AS row
    MATCH (o:StreamOffset {topic: row.topic, partition: row.partition})
    SET o.offset = row.offset, o.event = row.event
    """,
)
SEAL = statement(
    "seal",
    """
    UNWIND $rows AS row
    MATCH (o:StreamOffset {topic: row.topic, partition: row.partition})
    SET o.sealed = CASE WHEN coalesce(o.sealed, -1) < row.offset THEN row.offset ELSE o.sealed END
    """,
)
# Another count may have been stored by any partition of the topic. Index: (topic, partition), by its first part.
COUNTS = statement(
    "partition counts",
    """
    MATCH (o:StreamOffset {topic: $topic}) WHERE o.partition IS NOT NULL AND o.partitions <> $partitions
    RETURN o.partition AS partition, o.partitions AS partitions LIMIT 1
    """,
)
# Index: the unique key scope.
HEADS = statement(
    "lock scopes",
    """
    UNWIND $rows AS row
    MERGE (s:Scope {scope: row.scope})
    ON CREATE SET s.topic = row.topic, s.partition = row.partition
    SET s.lock = row.worker
    RETURN s.scope AS scope, s.topic AS topic, s.partition AS partition
    """,
)


def begin(tx: Runs, place: Place, partitions: int, replay: str | None = None) -> Resume:
    """Where the partition stands, for a live sink or for the run of a replay.

    Raises TopicMismatch where the graph was built with another partition count, LogMismatch where it is not for it.
    """
    mark.check(tx, replay)
    others = run(tx, COUNTS, topic=place.topic, partitions=partitions)
    (row,) = run(tx, BEGIN, topic=place.topic, partition=place.partition, partitions=partitions, worker=place.worker)
    stored = others[0]["partitions"] if others else row["partitions"]
    if stored != partitions:
        raise TopicMismatch(
            f"the graph was built from {place.topic} with {stored} partitions, the topic now has {partitions}: "
            "a partition count never changes; replay into topics of another prefix and into an empty graph"
        )
    if row["offset"] is not None:
        # a worker that died between its commit and its seal left this to its successor
        seal(tx, {place: row["offset"]})
    return Resume(row["offset"], row["event"])


def lock(tx: Runs, places: Iterable[Place]) -> dict[Place, int]:
    """Lock partitions and tell the offset applied last of each (-1: none).

    Raises FatalError where one was never begun, SchemaTooNew where a newer Memstream has migrated the graph meanwhile.
    """
    in_order = sorted(places)
    found = {
        row["i"]: row["offset"] for row in run(tx, LOCK, rows=[_row(one) | {"i": i} for i, one in enumerate(in_order)])
    }
    for i, place in enumerate(in_order):
        if i not in found:
            raise FatalError(
                f"partition {place.partition} of {place.topic} has no offset in the graph: resume it before applying"
            )
    (versions,) = run(tx, VERSIONS, name=migrations.NAME)
    migrations.refuse_newer(max(versions["version"], versions["announced"]))
    return {place: -1 if found[i] is None else found[i] for i, place in enumerate(in_order)}


def lock_scopes(tx: Runs, homes: Mapping[str, Place]) -> None:
    """Lock the heads of these scopes. Raises LogMismatch where a scope belongs to another partition or topic."""
    for row in run(tx, HEADS, rows=[_row(homes[scope]) | {"scope": scope} for scope in sorted(homes)]):
        place = homes[row["scope"]]
        if (row["topic"], row["partition"]) != (place.topic, place.partition):
            raise LogMismatch(
                f"scope {row['scope']!r} was built from partition {row['partition']} of {row['topic']}, and now comes "
                f"from partition {place.partition} of {place.topic}: empty the graph before another log is replayed "
                "into it"
            )


def advance(tx: Runs, reached: Mapping[Place, tuple[int, str | None]]) -> None:
    """All up to these offsets is applied; each with the key of its event, None where it has none."""
    run(
        tx,
        ADVANCE,
        rows=[_row(place) | {"offset": reached[place][0], "event": reached[place][1]} for place in sorted(reached)],
    )


def seal(tx: Runs, reached: Mapping[Place, int]) -> None:
    """What is committed up to these offsets can be read."""
    run(tx, SEAL, rows=[_row(place) | {"offset": reached[place]} for place in sorted(reached)])


def _row(place: Place) -> Row:
    return {"topic": place.topic, "partition": place.partition, "worker": place.worker}
