"""What resolution found of pairs of entities: SAME_AS edges that are derived, and stand behind all that was said.

They come through the log, as patches of no event. Such a row holds only between two entities that are there and of
which no event has said whether they are one. Where something of an entity is forgotten, what was derived of it goes as
well: the next run of resolution brings back what still holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from memstream.schemas.patch import Label, ResolvedRow
from memstream.sinks.links import LINKS, SAME_AS, Pair
from memstream.sinks.manifest import LINKED
from memstream.sinks.records import Incoming
from memstream.sinks.statements import Row, statement
from memstream.sinks.writer import NodeKey, Writer

# Index: the unique key (scope, id) of Entity, twice.
ENDS = statement(
    "ends of resolved pairs",
    """
    UNWIND $rows AS row
    MATCH (a:Entity {scope: row.scope, id: row.a}) WHERE a.at IS NOT NULL
    MATCH (b:Entity {scope: row.scope, id: row.b}) WHERE b.at IS NOT NULL
    RETURN collect({i: row.i, a: elementId(a), b: elementId(b)}) AS rows
    """,
)
# By internal id, then the node's own edges of the type.
FORGET = statement(
    "forget resolved pairs",
    """
    UNWIND $rows AS row
    MATCH (n:Entity) WHERE elementId(n) = row.eid AND (row.forgotten OR n.at IS NULL)
    MATCH (n)-[r:SAME_AS]-() WHERE r.derived
    WITH DISTINCT r DELETE r
    """,
)


def write(writer: Writer, derived: Iterable[Incoming]) -> int:
    """Bring SAME_AS in step with these patches, the latest row of a pair counts. Returns the number of rows."""
    latest: dict[Pair, tuple[int, ResolvedRow]] = {}
    for one in sorted(derived, key=lambda one: one.offset):
        for said in one.patch.resolved:
            latest[Pair(one.scope, said.a, said.b)] = (one.offset, said)
    pairs = sorted(latest)
    if not pairs:
        return 0
    asked = [{"i": i, **pair._asdict()} for i, pair in enumerate(pairs)]
    ends = {row["i"]: (row["a"], row["b"]) for row in writer.run(ENDS, rows=asked)}
    edges: dict[int, list[Row]] = {}
    for row in writer.run(LINKS, rows=[{"i": i, "a": a, "b": b} for i, (a, b) in ends.items()]):
        edges.setdefault(row["i"], []).append(row)
    for i, (a, b) in ends.items():
        at, found = latest[pairs[i]]
        _bring_in_step(writer, (a, b), _props(pairs[i].scope, found, at), edges.get(i, ()))
    writer.flush()
    return len(pairs)


def forget(writer: Writer, nodes: Iterable[NodeKey], forgotten: Collection[NodeKey]) -> None:
    """Drop what was derived of entities of which something is forgotten, and of those that are stubs by now."""
    entities = sorted(key for key in nodes if key.label is Label.ENTITY)
    if entities:
        writer.touch(entities)
        rows = [{"eid": writer.nodes[key].eid, "forgotten": key in forgotten} for key in entities]
        writer.run(FORGET, rows=rows)


def _bring_in_step(writer: Writer, ends: tuple[str, str], props: Row | None, edges: Iterable[Row]) -> None:
    said = any(edge["type"] == LINKED for edge in edges)
    wanted = None if said else props
    for edge in edges:
        if edge["type"] != SAME_AS or not edge["derived"]:
            continue
        if wanted is not None and all(edge[name] == wanted[name] for name in ("status", "score", "reason")):
            wanted = None
        else:
            writer.disconnect([edge["eid"]])
    if wanted is not None:
        writer.connect(SAME_AS, *ends, wanted)


def _props(scope: str, row: ResolvedRow, at: int) -> Row | None:
    if row.status is None:
        return None
    told = {"status": row.status.value, "score": row.score, "reason": row.reason}
    return {"scope": scope, "derived": True, "at": at, **told}
