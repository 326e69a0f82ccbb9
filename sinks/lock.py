"""The locks of a batch, the offset of a partition, and the seal.

Neo4j takes a lock only where something is written, so the sink locks by writing: first the partition's StreamOffset,
then the heads of the batch's scopes in sorted order. Only then it reads. Who comes second waits there, and then finds
the offset moved on: a worker that lost its partition can't apply anything twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memstream.schemas.errors import FatalError, LogMismatch, TopicMismatch
from memstream.sinks import mark, migrations
from memstream.sinks.records import Resume
from memstream.sinks.statements import Runs, run, statement

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
    "lock partition",
    """
    MATCH (o:StreamOffset {topic: $topic, partition: $partition}) SET o.lock = $worker
    RETURN o.offset AS offset
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
    "advance offset",
    """
    MATCH (o:StreamOffset {topic: $topic, partition: $partition})
    SET o.offset = $offset, o.event = $event
    """,
)
SEAL = statement(
    "seal",
    """
    MATCH (o:StreamOffset {topic: $topic, partition: $partition})
    SET o.sealed = CASE WHEN coalesce(o.sealed, -1) < $offset THEN $offset ELSE o.sealed END
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
    UNWIND $scopes AS scope
    MERGE (s:Scope {scope: scope})
    ON CREATE SET s.topic = $topic, s.partition = $partition
    SET s.lock = $worker
    RETURN s.scope AS scope, s.topic AS topic, s.partition AS partition
    """,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A partition of the patches topic, and who writes it."""

    topic: str
    partition: int
    worker: str


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
        run(tx, SEAL, topic=place.topic, partition=place.partition, offset=row["offset"])
    return Resume(row["offset"], row["event"])


def lock(tx: Runs, place: Place) -> int:
    """Lock the partition and tell the offset applied last (-1: none).

    Raises FatalError where it was never begun, SchemaTooNew where a newer Memstream has migrated the graph meanwhile.
    """
    rows = run(tx, LOCK, topic=place.topic, partition=place.partition, worker=place.worker)
    if not rows:
        raise FatalError(
            f"partition {place.partition} of {place.topic} has no offset in the graph: resume it before applying"
        )
    (found,) = run(tx, VERSIONS, name=migrations.NAME)
    migrations.refuse_newer(max(found["version"], found["announced"]))
    offset: int | None = rows[0]["offset"]
    return -1 if offset is None else offset


def lock_scopes(tx: Runs, place: Place, scopes: Iterable[str]) -> None:
    """Lock the heads of these scopes. Raises LogMismatch where a scope belongs to another partition or topic."""
    rows = run(tx, HEADS, scopes=sorted(set(scopes)), topic=place.topic, partition=place.partition, worker=place.worker)
    for row in rows:
        if (row["topic"], row["partition"]) != (place.topic, place.partition):
            raise LogMismatch(
                f"scope {row['scope']!r} was built from partition {row['partition']} of {row['topic']}, and now comes "
                f"from partition {place.partition} of {place.topic}: empty the graph before another log is replayed "
                "into it"
            )


def advance(tx: Runs, place: Place, offset: int, event: str | None) -> None:
    """All up to this offset is applied; `event` is the key of its event, None where it has none."""
    run(tx, ADVANCE, topic=place.topic, partition=place.partition, offset=offset, event=event)


def seal(tx: Runs, place: Place, offset: int) -> None:
    """What is committed up to this offset can be read."""
    run(tx, SEAL, topic=place.topic, partition=place.partition, offset=offset)
