"""FIRST_MESSAGE and NEXT_MESSAGE, brought in step around each message that came or went.

Index: Message (scope, session_id, order), walked from the place itself, so that a look-up costs the same in a session
of ten messages and of a million. The queries name it: a planner that knows little of a young graph takes another one.
The edges show the latest state; a reader of an earlier position goes by `order`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
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
# The same index, from the first to the last place of a session that a batch touches.
BETWEEN = statement(
    "messages between",
    """
    UNWIND $rows AS row
    CALL (row) {
      MATCH (p:Message)
      USING INDEX p:Message(scope, session_id, order)
      WHERE p.scope = row.scope AND p.session_id = row.session AND p.order >= row.first AND p.order <= row.last
      RETURN p ORDER BY p.scope, p.session_id, p.order, p.id LIMIT $most
    }
    RETURN collect({i: row.i, order: p.order, id: p.id, eid: elementId(p)}) AS rows
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


_MOST_FOUND = 3  # messages for each place that is touched


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
    position = {eid: came[spot] for spot, eid in here.items()}
    last = _last_of_sessions(writer, came | went)
    session = {eid: place.session for place in places for eid in (place.before, place.here, place.after)}
    for a, b in sorted(change.make.next):
        at = max(position.get(a, -1), position.get(b, -1))
        writer.connect("NEXT_MESSAGE", a, b, {"at": last[session[a]] if at < 0 else at})
    for opened, b in sorted(change.make.first):
        writer.connect("FIRST_MESSAGE", opened, b, {"at": position.get(b, last[opened])})


def _last_of_sessions(writer: Writer, touched: dict[Spot, int]) -> dict[str, int]:
    """The last position at which each session's node is touched here."""
    last: dict[str, int] = {}
    for spot, at in touched.items():
        session = writer.nodes[spot.conversation].eid
        last[session] = max(last.get(session, at), at)
    return last


def _places(writer: Writer, spots: list[Spot], here: dict[Spot, str]) -> list[Neighbours]:
    """What comes before and after each. Within a session one look-up tells it of all but the outermost."""
    before: dict[Spot, str] = {}
    after: dict[Spot, str] = {}
    for touched, found in _between(writer, spots):
        for spot in touched:
            at = bisect_left(found, (spot.order, spot.id, ""))
            following = at + (spot in here)
            if at > 0:
                before[spot] = found[at - 1][2]
            if following < len(found):
                after[spot] = found[following][2]
    for what, known in ((BEFORE, before), (AFTER, after)):
        asked = [spot for spot in spots if spot not in known]
        rows = [{"i": i, **spot._asdict()} for i, spot in enumerate(asked)]
        known |= {asked[row["i"]]: row["eid"] for row in (writer.run(what, rows=rows) if rows else ())}
    return [
        Neighbours(writer.nodes[spot.conversation].eid, before.get(spot), here.get(spot), after.get(spot))
        for spot in spots
    ]


def _between(writer: Writer, spots: list[Spot]) -> Iterator[tuple[list[Spot], list[tuple[str, str, str]]]]:
    """Sessions that are touched at several places, and (order, id, internal id) of all messages from first to last.

    One that has far more messages between is left out: looking at each place by itself costs less.
    """
    by_session = (list(some) for _, some in groupby(spots, key=lambda spot: (spot.scope, spot.session)))
    several = [some for some in by_session if len(some) > 1]
    rows = [
        {
            "i": i,
            "scope": some[0].scope,
            "session": some[0].session,
            "first": some[0].order,
            "last": some[-1].order,
        }
        for i, some in enumerate(several)
    ]
    most = _MOST_FOUND * max(map(len, several), default=0)
    found: list[list[tuple[str, str, str]]] = [[] for _ in several]
    for row in writer.run(BETWEEN, rows=rows, most=most) if rows else ():
        found[row["i"]].append((row["order"], row["id"], row["eid"]))
    for some, messages in zip(several, found, strict=True):
        if len(messages) < most:
            yield some, sorted(messages)


def _existing(
    writer: Writer, want: Links, fresh: set[str]
) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
    # a message that came with this batch has no links yet
    ends = sorted(({eid for pair in want.next for eid in pair} | {message for _, message in want.first}) - fresh)
    following = {(row["a"], row["b"]): row["eid"] for row in writer.run(NEXT, eids=ends)} if ends else {}
    sessions = sorted({session for session, _ in want.first})
    opening = {(row["a"], row["b"]): row["eid"] for row in writer.run(FIRST, eids=sessions)} if sessions else {}
    return following, opening
