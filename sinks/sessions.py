"""FIRST_MESSAGE and NEXT_MESSAGE, brought in step around each message that came or went.

Index: Message (scope, session_id, order), walked from the place itself, so that a look-up costs the same in a session
of ten messages and of a million. The queries name it: a planner that knows little of a young graph takes another one.
The edges show the latest state; a reader of an earlier position goes by `order`.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from memstream.folds.sessions import Links, Neighbours, changes, wanted
from memstream.schemas.ids import named_id
from memstream.schemas.patch import Label
from memstream.sinks.records import Incoming
from memstream.sinks.statements import statement
from memstream.sinks.writer import NodeKey, Writer

BEFORE = statement(
    "messages before",
    """
    UNWIND $rows AS row
    CALL (row) {
      MATCH (p:Message)
      USING INDEX p:Message(scope, session_id, order)
      WHERE p.scope = row.scope AND p.session_id = row.session AND p.order <= row.order
        AND (p.order < row.order OR p.id < row.id)
      RETURN p ORDER BY p.scope DESC, p.session_id DESC, p.order DESC, p.id DESC LIMIT 1
    }
    RETURN collect({i: row.i, eid: elementId(p)}) AS rows
    """,
)
AFTER = statement(
    "messages after",
    """
    UNWIND $rows AS row
    CALL (row) {
      MATCH (p:Message)
      USING INDEX p:Message(scope, session_id, order)
      WHERE p.scope = row.scope AND p.session_id = row.session AND p.order >= row.order
        AND (p.order > row.order OR p.id > row.id)
      RETURN p ORDER BY p.scope, p.session_id, p.order, p.id LIMIT 1
    }
    RETURN collect({i: row.i, eid: elementId(p)}) AS rows
    """,
)
# By internal ids, in both: only the links of the nodes named.
NEXT = statement(
    "links of messages",
    """
    UNWIND $eids AS eid
    MATCH (m) WHERE elementId(m) = eid
    MATCH (m)-[r:NEXT_MESSAGE]-(x)
    RETURN collect(DISTINCT {eid: elementId(r), a: elementId(startNode(r)), b: elementId(endNode(r))}) AS rows
    """,
)
FIRST = statement(
    "first messages",
    """
    UNWIND $eids AS eid
    MATCH (c) WHERE elementId(c) = eid
    MATCH (c)-[r:FIRST_MESSAGE]->(m)
    RETURN collect({eid: elementId(r), a: elementId(c), b: elementId(m)}) AS rows
    """,
)


class Spot(NamedTuple):
    """A message's place in its session."""

    scope: str
    session: str
    order: str
    id: str

    @property
    def conversation(self) -> NodeKey:
        """The session's node."""
        return conversation_of(self.scope, self.session)


@lru_cache(maxsize=4096)
def conversation_of(scope: str, session: str) -> NodeKey:
    """The node of a session."""
    return NodeKey(Label.CONVERSATION, scope, named_id("session", scope, session))


def spots_of(one: Incoming) -> list[Spot]:
    """The places of the messages that a patch makes."""
    return [
        Spot(one.scope, row.props["session_id"], row.props["order"], row.id)
        for row in one.patch.nodes
        if row.label is Label.MESSAGE and row.owned and row.props.get("session_id") and row.props.get("order")
    ]


def write_chain(writer: Writer, came: dict[Spot, int], went: dict[Spot, int]) -> None:
    """Bring the chains in step. All messages are written, conversations are touched; values are the positions."""
    spots = sorted(came.keys() | went.keys())
    if not spots:
        return
    here = {spot: writer.nodes[NodeKey(Label.MESSAGE, spot.scope, spot.id)].eid for spot in came}
    places = _places(writer, spots, here)
    want = wanted(places)
    next_ids, first_ids = _existing(writer, want, set(here.values()))
    change = changes(want, Links(frozenset(next_ids), frozenset(first_ids)))
    writer.disconnect(next_ids[pair] for pair in sorted(change.drop.next))
    writer.disconnect(first_ids[pair] for pair in sorted(change.drop.first))
    last = max((*came.values(), *went.values()))
    position = {eid: came[spot] for spot, eid in here.items()}
    for a, b in sorted(change.make.next):
        at = max(position.get(a, -1), position.get(b, -1))
        writer.connect("NEXT_MESSAGE", a, b, {"at": last if at < 0 else at})
    for a, b in sorted(change.make.first):
        writer.connect("FIRST_MESSAGE", a, b, {"at": position.get(b, last)})


def _places(writer: Writer, spots: list[Spot], here: dict[Spot, str]) -> list[Neighbours]:
    """What comes before and after each. Mostly the next one of the batch comes after: then the graph isn't asked."""
    rows = [{"i": i, **spot._asdict()} for i, spot in enumerate(spots)]
    before = {row["i"]: row["eid"] for row in writer.run(BEFORE, rows=rows)}
    after = {
        i: here[following]
        for i, (spot, following) in enumerate(pairwise(spots))
        if spot in here and following in here and before.get(i + 1) == here[spot]
    }
    asked = [row for row in rows if row["i"] not in after]
    after |= {row["i"]: row["eid"] for row in writer.run(AFTER, rows=asked)}
    return [
        Neighbours(writer.nodes[spot.conversation].eid, before.get(i), here.get(spot), after.get(i))
        for i, spot in enumerate(spots)
    ]


def _existing(
    writer: Writer, want: Links, fresh: set[str]
) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
    # a message that came with this batch has no links yet
    ends = sorted(({eid for pair in want.next for eid in pair} | {message for _, message in want.first}) - fresh)
    following = {(row["a"], row["b"]): row["eid"] for row in writer.run(NEXT, eids=ends)} if ends else {}
    sessions = sorted({session for session, _ in want.first})
    opening = {(row["a"], row["b"]): row["eid"] for row in writer.run(FIRST, eids=sessions)} if sessions else {}
    return following, opening
