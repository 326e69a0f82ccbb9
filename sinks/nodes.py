"""The nodes of patches: owned ones, and the parts of shared ones, where the greatest key (or the least) shows.

Each event's say of a shared node is an edge (:Event)-[:WROTE]->(node). The node itself is written only where the say
wins its part, so a node that everybody names is not written each time.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from memstream.folds.parts import beats, say_key, winner
from memstream.schemas.ids import scope_token
from memstream.schemas.patch import SOURCES, Label, NodeRow, Vector
from memstream.sinks.records import Incoming
from memstream.sinks.statements import Row, statement
from memstream.sinks.writer import Node, NodeKey, Writer

WROTE = "WROTE"
FULL_TEXT = frozenset({Label.MESSAGE, Label.PASSAGE, Label.BOARD_ITEM, Label.ENTITY})

# By internal id, then the edges of the node's own says.
SAYS = statement(
    "says of nodes",
    """
    UNWIND $eids AS eid
    MATCH (n) WHERE elementId(n) = eid
    MATCH (n)<-[w:WROTE]-(e:Event)
    RETURN eid, w.part AS part, w.key AS key, coalesce(w.first, false) AS first, w.props AS props, w.vector AS vector,
      w.model AS model, w.at AS at, e.recorded_at AS recorded_at, e.id AS event
    """,
)
# By internal id, in both.
RESET = statement(
    "reset nodes",
    "UNWIND $rows AS row MATCH (n) WHERE elementId(n) = row.eid SET n = row.props",
)
UNLABEL = statement(
    "drop labels",
    """
    UNWIND $rows AS row
    MATCH (n) WHERE elementId(n) = row.eid
    WITH n, [l IN labels(n) WHERE l <> row.label] AS others
    REMOVE n:$(others)
    """,
)


@dataclass(frozen=True, slots=True)
class Say:
    """What one event says into one part of a shared node."""

    part: str
    key: str
    first: bool
    props: Mapping[str, Any]
    at: int
    recorded_at: str


@dataclass(slots=True)
class Shown:
    """What is to be written to a shared node after all says of a batch."""

    props: Row = field(default_factory=dict)
    labels: set[str] = field(default_factory=set)
    refold: bool = False


def keys_of(one: Incoming) -> list[NodeKey]:
    """The nodes that a patch writes or connects."""
    keys = [NodeKey(row.label, one.scope, row.id) for row in one.patch.nodes]
    for edge in one.patch.edges:
        keys.append(NodeKey(edge.from_label, one.scope, edge.from_id))
        keys.append(NodeKey(edge.to_label, one.scope, edge.to_id))
    return keys


def write_nodes(writer: Writer, events: Iterable[tuple[Incoming, str]]) -> int:
    """Write the node rows of these patches; their nodes are touched, `events` pairs each with its Event's internal id.

    Returns the number of rows.
    """
    shown: dict[NodeKey, Shown] = {}
    count = 0
    for one, event in events:
        for row in rows_of(one):
            key = NodeKey(row.label, one.scope, row.id)
            count += 1
            if row.owned:
                props = owned_props(one, row)
                writer.set(writer.nodes[key].eid, props, labels_of(row))
            else:
                _write_say(writer, shown.setdefault(key, Shown()), one, row, event)
    refold(writer, [key for key, node in shown.items() if node.refold])
    for key, what in shown.items():
        if not what.refold and what.props:
            writer.set(writer.nodes[key].eid, what.props, sorted(what.labels))
    return count


def rows_of(one: Incoming) -> Iterable[NodeRow]:
    """A patch's node rows, one for each part of a node."""
    rows: dict[tuple[Label, str, str], NodeRow] = {}
    for row in one.patch.nodes:
        held = rows.get((row.label, row.id, row.part))
        if held is None or (row.key, orjson.dumps(row.props)) > (held.key, orjson.dumps(held.props)):
            rows[row.label, row.id, row.part] = row
    return rows.values()


def labels_of(row: NodeRow) -> tuple[str, ...]:
    """The further labels of a node."""
    return (*row.labels, "Source") if row.label in SOURCES else row.labels


def owned_props(one: Incoming, row: NodeRow) -> Row:
    """All properties of a node that one event makes."""
    own = {"event": one.key, "at": one.offset, "recorded_at": one.patch.origin.recorded_at}
    return {**row.props, **embedding(row.vector), **named(NodeKey(row.label, one.scope, row.id)), **own}


def named(key: NodeKey) -> Row:
    """What every node of a label carries."""
    token = {"stok": scope_token(key.scope)} if key.label in FULL_TEXT else {}
    return {"scope": key.scope, "id": key.id, **token}


