"""Takes events back out of the graph: where a better patch of the same event arrives, and where it is erased.

By the manifest on the Event node everything it made is found by key: its edges go, shared nodes are folded again from
what the other events say, its own nodes become stubs, its assertions and retractions go and their slots are folded
again with the rest of the batch. Stubs that nothing refers to any more are swept at the end of the batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memstream.folds.parts import say_key
from memstream.schemas.patch import Edge, Label
from memstream.sinks.known import Stored
from memstream.sinks.links import Pair
from memstream.sinks.manifest import LINKED, Manifest, read_manifest
from memstream.sinks.nodes import RESET, UNLABEL, refold
from memstream.sinks.sessions import Spot
from memstream.sinks.slots import LABELS, SLOT_OF, Cause, SlotKey, Slots, slot_in
from memstream.sinks.statements import Row, statement
from memstream.sinks.writer import Node, NodeKey, Writer

# By internal ids; of the edges of the type between the two those of the end with fewer are walked.
_EDGES_OF = """
UNWIND $rows AS row
MATCH (a) WHERE elementId(a) = row.a
MATCH (b) WHERE elementId(b) = row.b
CALL (row, a, b) { MATCH (a)-[r:TYPE]->(b) WHERE r.event = row.event RETURN r }
RETURN DISTINCT elementId(r) AS eid
"""
EDGES_OF = {
    kind: statement(f"{kind} edges of an event", _EDGES_OF.replace("TYPE", kind))
    for kind in (*(edge.value for edge in Edge), LINKED)
}
# By internal id, then the event's own edges.
SAYS_OF = statement(
    "says of an event",
    """
    UNWIND $eids AS eid
    MATCH (e) WHERE elementId(e) = eid
    MATCH (e)-[w:WROTE]->(n)
    RETURN eid AS event, elementId(w) AS eid, labels(n) AS labels, n.scope AS scope, n.id AS id, w.part AS part,
      w.key AS key, w.at AS at, e.id AS event_id, e.recorded_at AS recorded_at
    """,
)
# By internal id.
PLACES = statement(
    "places of messages",
    """
    UNWIND $eids AS eid
    MATCH (m:Message) WHERE elementId(m) = eid AND m.session_id IS NOT NULL AND m.order IS NOT NULL
    OPTIONAL MATCH (m)-[r:NEXT_MESSAGE|FIRST_MESSAGE]-()
    RETURN m.scope AS scope, m.session_id AS session, m.order AS order, m.id AS id, collect(elementId(r)) AS links
    """,
)
# Index: the unique key (scope, id) of Assertion and of Retraction.
FORGET_ASSERTIONS = statement(
    "forget assertions",
    """
    UNWIND $rows AS row
    MATCH (a:Assertion {scope: row.scope, id: row.id})
    WITH row, a, a.slot AS slot, a.place AS place, a.kind AS kind, a.run AS run, a.at AS at
    DETACH DELETE a
    RETURN row.i AS i, slot, place, kind, run, at
    """,
)
FORGET_RETRACTIONS = statement(
    "forget retractions",
    """
    UNWIND $rows AS row
    MATCH (r:Retraction {scope: row.scope, id: row.id})
    WITH row, r, r.slot AS slot, r.assertion AS assertion
    DETACH DELETE r
    RETURN row.i AS i, slot, assertion
    """,
)
# By internal id.
DROP_EVENTS = statement("drop events", "UNWIND $eids AS eid MATCH (e) WHERE elementId(e) = eid DETACH DELETE e")
# Index: Fact (scope, slot) and Preference (scope, slot).
_CLOSED = """
UNWIND $rows AS row
MATCH (f:LABEL {scope: row.scope, slot: row.slot}) WHERE f.ended_at > row.since
OPTIONAL MATCH (f)-[:ABOUT|OBJECT|HELD_BY|SOURCED_FROM]->(n)
WITH f, row, collect(DISTINCT {labels: labels(n), id: n.id}) AS ends
DETACH DELETE f
RETURN row.scope AS scope, ends
"""
FORGET_VERSIONS = {
    label: statement(f"forget versions of {label}", _CLOSED.replace("LABEL", label)) for label in LABELS.values()
}
# By internal id; a degree is looked up, not counted.
SWEEP = statement(
    "sweep stubs",
    """
    UNWIND $eids AS eid
    MATCH (n) WHERE elementId(n) = eid AND n.at IS NULL AND NOT EXISTS { (n)--() }
    DELETE n
    """,
)

_LABELS = {label.value: label for label in Label}

Made = tuple["Taken", Manifest]


@dataclass(frozen=True, slots=True)
class Taken:
    """An event to take back, the event that does it, and whether it is to be forgotten for good.

    With a `part` only what this manifest names is taken back, and what the event says of the `orphans` among entities.
    """

    event: Stored
    cause: Cause
    forget: bool = False
    part: Manifest | None = None
    orphans: frozenset[str] = frozenset()

    @property
    def made(self) -> Manifest:
        """What is taken back."""
        return read_manifest(self.event.made) if self.part is None else self.part

    def takes(self, key: NodeKey) -> bool:
        """Whether what the event says of this node is taken back."""
        return self.part is None or (key.label is Label.ENTITY and key.id in self.orphans)


@dataclass(slots=True)
class Unfolded:
    """What was taken back: what to fold again, and the nodes to sweep if nothing refers to them in the end.

    `forgotten` are the entities of which something is to be forgotten for good.
    """

    facts: Slots = field(default_factory=dict)
    pairs: dict[Pair, int] = field(default_factory=dict)
    spots: dict[Spot, int] = field(default_factory=dict)
    nodes: set[NodeKey] = field(default_factory=set)
    forgotten: set[NodeKey] = field(default_factory=set)
    since: dict[SlotKey, int] = field(default_factory=dict)


def unfold(writer: Writer, taken: Sequence[Taken]) -> Unfolded:
    """Take these events back. Their Event nodes stay as they are."""
    out = Unfolded()
    made = [(one, one.made) for one in taken]
    for one, manifest in made:
        _collect(one, manifest, out)
    says = _says(writer, taken)
    out.nodes |= says.keys()
    for_good = {one.event.eid for one in taken if one.forget}
    out.forgotten |= {
        key for key, rows in says.items() if key.label is Label.ENTITY and any(row["event"] in for_good for row in rows)
    }
    writer.touch(out.nodes)
    writer.disconnect(row["eid"] for rows in says.values() for row in rows)
    _drop_edges(writer, made)
    _own_to_stubs(writer, made, out)
    refold(writer, [key for key, rows in says.items() if any(_shows(writer.nodes[key], row) for row in rows)])
    _forget_said(writer, made, out)
    writer.flush()
    return out


def drop_events(writer: Writer, events: Iterable[Stored]) -> None:
    """The Event nodes themselves, where another patch takes their place."""
    if eids := [event.eid for event in events]:
        writer.run(DROP_EVENTS, eids=eids)


def forget_versions(writer: Writer, out: Unfolded) -> None:
    """Versions that stood while what is now erased was known, and are closed by now: they may repeat it."""
    rows = [{"scope": key.scope, "slot": key.slot, "since": since} for key, since in sorted(out.since.items())]
    for what in FORGET_VERSIONS.values() if rows else ():
        for row in writer.run(what, rows=rows):
            out.nodes |= {
                NodeKey(label, row["scope"], end["id"])
                for end in row["ends"]
                if end["id"] is not None and (label := _label(end["labels"])) is not None
            }


def sweep(writer: Writer, keys: Iterable[NodeKey]) -> None:
    """Remove those of these nodes that are stubs and that nothing refers to."""
    wanted = sorted(set(keys))
    if wanted:
        writer.touch(wanted)
        writer.run(SWEEP, eids=[writer.nodes[key].eid for key in wanted])


def _collect(taken: Taken, manifest: Manifest, out: Unfolded) -> None:
    scope = taken.event.scope
    out.nodes |= {NodeKey(Label(label), scope, one) for label, one in manifest.nodes}
    for edge in manifest.edges:
        out.nodes.add(NodeKey(Label(edge.from_label), scope, edge.from_id))
        out.nodes.add(NodeKey(Label(edge.to_label), scope, edge.to_id))
        if edge.type == LINKED:
            out.pairs[Pair(scope, edge.from_id, edge.to_id)] = taken.cause.at


def _says(writer: Writer, taken: Sequence[Taken]) -> dict[NodeKey, list[Row]]:
    """What these events say that is taken back, by the node that it is said of."""
    by_event = {one.event.eid: one for one in taken}
    says: dict[NodeKey, list[Row]] = {}
    for row in writer.run(SAYS_OF, eids=sorted(by_event)):
        if (label := _label(row["labels"])) is not None:
            key = NodeKey(label, row["scope"], row["id"])
            if by_event[row["event"]].takes(key):
                says.setdefault(key, []).append(row)
    return says


def _shows(node: Node, say: Row) -> bool:
    """Whether anything of a say shows on its node: where nothing does, the node is the same without it."""
    held = node.parts.get(say["part"])
    if held is None or held[0] == say_key(say["key"], say["event_id"]) or node.at is None or node.recorded_at is None:
        return True
    return bool(say["at"] <= node.at or say["recorded_at"] <= node.recorded_at)


def _drop_edges(writer: Writer, made: Iterable[Made]) -> None:
    by_type: dict[str, list[Row]] = {}
    for taken, manifest in made:
        for edge in manifest.edges:
            start = writer.nodes[NodeKey(Label(edge.from_label), taken.event.scope, edge.from_id)]
            end = writer.nodes[NodeKey(Label(edge.to_label), taken.event.scope, edge.to_id)]
            by_type.setdefault(edge.type, []).append({"a": start.eid, "b": end.eid, "event": taken.event.id})
    for kind, rows in by_type.items():
        writer.disconnect({row["eid"] for row in writer.run(EDGES_OF[kind], rows=rows)})


def _own_to_stubs(writer: Writer, made: Iterable[Made], out: Unfolded) -> None:
    at: dict[str, int] = {}
    resets: list[Row] = []
    for taken, manifest in made:
        for label, one in manifest.nodes:
            node = writer.nodes[NodeKey(Label(label), taken.event.scope, one)]
            node.at = node.recorded_at = None
            at[one] = taken.cause.at
            resets.append({"eid": node.eid, "label": label, "props": {"scope": taken.event.scope, "id": one}})
    if not resets:
        return
    for row in writer.run(PLACES, eids=[row["eid"] for row in resets]):
        spot = Spot(row["scope"], row["session"], row["order"], row["id"])
        out.spots[spot] = at[spot.id]
        out.nodes.add(spot.conversation)
        writer.disconnect(row["links"])
    writer.flush()
    writer.run(UNLABEL, rows=resets)
    writer.run(RESET, rows=resets)


def _forget_said(writer: Writer, made: Sequence[Made], out: Unfolded) -> None:
    said = [(taken, one) for taken, manifest in made for one in manifest.assertions]
    rows = [{"i": i, "scope": taken.event.scope, "id": one} for i, (taken, one) in enumerate(said)]
    for row in writer.run(FORGET_ASSERTIONS, rows=rows) if rows else ():
        taken = said[row["i"]][0]
        key = SlotKey(taken.event.scope, row["slot"])
        slot = slot_in(out.facts, key, taken.cause)
        slot.touch(row["kind"], row["place"])
        if taken.forget:
            out.since[key] = min(row["at"], out.since.get(key, row["at"]))
        if row["run"] is not None:
            slot.lost.add(row["run"])
    _forget_retractions(writer, made, out)


def _forget_retractions(writer: Writer, made: Sequence[Made], out: Unfolded) -> None:
    ours = [(taken.event.scope, one, taken.cause) for taken, manifest in made for one in manifest.retractions]
    rows = [{"i": i, "scope": scope, "id": one} for i, (scope, one, _) in enumerate(ours)]
    named: list[tuple[str, str, Cause]] = []
    for row in writer.run(FORGET_RETRACTIONS, rows=rows) if rows else ():
        scope, _, cause = ours[row["i"]]
        if row["assertion"] is not None:
            named.append((scope, row["assertion"], cause))
        elif row["slot"] is not None:
            slot_in(out.facts, SlotKey(scope, row["slot"]), cause).whole = True
    rows = [{"i": i, "scope": scope, "id": one} for i, (scope, one, _) in enumerate(named)]
    for row in writer.run(SLOT_OF, rows=rows) if rows else ():
        scope, _, cause = named[row["i"]]
        slot_in(out.facts, SlotKey(scope, row["slot"]), cause).touch(row["kind"], row["place"])


def _label(labels: Iterable[str]) -> Label | None:
    """The label of a patch's node among all that it carries."""
    return next((_LABELS[name] for name in labels if name in _LABELS), None)
