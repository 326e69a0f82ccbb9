"""Facts and preferences, brought in step with what their slots fold to.

What the patches of a batch say and take back is gathered by slot, folded on, and compared with the versions that stand:
those that say the same stay, and what only adds up is kept in step on them; the others are closed and made anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memstream.folds.resume import Kept
from memstream.folds.runs import Fact
from memstream.schemas.patch import Label
from memstream.sinks.folding import fold_slots
from memstream.sinks.records import Incoming
from memstream.sinks.slots import SLOT_OF, Assertion, Cause, Slot, SlotKey, Slots, assertion_props, slot_in, version_id
from memstream.sinks.statements import Row
from memstream.sinks.versions import Plan, Told, Version, worded, write_versions
from memstream.sinks.writer import NodeKey, Writer

Rows = Mapping[tuple[str, str], Row]


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


def write_facts(writer: Writer, patches: Sequence[Incoming], touched: Slots) -> tuple[int, list[Told]]:
    """Write the assertions and retractions of these patches, and bring the facts of all touched slots in step.

    `touched` are slots that lost or got back something before. Returns the number of rows, and what became true.
    """
    new = {(o.scope, row.id): assertion_props(o, row) for o in patches for row in o.patch.assertions}
    news = {(o.scope, row.id): _retraction_props(o, row) for o in patches for row in o.patch.retractions}
    taken: dict[SlotKey, list[Row]] = {}
    slots = _gather(writer, patches, (new, news), taken, touched)
    plan = Plan()
    for slot in fold_slots(writer, slots, taken) if slots else ():
        _compare(slot, plan)
    write_versions(writer, plan, list(new.values()), list(news.values()))
    return len(new) + len(news), plan.told


def _gather(
    writer: Writer, patches: Sequence[Incoming], said: tuple[Rows, Rows], taken: dict[SlotKey, list[Row]], slots: Slots
) -> Slots:
    """The slots of a batch with what it says of each; what it takes back goes to `taken`, by slot."""
    new, news = said
    elsewhere: list[tuple[Row, Cause]] = []
    for one in patches:
        cause = Cause(one.offset, one.patch.origin.id)
        for row in one.patch.assertions:
            slot = slot_in(slots, SlotKey(one.scope, row.slot), cause)
            slot.kind = row.kind
            slot.said[row.id] = Assertion(new[one.scope, row.id])
        for retraction in one.patch.retractions:
            props = news[one.scope, retraction.id]
            if retraction.assertion is not None:
                elsewhere.append((props, cause))
            elif retraction.slot is not None:
                key = SlotKey(one.scope, retraction.slot)
                slot_in(slots, key, cause).whole = True
                taken.setdefault(key, []).append(props)
    _find(writer, elsewhere, new, taken, slots)
    return slots


def _find(
    writer: Writer, named: list[tuple[Row, Cause]], new: Rows, taken: dict[SlotKey, list[Row]], slots: Slots
) -> None:
    """The slots of assertions that are taken back by their ids, here or in the graph."""
    asked = []
    for i, (props, cause) in enumerate(named):
        here = new.get((props["scope"], props["assertion"]))
        if here is None:
            asked.append({"i": i, "scope": props["scope"], "id": props["assertion"]})
        else:
            key = SlotKey(props["scope"], here["slot"])
            slot_in(slots, key, cause)
            taken.setdefault(key, []).append(props)
    for row in writer.run(SLOT_OF, rows=asked) if asked else ():
        props, cause = named[row["i"]]
        key = SlotKey(props["scope"], row["slot"])
        slot_in(slots, key, cause).touch(row["kind"], row["place"])
        taken.setdefault(key, []).append(props)


def _retraction_props(one: Incoming, row: Any) -> Row:
    own = {"scope": one.scope, "event": one.key, "at": one.offset, "recorded_at": one.patch.origin.recorded_at}
    return dict(row.model_dump(mode="json", exclude_none=True)) | own


def _compare(slot: Slot, plan: Plan) -> None:
    """What the fold of a slot changes of its versions."""
    folded = slot.folded
    held: dict[str, set[str]] = {}
    for assertion in slot.said.values():
        if (run := assertion.props.get("run")) is not None:
            held.setdefault(run, set()).add(assertion.props["id"])
    standing = {one.content: one for one in folded.gone if one.run.name not in slot.lost}
    stays: set[str] = set()
    facts: list[Fact] = []
    for run in folded.runs:
        fact = run.fact()
        facts.append(fact)
        old = standing.get(fact.content)
        if old is not None and held.get(fact.name, set()) <= set(fact.sources):
            stays.add(old.turn)
            added = [one for one in fact.sources if one not in held.get(fact.name, ())]
            plan.keep.append(Version(old.handle["id"], slot, fact, run, old.handle["eid"], added=added))
        else:
            plan.create.append(Version(version_id(slot.key, fact, slot.cause), slot, fact, run, added=[*fact.sources]))
    facts = [_go_on(slot, one, plan) for one in sorted(folded.on, key=lambda one: one.run.place)] + facts
    plan.close += [(slot, one.handle) for one in folded.gone if one.turn not in stays]
    plan.near |= {(slot.key, one.turn): one.handle["eid"] for one in folded.near}
    plan.told += _told(slot, facts)


def _go_on(slot: Slot, one: Kept, plan: Plan) -> Fact:
    """A version whose sources stay, and that may say something else by now."""
    fact = one.run.fact()
    if fact.content == one.content:
        plan.keep.append(Version(one.handle["id"], slot, fact, one.run, one.handle["eid"], added=one.run.added))
    else:
        fresh = version_id(slot.key, fact, slot.cause)
        plan.create.append(Version(fresh, slot, fact, one.run, old=one.handle, added=one.run.added))
        plan.close.append((slot, one.handle))
    return fact


def _told(slot: Slot, facts: Iterable[Fact]) -> Iterable[Told]:
    """What became true, in words for watchers; the texts stay in the graph, where an erasure reaches them."""
    old = [one.handle for one in (*slot.folded.gone, *slot.folded.on)]
    before = {row["name"]: row for row in old}
    after = {one for fact in facts for one in (fact.name, *fact.sources)}
    for fact in facts:
        was = before.get(fact.name)
        if was is not None and was["holds"] == fact.holds:
            continue
        kind = "new" if was is None or fact.holds else "superseded" if fact.superseded_by else "ended"
        yield slot.key.scope, slot.cause.at, _payload(slot, kind, fact.claim, fact, was)
    for row in old:
        if row["name"] not in after:
            yield slot.key.scope, slot.cause.at, _payload(slot, "retracted", row["claim"], None, row)


def _payload(slot: Slot, kind: str, claim: str, fact: Fact | None, old: Row | None) -> Row:
    what = slot.labels[0] if old is None else old["label"]
    payload: Row = {
        "kind": f"{what.lower()}.{kind}", "claim": claim, "slot": slot.key.slot, "event_id": slot.cause.event_id
    }  # fmt: skip
    if fact is None:
        return payload
    shown = worded(slot, fact, old)
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
