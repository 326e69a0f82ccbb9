"""Versions of facts and preferences: their nodes and edges.

A version is closed and never edited: `ended_at` is the position at which it stopped being current. What only adds up
while more sources say the same (`support`, `said_last`, `confidence`) is kept in step on the version, with `changed`;
a reader of an earlier position counts the SOURCED_FROM edges up to there. Where a version that stays the same fact says
something else (it ended), the next one takes its sources over, in the database.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import orjson

from memstream.folds.resume import kept, lead_of, turn_of
from memstream.folds.runs import Fact, Run
from memstream.schemas.catalogue import catalogue
from memstream.schemas.ids import scope_token
from memstream.schemas.patch import Label
from memstream.sinks.slots import Slot, SlotKey
from memstream.sinks.statements import Row, statement
from memstream.sinks.writer import NodeKey, Writer

# By the internal id of the version, then its own two edges; between its ends only edges of that type.
_TYPED = """
UNWIND $rows AS row
MATCH (f) WHERE elementId(f) = row.eid
MATCH (f)-[:ABOUT]->(a)
MATCH (f)-[:OBJECT]->(b)
CALL (row, a, b) { MATCH (a)-[r:TYPE]->(b) WHERE r.fact = row.id RETURN r }
RETURN collect({eid: elementId(r)}) AS rows
"""
TYPED = {
    name.upper(): statement(f"{name} edges of versions", _TYPED.replace("TYPE", name.upper()))
    for name in catalogue().predicates
}
# By internal id; the properties of the version before it, then what is new.
GO_ON = statement(
    "go on with versions",
    """
    UNWIND $rows AS row
    MATCH (o) WHERE elementId(o) = row.old
    CREATE (n:$([row.label]))
    SET n = o{.*, id: row.id}
    SET n += row.props
    RETURN collect({i: row.i, eid: elementId(n)}) AS rows
    """,
)
# By internal id, then the version's own edges.
SOURCES_OVER = statement(
    "take sources over",
    """
    UNWIND $rows AS row
    MATCH (o) WHERE elementId(o) = row.old
    MATCH (n) WHERE elementId(n) = row.new
    MATCH (o)-[s:SOURCED_FROM]->(m)
    CREATE (n)-[t:SOURCED_FROM]->(m) SET t = properties(s)
    """,
)
_RUN = ("fold", "last_place", "lead", "turn")

Told = tuple[str, int, Row]
"""Scope, position, and what to tell."""


@dataclass(slots=True)
class Version:
    """A version of a fact: its id, its run, and its internal id once it is there.

    `old` is the version that it takes over from, `added` are the sources that come to it now.
    """

    id: str
    slot: Slot
    fact: Fact
    run: Run
    eid: str = ""
    old: Row | None = None
    added: Sequence[str] = ()

    @property
    def label(self) -> str:
        """Fact or Preference."""
        label: str = self.slot.labels[0] if self.old is None else self.old["label"]
        return label


@dataclass(slots=True)
class Plan:
    """What changes in the slots of a batch. `near` are internal ids of further versions that changed ones point to."""

    close: list[tuple[Slot, Row]] = field(default_factory=list)
    create: list[Version] = field(default_factory=list)
    keep: list[Version] = field(default_factory=list)
    near: dict[tuple[SlotKey, str], str] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)


def worded(slot: Slot, fact: Fact, old: Row | None) -> Row:
    """Who and what a fact is about: as its shown source says it, or its version that stands."""
    shown = slot.said.get(fact.shown)
    if shown is not None:
        return shown.props
    return old if old is not None else {}


def write_versions(writer: Writer, plan: Plan, new: Sequence[Row], news: Sequence[Row]) -> None:
    """Write the assertions (`new`) and retractions (`news`) of a batch, and what changes of the versions."""
    writer.touch(key for version in plan.create for key in _ends(version))
    writer.touch(key for version in (*plan.create, *plan.keep) for key in _sources(version))
    for version in (*plan.create, *plan.keep):
        _into_runs(writer, version)
    _out_of_runs(writer, plan)
    made = writer.create([(["Assertion"], props) for props in new])
    for props, eid in zip(new, made, strict=True):
        _assert(writer, props, eid)
    writer.create([(["Retraction"], props) for props in news])
    _create(writer, plan.create)
    for version in plan.create:
        _connect(writer, version)
    for version in plan.keep:
        _keep_in_step(writer, version)
    _supersede(writer, plan)
    _close(writer, plan)


def _into_runs(writer: Writer, version: Version) -> None:
    """Each assertion says of which run it is."""
    for one in version.added:
        assertion = version.slot.said[one]
        if assertion.eid is None:
            assertion.props["run"] = version.fact.name
        elif assertion.props.get("run") != version.fact.name:
            writer.set(assertion.eid, {"run": version.fact.name})


def _out_of_runs(writer: Writer, plan: Plan) -> None:
    """And of none where it was taken back."""
    slots = {slot.key: slot for slot in (*(v.slot for v in (*plan.create, *plan.keep)), *(s for s, _ in plan.close))}
    for slot in slots.values():
        for assertion in slot.fallen:
            if assertion.eid is not None and assertion.props.get("run") is not None:
                writer.set(assertion.eid, {"run": None})


def _assert(writer: Writer, props: Row, eid: str) -> None:
    if props.get("source_id") is not None and props.get("source_label") is not None:
        source = writer.nodes[NodeKey(Label(props["source_label"]), props["scope"], props["source_id"])]
        writer.connect("ASSERTED_IN", eid, source.eid, {"event": props["event"], "at": props["at"]})


def _create(writer: Writer, versions: Sequence[Version]) -> None:
    fresh = [version for version in versions if version.old is None]
    for version, eid in zip(fresh, writer.create([([v.label], _props(v)) for v in fresh]), strict=True):
        version.eid = eid
    going_on = [(version, version.old) for version in versions if version.old is not None]
    if not going_on:
        return
    rows = [
        {"i": i, "old": old["eid"], "label": version.label, "id": version.id, "props": _props(version)}
        for i, (version, old) in enumerate(going_on)
    ]
    for row in writer.run(GO_ON, rows=rows):
        going_on[row["i"]][0].eid = row["eid"]
    writer.created += len(rows)
    writer.run(SOURCES_OVER, rows=[{"old": old["eid"], "new": version.eid} for version, old in going_on])


def _ends(version: Version) -> Iterable[NodeKey]:
    scope, shown = version.slot.key.scope, worded(version.slot, version.fact, version.old)
    yield NodeKey(Label.ENTITY, scope, shown["subject"])
    if shown.get("object") is not None:
        yield NodeKey(Label.ENTITY, scope, shown["object"])


def _sources(version: Version) -> Iterable[NodeKey]:
    for one in version.added:
        props = version.slot.said[one].props
        if props.get("source_id") is not None and props.get("source_label") is not None:
            yield NodeKey(Label(props["source_label"]), version.slot.key.scope, props["source_id"])


def _props(version: Version) -> Row:
    """The properties of a new version; where it goes on from another one, those that are its own."""
    fact, key = version.fact, version.slot.key
    own = _counted(version) | {
        "scope": key.scope,
        "id": version.id,
        "slot": key.slot,
        "stok": scope_token(key.scope),
        "name": fact.name,
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "start_known": fact.start_known,
        "negated": fact.negated,
        "holds": fact.holds,
        "typed": _type_of(version),
        "current": True,
        "at": version.slot.cause.at,
        "changed": None,
    }
    return _wording(version) | own


def _wording(version: Version) -> Row:
    """What the shown source says; nothing where a version goes on with the same one."""
    if version.fact.shown not in version.slot.said:
        return {}
    shown = version.slot.said[version.fact.shown].props
    copied = (
        "claim", "subject", "subject_name", "subject_type", "predicate", "object", "object_name", "object_type",
        "value", "text", "open", "recorded_at",
    )  # fmt: skip
    props: Row = {**orjson.loads(shown.get("props", "{}")), **{name: shown.get(name) for name in copied}}
    if version.label == "Preference":
        props["holder"] = shown["subject"]
    if shown.get("vector") is not None:
        raw = base64.b64decode(shown["vector"])
        props |= {"embedding": list(struct.unpack(f"<{len(raw) // 2}e", raw)), "embedding_model": shown["model"]}
    return props | {"shown": version.fact.shown, "said_first": version.fact.said_first}


def _counted(version: Version) -> Row:
    fact, run = version.fact, version.run
    adds_up = {"support": fact.support, "said_last": fact.said_last, "confidence": fact.confidence}
    return adds_up | dict(zip(_RUN, (kept(run), run.last_place, lead_of(run), turn_of(run)), strict=True))


def _type_of(version: Version) -> str | None:
    """The type of the edge that stands for it between its ends, while it holds."""
    shown = worded(version.slot, version.fact, version.old)
    stands = version.fact.holds and not version.fact.negated and version.label == "Fact"
    kind: str = shown["predicate"].upper()
    return kind if stands and shown.get("object") and not shown.get("open") and kind in TYPED else None


def _connect(writer: Writer, version: Version) -> None:
    scope, shown = version.slot.key.scope, worded(version.slot, version.fact, version.old)
    at = {"at": version.slot.cause.at}
    subject = writer.nodes[NodeKey(Label.ENTITY, scope, shown["subject"])].eid
    preference = version.label == "Preference"
    writer.connect("HELD_BY" if preference else "ABOUT", version.eid, subject, at)
    if shown.get("object") is not None:
        target = writer.nodes[NodeKey(Label.ENTITY, scope, shown["object"])].eid
        writer.connect("ABOUT" if preference else "OBJECT", version.eid, target, at)
        if (kind := _type_of(version)) is not None:
            writer.connect(kind, subject, target, at | {"fact": version.id, "claim": version.fact.claim})
    _source(writer, version)


def _source(writer: Writer, version: Version) -> None:
    for one in version.added:
        props = version.slot.said[one].props
        if props.get("source_id") is None or props.get("source_label") is None:
            continue  # stated outright: its event is what to cite
        node = writer.nodes[NodeKey(Label(props["source_label"]), version.slot.key.scope, props["source_id"])]
        said = {"assertion": one, "said_at": props["said_at"], "confidence": props["confidence"]}
        writer.connect("SOURCED_FROM", version.eid, node.eid, said | {"at": version.slot.cause.at})


def _keep_in_step(writer: Writer, version: Version) -> None:
    changed = {"changed": version.slot.cause.at} if version.added else {}
    writer.set(version.eid, _counted(version) | changed)
    _source(writer, version)


def _supersede(writer: Writer, plan: Plan) -> None:
    fresh = {(version.slot.key, turn_of(version.run)) for version in plan.create}
    here = {(v.slot.key, turn_of(v.run)): v.eid for v in (*plan.keep, *plan.create)}
    eids = plan.near | here
    for version in plan.create:
        key, at = version.slot.key, {"at": version.slot.cause.at}
        old, new = version.run.supersedes, version.run.superseded_by
        if old is not None:
            writer.connect("SUPERSEDES", version.eid, eids[key, turn_of(old)], at)
        if new is not None and (key, turn_of(new)) not in fresh:
            writer.connect("SUPERSEDES", eids[key, turn_of(new)], version.eid, at)


def _close(writer: Writer, plan: Plan) -> None:
    for slot, row in plan.close:
        writer.set(row["eid"], {"ended_at": slot.cause.at, "current": None, **dict.fromkeys(_RUN)})
    typed: dict[str, list[Row]] = {}
    for _, row in plan.close:
        if row["typed"] is not None:
            typed.setdefault(row["typed"], []).append({"eid": row["eid"], "id": row["id"]})
    for kind, rows in typed.items():
        writer.disconnect(row["eid"] for row in writer.run(TYPED[kind], rows=rows))