def embedding(vector: Vector | None) -> Row:
    """A vector as properties."""
    return {} if vector is None else {"embedding": vector.values(), "embedding_model": vector.model}


def _write_say(writer: Writer, shown: Shown, one: Incoming, row: NodeRow, event: str) -> None:
    key = NodeKey(row.label, one.scope, row.id)
    node = writer.nodes[key]
    recorded_at = one.patch.origin.recorded_at
    packed = {} if row.vector is None else {"vector": row.vector.packed, "model": row.vector.model}
    edge = {
        "part": row.part,
        "key": row.key,
        "props": orjson.dumps(row.props).decode(),
        "at": one.offset,
        **packed,
        **({"first": True} if row.first else {}),
        # a card's evidence stands open: what rests on an erased event is found by it
        **({"evidence": row.props["evidence"]} if row.label is Label.MEMORY and row.props.get("evidence") else {}),
    }
    writer.connect(WROTE, event, node.eid, edge)
    if node.at is None:
        node.at = one.offset
        shown.props |= named(key) | {"at": one.offset}
        shown.labels.update(labels_of(row))
    if node.recorded_at is None or recorded_at < node.recorded_at:
        node.recorded_at = shown.props["recorded_at"] = recorded_at
    said = say_key(row.key, one.key)
    holder = node.parts.get(row.part)
    if beats(said, holder[0] if holder else None, row.first):
        _show(shown, node, row.part, said, {**row.props, **embedding(row.vector)})
        shown.props["changed"] = one.offset


def _show(shown: Shown, node: Node, part: str, said: str, props: Row) -> None:
    """Let a say win its part. Where parts share a name, the part whose name sorts last gives the value."""
    others = {name: names for name, (_, names) in node.parts.items() if name != part}
    elsewhere = {name for names in others.values() for name in names}
    above = {name for other, names in others.items() if other > part for name in names}
    stale = set(node.parts[part][1]) - props.keys() if part in node.parts else set()
    shown.refold = shown.refold or bool(stale & elsewhere)
    shown.props |= dict.fromkeys(stale)
    shown.props |= {name: value for name, value in props.items() if name not in above}
    shown.props |= {f"key_{part}": said, f"names_{part}": sorted(props)}
    node.parts[part] = (said, tuple(props))


def refold(writer: Writer, keys: Iterable[NodeKey]) -> None:
    """Make these shared nodes anew from their says: what is collected so far is written first.

    A node that nobody says anything of becomes a stub.
    """
    wanted = {writer.nodes[key].eid: key for key in keys}
    if not wanted:
        return
    writer.flush()
    says: dict[str, list[tuple[str, Say]]] = {eid: [] for eid in wanted}
    for row in writer.run(SAYS, eids=sorted(wanted)):
        says[row["eid"]].append((say_key(row["key"], row["event"]), _say(row)))
    resets: list[Row] = []
    for eid, key in wanted.items():
        props, writer.nodes[key] = folded(key, eid, says[eid])
        resets.append({"eid": eid, "props": props, "label": key.label.value})
    # what a node is follows from its id, so its labels stay as long as anybody names it
    if stubs := [row for row in resets if not says[row["eid"]]]:
        writer.run(UNLABEL, rows=stubs)
    writer.run(RESET, rows=resets)


def folded(key: NodeKey, eid: str, says: list[tuple[str, Say]]) -> tuple[Row, Node]:
    """The properties of a shared node from all its says, and the node as the sink knows it."""
    if not says:
        return {"scope": key.scope, "id": key.id}, Node(eid, None, None)
    by_part: dict[str, list[tuple[str, Say]]] = {}
    for pair in says:
        by_part.setdefault(pair[1].part, []).append(pair)
    props: Row = {}
    node = Node(eid, min(say.at for _, say in says), min(say.recorded_at for _, say in says))
    for part in sorted(by_part):
        best = winner(by_part[part], by_part[part][0][1].first)
        if best is not None:
            props |= dict(best[1].props)
            props |= {f"key_{part}": best[0], f"names_{part}": sorted(best[1].props)}
            node.parts[part] = (best[0], tuple(best[1].props))
    changed = max(say.at for _, say in says)
    props |= named(key) | {"at": node.at, "recorded_at": node.recorded_at, "changed": changed}
    return props, node


def _say(row: Row) -> Say:
    props: Row = orjson.loads(row["props"])
    if row["vector"] is not None:
        raw = base64.b64decode(row["vector"])
        values = list(struct.unpack(f"<{len(raw) // 2}e", raw))
        props |= {"embedding": values, "embedding_model": row["model"]}
    return Say(row["part"], row["key"], row["first"], props, row["at"], row["recorded_at"])
