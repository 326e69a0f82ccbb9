"""Which events keep which payload of the offload store: one that none keeps any more is to be deleted there.

A Payload's id is its handle, which has its scope in it; like the outbox it belongs to the service and not to a scope.

The store itself is the worker's: it deletes what `loose` tells, and then says that it `let_go` of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from memstream.sinks.manifest import Manifest
from memstream.sinks.records import Identity, Incoming, Place
from memstream.sinks.statements import Runs, run, statement
from memstream.sinks.writer import Writer

# Index: the unique key (scope, id) of Payload; the event by internal id.
HOLD = statement(
    "keep payloads",
    """
    UNWIND $rows AS row
    MERGE (p:Payload {scope: '', id: row.id})
    WITH row, p MATCH (e) WHERE elementId(e) = row.eid
    CREATE (p)-[:KEPT_BY]->(e)
    SET p.loose = null
    """,
)
# Index: the unique key (scope, id) of Payload; the edges of one payload.
RELEASE = statement(
    "release payloads",
    """
    UNWIND $rows AS row
    MERGE (p:Payload {scope: '', id: row.id})
    WITH row, p
    CALL (row, p) { MATCH (p)-[k:KEPT_BY]->(e) WHERE e.id = row.event DELETE k }
    WITH DISTINCT p, row.loose AS loose WHERE NOT EXISTS { (p)-[:KEPT_BY]->() }
    SET p.loose = loose
    """,
)
# Index: Payload (loose).
LOOSE = statement(
    "loose payloads",
    "MATCH (p:Payload {loose: $loose}) RETURN p.id AS id ORDER BY id LIMIT $most",
)
# Index: the unique key (scope, id) of Payload.
LET_GO = statement(
    "let go of payloads",
    """
    UNWIND $rows AS row
    MATCH (p:Payload {scope: '', id: row}) WHERE p.loose IS NOT NULL
    DETACH DELETE p
    """,
)


def hold(writer: Writer, events: Iterable[tuple[Incoming, Manifest, str]]) -> None:
    """These events keep what their manifests name; each comes with its internal id."""
    rows = [{"id": payload, "eid": eid} for one, manifest, eid in events for payload in manifest.payloads]
    if rows:
        writer.run(HOLD, rows=rows)


def release(writer: Writer, homes: Mapping[str, Place], kept: Iterable[tuple[Identity, Iterable[str]]]) -> set[Place]:
    """Events do not keep these payloads any more. Returns the partitions that let go of any."""
    let_go = {(scope, event, payload) for (scope, event), payloads in kept for payload in payloads}
    rows = [{"event": event, "id": payload, "loose": _of(homes[scope])} for scope, event, payload in sorted(let_go)]
    if rows:
        writer.run(RELEASE, rows=rows)
    return {homes[scope] for scope, _, _ in let_go}


def loose(tx: Runs, place: Place, most: int) -> list[str]:
    """The handles of payloads that no event of the partition keeps any more."""
    return [row["id"] for row in run(tx, LOOSE, loose=_of(place), most=most)]


def let_go(tx: Runs, handles: Sequence[str]) -> None:
    """These are deleted in the store."""
    run(tx, LET_GO, rows=list(handles))


def _of(place: Place) -> str:
    return f"{place.topic}/{place.partition}"
