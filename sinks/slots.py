"""Slots: all that was said of each, the versions of facts that stand now, and what a batch changes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import orjson

from memstream.folds.facts import Fact, Said, TakenBack, fold
from memstream.schemas.ids import hash_of
from memstream.schemas.patch import AssertionKind, AssertionRow
from memstream.sinks.records import Incoming
from memstream.sinks.statements import Row, statement
from memstream.sinks.writer import Writer

# Index: Assertion (scope, slot, key), by its first two parts.
SAID = statement(
    "assertions of slots",
    """
    UNWIND $slots AS s
    MATCH (a:Assertion {scope: s.scope, slot: s.slot}) WHERE a.key IS NOT NULL
    RETURN collect({eid: elementId(a), props: properties(a)}) AS rows
    """,
)
# Index: Retraction (scope, slot).
TAKEN_BACK_IN_SLOT = statement(
    "retractions in slots",
    """
    UNWIND $slots AS s
    MATCH (r:Retraction {scope: s.scope, slot: s.slot})
    RETURN collect({i: s.i, props: properties(r)}) AS rows
    """,
)
# Index: Retraction (scope, assertion).
TAKEN_BACK_BY_ID = statement(
    "retractions of assertions",
    """
    UNWIND $rows AS a
    MATCH (r:Retraction {scope: a.scope, assertion: a.id})
    RETURN collect({i: a.i, props: properties(r)}) AS rows
    """,
)
# Index: the unique key (scope, id) of Assertion.
SLOT_OF = statement(
    "slots of assertions",
    """
    UNWIND $rows AS row
    MATCH (a:Assertion {scope: row.scope, id: row.id})
    RETURN row.i AS i, a.slot AS slot
    """,
)
# Index: Fact (scope, slot, current), Preference (scope, slot, current).
_CURRENT = """
UNWIND $slots AS s
MATCH (f:LABEL {scope: s.scope, slot: s.slot, current: true})
RETURN collect({i: s.i, eid: elementId(f), id: f.id, content: f.content, name: f.name, claim: f.claim,
  holds: f.holds, typed: f.typed}) AS rows
