"""Facts and preferences, brought in step with their slots.

A version is closed and never edited: `ended_at` is the position at which it stopped being current. What only adds up
while more sources say the same (`support`, `said_last`, `confidence`) is kept in step on the version, with `changed`;
a reader of an earlier position counts the SOURCED_FROM edges up to there.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from memstream.folds.facts import Fact
from memstream.schemas.catalogue import catalogue
from memstream.schemas.ids import scope_token
from memstream.schemas.patch import Label
from memstream.sinks.records import Incoming
from memstream.sinks.slots import (
    SLOT_OF,
    Assertion,
    Cause,
    Slot,
    SlotKey,
    assertion_props,
    content_of,
    read,
    version_id,
)
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

Told = tuple[str, int, Row]


@dataclass(slots=True)
class Touched:
    """What was taken back before the batch is applied: slots to fold again, and versions that lost a source."""

    slots: dict[SlotKey, Cause] = field(default_factory=dict)
    reduced: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Version:
    """A version of a fact: its id, and its internal id once it is there."""

    id: str
    slot: Slot
    fact: Fact
    eid: str | None = None


@dataclass(slots=True)
class Plan:
    """What changes in the slots of a batch."""

    close: list[tuple[Slot, Row]] = field(default_factory=list)
    create: list[Version] = field(default_factory=list)
    keep: list[Version] = field(default_factory=list)
    add: list[tuple[Version, list[str]]] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)


def ends_of(one: Incoming) -> list[NodeKey]:
    """The nodes that the assertions of a patch refer to."""
    keys = []
    for row in one.patch.assertions:
        keys.append(NodeKey(Label.ENTITY, one.scope, row.subject))
        if row.object is not None:
            keys.append(NodeKey(Label.ENTITY, one.scope, row.object))
        if row.source_label is not None and row.source_id is not None:
            keys.append(NodeKey(row.source_label, one.scope, row.source_id))
    return keys


def write_facts(writer: Writer, patches: Sequence[Incoming], touched: Touched) -> tuple[int, list[Told]]:
    """Write the assertions and retractions of these patches, and bring the facts of all touched slots in step.

    Returns the number of rows, and what became true.
    """
    new = {(o.scope, row.id): assertion_props(o, row) for o in patches for row in o.patch.assertions}
    news = {(o.scope, row.id): _retraction_props(o, row) for o in patches for row in o.patch.retractions}
    causes = _causes(writer, patches, new, touched)
    if not causes:
        _create(writer, "Retraction", news.values())
        return len(news), []
    slots = read(writer, causes, new.values(), news.values())
    plan = Plan()
    for slot in slots:
        _compare(slot, touched.reduced, plan)
    _write(writer, plan, new, news)
    return len(new) + len(news), plan.told


def _causes(
    writer: Writer, patches: Sequence[Incoming], new: Mapping[Any, Row], touched: Touched
) -> dict[SlotKey, Cause]:
    causes = dict(touched.slots)
    elsewhere: list[tuple[str, str, Cause]] = []
    for one in patches:
        cause = Cause(one.offset, one.patch.origin.id)
        for row in one.patch.assertions:
            _touch(causes, SlotKey(one.scope, row.slot), cause)
        for taken in one.patch.retractions:
            here = new.get((one.scope, taken.assertion))
            if taken.slot is not None and taken.assertion is None:
                _touch(causes, SlotKey(one.scope, taken.slot), cause)
            elif here is not None:
                _touch(causes, SlotKey(one.scope, here["slot"]), cause)
            elif taken.assertion is not None:
                elsewhere.append((one.scope, taken.assertion, cause))
    if elsewhere:
        rows = [{"i": i, "scope": scope, "id": assertion} for i, (scope, assertion, _) in enumerate(elsewhere)]
        for found in writer.run(SLOT_OF, rows=rows):
            scope, _, cause = elsewhere[found["i"]]
            _touch(causes, SlotKey(scope, found["slot"]), cause)
    return causes


def _touch(causes: dict[SlotKey, Cause], key: SlotKey, cause: Cause) -> None:
    """The last event that touches a slot counts."""
    if key not in causes or causes[key].at < cause.at:
        causes[key] = cause


def _retraction_props(one: Incoming, row: Any) -> Row:
    own = {"scope": one.scope, "event": one.key, "at": one.offset, "recorded_at": one.patch.origin.recorded_at}
    return dict(row.model_dump(mode="json", exclude_none=True)) | own


def _compare(slot: Slot, reduced: set[str], plan: Plan) -> None:
    """What the fold of a slot changes of its versions."""
    facts = slot.facts()
    standing = {row["content"]: row for row in slot.current if row["id"] not in reduced}
    supporting: dict[str, set[str]] = {}
    for assertion in slot.said.values():
        if (version := assertion.props.get("fact")) is not None:
            supporting.setdefault(version, set()).add(assertion.props["id"])
    kept: set[str] = set()
    for fact in facts:
        row = standing.get(content_of(fact))
        sources = set(fact.sources)
        if row is not None and supporting.get(row["id"], set()) <= sources:
            kept.add(row["id"])
            version = Version(row["id"], slot, fact, row["eid"])
            plan.keep.append(version)
            if added := [one for one in fact.sources if one not in supporting.get(row["id"], ())]:
                plan.add.append((version, added))
        else:
            plan.create.append(Version(version_id(slot.key, fact, slot.cause), slot, fact))
    plan.close += [(slot, row) for row in slot.current if row["id"] not in kept]
    plan.told += _told(slot, facts)


def _told(slot: Slot, facts: tuple[Fact, ...]) -> Iterable[Told]:
    """What became true, in words for watchers; the texts stay in the graph, where an erasure reaches them."""
    before = {row["name"]: row for row in slot.current}
    sources = {one for fact in facts for one in fact.sources}
    what = slot.label.lower()
    for fact in facts:
        was = before.get(fact.name)
        if was is not None and was["holds"] == fact.holds:
            continue
        kind = "new" if was is None or fact.holds else "superseded" if fact.superseded_by else "ended"
        yield slot.key.scope, slot.cause.at, _payload(slot, f"{what}.{kind}", fact.claim, fact)
    for row in slot.current:
        if row["name"] not in sources:
            yield slot.key.scope, slot.cause.at, _payload(slot, f"{what}.retracted", row["claim"], None)


def _payload(slot: Slot, kind: str, claim: str, fact: Fact | None) -> Row:
    payload: Row = {"kind": kind, "claim": claim, "slot": slot.key.slot, "event_id": slot.cause.event_id}
    if fact is None:
        return payload
    shown = slot.said[fact.shown].props
    told = {
        "subject": shown["subject"],
        "predicate": shown["predicate"],
        "object": shown.get("object"),
        "negated": fact.negated,
        "holds": fact.holds,
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
    }
    return payload | {name: value for name, value in told.items() if value is not None}


def _write(writer: Writer, plan: Plan, new: Mapping[Any, Row], news: Mapping[Any, Row]) -> None:
    writer.touch(key for version in plan.create for key in _ends(version))
    writer.touch(key for version, added in plan.add for key in _sources(version, added))
    for version, added in [*((v, list(v.fact.sources)) for v in plan.create), *plan.add]:
        for one in added:
            _support(writer, version.slot.said[one], version.id)
    made = writer.create([(["Assertion"], props) for props in new.values()])
    for (key, props), eid in zip(new.items(), made, strict=True):
        _assert(writer, key[0], props, eid)
    _create(writer, "Retraction", news.values())
    versions = writer.create([([version.slot.label], _version_props(version)) for version in plan.create])
    for version, eid in zip(plan.create, versions, strict=True):
        version.eid = eid
        _connect_version(writer, version)
    for version, added in plan.add:
        _source(writer, version, added)
        writer.set(version.eid or "", _counted(version) | {"changed": version.slot.cause.at})
    _supersede(writer, plan)
    _close(writer, plan)


def _support(writer: Writer, assertion: Assertion, version: str) -> None:
    if assertion.eid is None:
        assertion.props["fact"] = version
    else:
        writer.set(assertion.eid, {"fact": version})


def _assert(writer: Writer, scope: str, props: Row, eid: str) -> None:
    if props.get("source_id") is not None and props.get("source_label") is not None:
        source = writer.nodes[NodeKey(Label(props["source_label"]), scope, props["source_id"])]
        writer.connect("ASSERTED_IN", eid, source.eid, {"event": props["event"], "at": props["at"]})


def _create(writer: Writer, label: str, rows: Iterable[Row]) -> None:
    writer.create([([label], props) for props in rows])


def _ends(version: Version) -> Iterable[NodeKey]:
    scope, shown = version.slot.key.scope, version.slot.said[version.fact.shown].props
    yield NodeKey(Label.ENTITY, scope, shown["subject"])
    if shown.get("object") is not None:
        yield NodeKey(Label.ENTITY, scope, shown["object"])
    yield from _sources(version, version.fact.sources)


def _sources(version: Version, sources: Iterable[str]) -> Iterable[NodeKey]:
    for one in sources:
        props = version.slot.said[one].props
        if props.get("source_id") is not None and props.get("source_label") is not None:
            yield NodeKey(Label(props["source_label"]), version.slot.key.scope, props["source_id"])


def _version_props(version: Version) -> Row:
    fact, key = version.fact, version.slot.key
    shown = version.slot.said[fact.shown].props
    copied = ("claim", "subject", "subject_name", "subject_type", "predicate", "object", "object_name", "object_type")
    props: Row = {**orjson.loads(shown.get("props", "{}")), **{name: shown.get(name) for name in copied}}
    if version.slot.label == "Preference":
        props["holder"] = shown["subject"]
    if shown.get("vector") is not None:
        raw = base64.b64decode(shown["vector"])
        props |= {"embedding": list(struct.unpack(f"<{len(raw) // 2}e", raw)), "embedding_model": shown["model"]}
    return props | _counted(version) | {
        "scope": key.scope,
        "id": version.id,
        "stok": scope_token(key.scope),
        "slot": key.slot,
        "name": fact.name,
        "shown": fact.shown,
        "content": content_of(fact),
        "value": shown.get("value"),
        "text": shown["text"],
        "open": shown.get("open"),
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "start_known": fact.start_known,
        "negated": fact.negated,
        "said_first": fact.said_first,
        "holds": fact.holds,
        "typed": _type_of(version),
        "current": True,
        "at": version.slot.cause.at,
        "recorded_at": shown["recorded_at"],
    }  # fmt: skip


def _counted(version: Version) -> Row:
    fact = version.fact
    return {"support": len(fact.sources), "said_last": fact.said_last, "confidence": fact.confidence}


def _type_of(version: Version) -> str | None:
    """The type of the edge that stands for it between its ends, while it holds."""
    shown = version.slot.said[version.fact.shown].props
    stands = version.fact.holds and not version.fact.negated and version.slot.label == "Fact"
    kind: str = shown["predicate"].upper()
    return kind if stands and shown.get("object") and not shown.get("open") and kind in TYPED else None


def _connect_version(writer: Writer, version: Version) -> None:
    scope, shown, eid = version.slot.key.scope, version.slot.said[version.fact.shown].props, version.eid or ""
    at = {"at": version.slot.cause.at}
    subject = writer.nodes[NodeKey(Label.ENTITY, scope, shown["subject"])].eid
    preference = version.slot.label == "Preference"
    writer.connect("HELD_BY" if preference else "ABOUT", eid, subject, at)
    if shown.get("object") is not None:
        target = writer.nodes[NodeKey(Label.ENTITY, scope, shown["object"])].eid
        writer.connect("ABOUT" if preference else "OBJECT", eid, target, at)
        if (kind := _type_of(version)) is not None:
            writer.connect(kind, subject, target, at | {"fact": version.id, "claim": version.fact.claim})
    _source(writer, version, version.fact.sources)


def _source(writer: Writer, version: Version, sources: Iterable[str]) -> None:
    for one in sources:
        props = version.slot.said[one].props
        if props.get("source_id") is None or props.get("source_label") is None:
            continue  # stated outright: its event is what to cite
        node = writer.nodes[NodeKey(Label(props["source_label"]), version.slot.key.scope, props["source_id"])]
        said = {"assertion": one, "said_at": props["said_at"], "confidence": props["confidence"]}
        writer.connect("SOURCED_FROM", version.eid or "", node.eid, said | {"at": version.slot.cause.at})


def _supersede(writer: Writer, plan: Plan) -> None:
    fresh = {id(version) for version in plan.create}
    versions = [*plan.create, *plan.keep]
    by_name = {(version.slot.key, version.fact.name): version for version in versions}
    for version in versions:
        if version.fact.supersedes is None:
            continue
        old = by_name[version.slot.key, version.fact.supersedes]
        if id(version) in fresh or id(old) in fresh:
            writer.connect("SUPERSEDES", version.eid or "", old.eid or "", {"at": version.slot.cause.at})


def _close(writer: Writer, plan: Plan) -> None:
    for slot, row in plan.close:
        writer.set(row["eid"], {"ended_at": slot.cause.at, "current": None})
    typed: dict[str, list[Row]] = {}
    for _, row in plan.close:
        if row["typed"] is not None:
            typed.setdefault(row["typed"], []).append({"eid": row["eid"], "id": row["id"]})
    for kind, rows in typed.items():
        writer.disconnect(row["eid"] for row in writer.run(TYPED[kind], rows=rows))
