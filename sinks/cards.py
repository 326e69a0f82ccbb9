"""Cards that name an erased event as their evidence: what was learned from it goes with it.

A card says what it rests on by the ids (or keys) of events. It makes no difference whether the card or the erasure
comes first, and a card that rests on such a card goes as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from memstream.schemas.patch import Label, NodeRow
from memstream.sinks.known import Stored
from memstream.sinks.reached import Reached
from memstream.sinks.records import Identity, Incoming
from memstream.sinks.slots import Cause
from memstream.sinks.statements import Row, Runs, run, statement

# Index: the unique key (scope, id) of Memory, by its first part; then the says of each card.
RESTING = statement(
    "cards that rest on events",
    """
    UNWIND $rows AS row
    MATCH (c:Memory {scope: row.scope})<-[w:WROTE]-(e:Event)
    WHERE c.id IS NOT NULL AND e.verdict <> 'erased' AND any(one IN w.evidence WHERE one IN row.names)
    RETURN DISTINCT elementId(e) AS eid, e.scope AS scope, e.id AS id, e.generation AS generation, e.topic AS topic,
      e.partition AS partition, e.offset AS offset, e.recorded_at AS recorded_at, e.digest AS digest,
      e.verdict AS verdict, e.made AS made, e.session_id AS session, e.event_id AS event_id
    """,
)
# Index: Event (scope, id) and (scope, event_id).
ERASED = statement(
    "erased evidence",
    """
    UNWIND $rows AS row
    CALL (row) {
      MATCH (e:Event {scope: row.scope, id: row.name}) WHERE e.verdict = 'erased' RETURN e
      UNION MATCH (e:Event {scope: row.scope, event_id: row.name}) WHERE e.verdict = 'erased' RETURN e
    }
    RETURN DISTINCT row.scope AS scope, row.name AS name
    """,
)

Names = dict[str, set[str]]
"""Ids and keys of erased events, by scope."""


def evidence_of(row: NodeRow) -> list[str]:
    """What a card says it rests on."""
    evidence = row.props.get("evidence") if row.label is Label.MEMORY else None
    return list(evidence or ())


def spread(
    tx: Runs,
    reached: Sequence[tuple[Reached, Cause]],
    winners: Sequence[Incoming] = (),
    covered: Collection[Identity] = (),
) -> tuple[list[tuple[Reached, Cause]], set[Identity]]:
    """What erasures reach in the graph and of which events they cover patches, with all cards that rest on it."""
    keys = {one.identity for one in winners}
    gone = set(covered)
    while True:
        hidden = [one for one in winners if one.identity in gone]
        reached = with_cards(tx, reached, hidden, keys)
        more = on_erased(tx, winners, names_of(reached, hidden)) - gone
        if not more:
            return list(reached), gone
        gone |= more


def resting(tx: Runs, names: Names) -> list[Reached]:
    """The events of cards in the graph that rest on events of these names."""
    rows: list[Row] = [{"scope": scope, "names": sorted(found)} for scope, found in names.items() if found]
    found = run(tx, RESTING, rows=rows) if rows else []
    return [Reached(Stored.of(row), row["session"], row["event_id"]) for row in found]


def with_cards(
    tx: Runs, reached: Sequence[tuple[Reached, Cause]], covered: Iterable[Incoming], but: Collection[tuple[str, str]]
) -> list[tuple[Reached, Cause]]:
    """What erasures reach, and the cards in the graph that rest on it or on events that are covered as they come.

    `but` are events, by (scope, id), that better patches take the place of.
    """
    out = list(reached)
    causes = {(one.event.scope, name): cause for one, cause in reached for name in (one.event.id, one.event_id or "")}
    for one in covered:
        cause = Cause(one.offset, one.patch.origin.id)
        causes |= {(one.scope, name): cause for name in (one.key, one.patch.origin.id)}
    known = {(one.event.scope, one.event.id) for one, _ in out} | set(but)
    fresh = dict(causes)
    while fresh:
        names: Names = {}
        for scope, name in fresh:
            names.setdefault(scope, set()).add(name)
        last: dict[str, Cause] = {}  # by scope: positions of two scopes may be of two partitions
        for (scope, _), cause in fresh.items():
            last[scope] = max(last.get(scope, cause), cause, key=lambda one: one.at)
        cards = [one for one in resting(tx, names) if (one.event.scope, one.event.id) not in known]
        known |= {(one.event.scope, one.event.id) for one in cards}
        out += [(one, last[one.event.scope]) for one in cards]
        named = ((one.event.scope, name) for one in cards for name in (one.event.id, one.event_id or ""))
        fresh = {(scope, name): last[scope] for scope, name in named}
    return out


def names_of(reached: Iterable[tuple[Reached, Cause]], covered: Iterable[Incoming]) -> Names:
    """How events that are erased now may be named."""
    names: Names = {}
    for one, _ in reached:
        names.setdefault(one.event.scope, set()).update((one.event.id, one.event_id or one.event.id))
    for incoming in covered:
        names.setdefault(incoming.scope, set()).update(_own(incoming))
    return names


def on_erased(tx: Runs, winners: Sequence[Incoming], gone: Names) -> set[Identity]:
    """The events of those of these patches that are cards resting on erased events: of the graph, or of `gone`."""
    cards = {one.identity: (one, names) for one in winners if (names := _names(one))}
    if not cards:
        return set()
    asked = sorted({(one.scope, name) for one, names in cards.values() for name in names})
    rows = run(tx, ERASED, rows=[{"scope": scope, "name": name} for scope, name in asked])
    erased = {(row["scope"], row["name"]) for row in rows}
    erased |= {(scope, name) for scope, names in gone.items() for name in names}
    found: set[Identity] = set()
    while True:
        more = {card for card, (one, names) in cards.items() if card not in found and _rests(one, names, erased)}
        if not more:
            return found
        found |= more
        erased |= {(card[0], name) for card in more for name in _own(cards[card][0])}


def _names(one: Incoming) -> list[str]:
    return [name for row in one.patch.nodes for name in evidence_of(row)]


def _rests(one: Incoming, names: Iterable[str], erased: Collection[tuple[str, str]]) -> bool:
    return any((one.scope, name) in erased for name in names)


def _own(one: Incoming) -> tuple[str, str]:
    return one.key, one.patch.origin.id