"""
LABELS = {AssertionKind.FACT: "Fact", AssertionKind.PREFERENCE: "Preference"}
CURRENT = {label: statement(f"current {label}", _CURRENT.replace("LABEL", label)) for label in LABELS.values()}


class SlotKey(NamedTuple):
    """A slot of a scope."""

    scope: str
    slot: str


@dataclass(frozen=True, slots=True)
class Cause:
    """The last event of a batch that touched a slot: its position and id. Steps of one erasure are numbered."""

    at: int
    event_id: str
    step: int = 0


@dataclass(slots=True)
class Assertion:
    """What was said, as properties of its node; `eid` is None where this batch says it."""

    props: Row
    eid: str | None = None

    @property
    def said(self) -> Said:
        """It as the fold sees it."""
        props = self.props
        return Said(
            id=props["id"],
            value=props["value_key"],
            said_at=props["said_at"],
            key=props["key"],
            slot=props["slot"],
            claim=props["claim"],
            single=props["single"],
            negated=props.get("negated", False),
            valid_from=props.get("valid_from"),
            valid_to=props.get("valid_to"),
            confidence=props["confidence"],
            recorded_at=props["recorded_at"],
        )


@dataclass
class Slot:
    """All that was said of one slot, what was taken back, and the versions that stand now."""

    key: SlotKey
    cause: Cause
    said: dict[str, Assertion] = field(default_factory=dict)
    taken_back: dict[str, TakenBack] = field(default_factory=dict)
    current: list[Row] = field(default_factory=list)

    @cached_property
    def label(self) -> str:
        """Whether its claims are facts or preferences."""
        kind = next((a.props["kind"] for a in self.said.values()), AssertionKind.FACT.value)
        return LABELS[AssertionKind(kind)]

    def facts(self) -> tuple[Fact, ...]:
        """The fold of it."""
        return fold((a.said for a in self.said.values()), self.taken_back.values())


def assertion_props(one: Incoming, row: AssertionRow) -> Row:
    """The node of an assertion. What is None or at its default is left out."""
    own = {
        "scope": one.scope,
        "event": one.key,
        "at": one.offset,
        "recorded_at": one.patch.origin.recorded_at,
        "props": orjson.dumps(row.props).decode() if row.props else None,
        "negated": row.negated or None,
        "open": row.open or None,
        "used": list(row.used) or None,
        "vector": row.vector.packed if row.vector else None,
        "model": row.vector.model if row.vector else None,
    }
    plain = row.model_dump(mode="json", exclude={"props", "negated", "open", "used", "vector"}, exclude_none=True)
    return {name: value for name, value in (plain | own).items() if value is not None}


def read(writer: Writer, causes: Mapping[SlotKey, Cause], new: Iterable[Row], news: Iterable[Row]) -> list[Slot]:
    """These slots, with what this batch says (`new`) and takes back (`news`), as properties of nodes."""
    slots = {key: Slot(key, cause) for key, cause in sorted(causes.items())}
    asked = [{"i": i, "scope": key.scope, "slot": key.slot} for i, key in enumerate(slots)]
    in_order = list(slots.values())
    for row in writer.run(SAID, slots=asked):
        props = row["props"]
        slots[SlotKey(props["scope"], props["slot"])].said[props["id"]] = Assertion(props, row["eid"])
    for props in new:
        slots[SlotKey(props["scope"], props["slot"])].said[props["id"]] = Assertion(props)
    _read_taken_back(writer, slots, asked, news)
    for label in LABELS.values():
        for row in writer.run(CURRENT[label], slots=asked):
            in_order[row["i"]].current.append(row)
    return in_order


def _read_taken_back(writer: Writer, slots: dict[SlotKey, Slot], asked: list[Row], news: Iterable[Row]) -> None:
    in_order = list(slots.values())
    owners = {(key.scope, one): slot for key, slot in slots.items() for one in slot.said}
    rows = [{"i": i, "scope": scope, "id": one} for i, (scope, one) in enumerate(owners)]
    by_number = list(owners.values())
    for row in writer.run(TAKEN_BACK_IN_SLOT, slots=asked):
        in_order[row["i"]].taken_back[row["props"]["id"]] = _taken_back(row["props"])
    for row in writer.run(TAKEN_BACK_BY_ID, rows=rows):
        by_number[row["i"]].taken_back[row["props"]["id"]] = _taken_back(row["props"])
    for props in news:
        by_slot = slots.get(SlotKey(props["scope"], props.get("slot", "")))
        slot = owners.get((props["scope"], props.get("assertion", "")), by_slot)
        if slot is not None:
            slot.taken_back[props["id"]] = _taken_back(props)


def _taken_back(props: Row) -> TakenBack:
    return TakenBack(
        id=props["id"],
        assertion=props.get("assertion"),
        slot=props.get("slot"),
        claim=props.get("claim"),
        said_before=props.get("said_before"),
        recorded_at=props["recorded_at"],
    )


def content_of(fact: Fact) -> str:
    """What makes a version: with the same content it stays, whatever else supports it by now."""
    parts = (
        fact.name,
        fact.shown,
        fact.claim,
        str(fact.negated),
        fact.valid_from or "",
        fact.valid_to or "",
        str(fact.start_known),
        str(fact.holds),
        fact.superseded_by or "",
        fact.said_first,
    )
    return hash_of("content", "\x1f".join(parts))


def version_id(key: SlotKey, fact: Fact, cause: Cause) -> str:
    """The id of a version: a slot changes at most once at a position, or in a step of an erasure."""
    step = (str(cause.step),) if cause.step else ()
    return hash_of("version", key.scope, key.slot, fact.name, str(cause.at), *step)
