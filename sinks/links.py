"""SAME_AS follows from a fold of all that was said of a pair of entities: the greatest key says whether they are one.

What each event says of a pair is an edge LINKED; the SAME_AS edge is derived from them and shows the latest state.
Where no event says anything of a pair, the edge is what resolution found (sinks.sames).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from memstream.folds.parts import say_key, winner
from memstream.schemas.patch import Label, SameStatus
from memstream.sinks.manifest import LINKED
from memstream.sinks.records import Incoming
from memstream.sinks.statements import Row, statement
from memstream.sinks.writer import NodeKey, Writer

SAME_AS = "SAME_AS"

# By internal ids; of the edges between the two the planner walks those of the end with fewer.
LINKS = statement(
    "links of pairs",
    """
    UNWIND $rows AS row
    MATCH (a) WHERE elementId(a) = row.a
    MATCH (b) WHERE elementId(b) = row.b
    CALL (row, a, b) { MATCH (a)-[r:LINKED|SAME_AS]->(b) RETURN r }
    RETURN row.i AS i, type(r) AS type, elementId(r) AS eid, r.key AS key, r.same AS same, r.reason AS reason,
      r.event AS event, coalesce(r.derived, false) AS derived, r.status AS status, r.score AS score
    """,
)


class Pair(NamedTuple):
    """Two entities of a scope, the lesser id first."""

    scope: str
    a: str
    b: str

    @property
    def ends(self) -> tuple[NodeKey, NodeKey]:
        """Both as nodes."""
        return NodeKey(Label.ENTITY, self.scope, self.a), NodeKey(Label.ENTITY, self.scope, self.b)


def pairs_of(one: Incoming) -> list[Pair]:
    """The pairs that a patch says something of."""
    return [Pair(one.scope, link.a, link.b) for link in one.patch.links]


def write_links(writer: Writer, patches: Iterable[Incoming], touched: dict[Pair, int]) -> int:
    """Write what these patches say of pairs, and bring SAME_AS in step for all touched pairs (with their positions).

    The entities are touched. Returns the number of rows.
    """
    count = 0
    for one in patches:
        for link in one.patch.links:
            start, end = (writer.nodes[key] for key in Pair(one.scope, link.a, link.b).ends)
            said = {"key": link.key, "same": link.same, "reason": link.reason, "event": one.key, "at": one.offset}
            writer.connect(LINKED, start.eid, end.eid, said | ({"used": list(link.used)} if link.used else {}))
            count += 1
    if touched:
        writer.flush()
        _join(writer, touched)
    return count


def _join(writer: Writer, touched: dict[Pair, int]) -> None:
    pairs = sorted(touched)
    eids = [(writer.nodes[a].eid, writer.nodes[b].eid) for a, b in (pair.ends for pair in pairs)]
    found: dict[int, list[Row]] = {}
    for row in writer.run(LINKS, rows=[{"i": i, "a": a, "b": b} for i, (a, b) in enumerate(eids)]):
        found.setdefault(row["i"], []).append(row)
    for i, pair in enumerate(pairs):
        rows = found.get(i, [])
        says = [(say_key(row["key"], row["event"]), row) for row in rows if row["type"] == LINKED]
        best = winner(says, first=False)
        joined = [row for row in rows if row["type"] == SAME_AS and not (best is None and row["derived"])]
        wanted = best[0] if best is not None and best[1]["same"] else None
        writer.disconnect(row["eid"] for row in joined if row["derived"] or row["key"] != wanted)
        if best is not None and wanted is not None and all(row["key"] != wanted for row in joined):
            said = {"key": wanted, "reason": best[1]["reason"], "at": touched[pair]}
            props = said | {"status": SameStatus.ACCEPTED.value}
            a, b = eids[i]
            writer.connect(SAME_AS, a, b, props)
