"""What resolution found of pairs of entities: SAME_AS edges that are derived, and stand behind all that was said.

They come through the log, as patches of no event. Such a row holds only between two entities that are there and of
which no event has said whether they are one. Where something of an entity is forgotten, what was derived of it goes as
well, and so does what was read before and comes after: the next run of resolution brings back what still holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

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

# Index: the unique key scope, in both. `forgot` grows each time, and is above the position at which it was: whoever
# reads the scope with this `forgot` or behind that position reads nothing of what is forgotten.
FORGOT = statement(
    "scope forgot",
    """
    UNWIND $rows AS row
    MATCH (s:Scope {scope: row.scope})
    SET s.forgot = CASE WHEN coalesce(s.forgot, -1) < row.at THEN row.at ELSE s.forgot + 1 END
    """,
)
FORGOTTEN = statement(
    "scopes that forgot",
    """
    UNWIND $scopes AS scope
    MATCH (s:Scope {scope: scope}) WHERE s.forgot IS NOT NULL
    RETURN scope, s.forgot AS at
    """,
)


def write(writer: Writer, derived: Iterable[Incoming]) -> int:
    """Bring SAME_AS in step with these patches, the latest row of a pair counts. Returns the number of rows.

    The position of their origin is how far what they come from was read.
    """
    latest: dict[Pair, tuple[int, ResolvedRow]] = {}
    for one in _after_what_is_forgotten(writer, sorted(derived, key=lambda one: one.offset)):
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


def forget(
    writer: Writer, nodes: Iterable[NodeKey], forgotten: Collection[NodeKey], positions: Mapping[str, int]
) -> None:
    """Drop what was derived of entities of which something is forgotten, and of those that are stubs by now.

    `positions` tell of each scope where in the log it forgets.
    """
    if scopes := sorted({key.scope for key in forgotten}):
        writer.run(FORGOT, rows=[{"scope": scope, "at": positions[scope] + 1} for scope in scopes])
    entities = sorted(key for key in nodes if key.label is Label.ENTITY)
    if entities:
        writer.touch(entities)
        rows = [{"eid": writer.nodes[key].eid, "forgotten": key in forgotten} for key in entities]
        writer.run(FORGET, rows=rows)


def _after_what_is_forgotten(writer: Writer, derived: Sequence[Incoming]) -> Iterator[Incoming]:
    """Those that were read when all that is forgotten by now was forgotten."""
    if derived:
        scopes = sorted({one.scope for one in derived})
        forgot = {row["scope"]: row["at"] for row in writer.run(FORGOTTEN, scopes=scopes)}
        yield from (one for one in derived if one.patch.origin.offset >= forgot.get(one.scope, -1))


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
