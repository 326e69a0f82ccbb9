"""Slots: what was said of each, as far as their folds ask for it, in a few queries for all slots of a batch.

A version that stands keeps its run: `fold` is its state, and three texts place it among the runs of its slot: where it
ends (`last_place`), among the values that follow each other (`lead`), among the runs of its claim (`turn`). The queries
name their index: a planner that knows little of a young graph takes one that walks all of a slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from memstream.folds.facts import Fact, Said, TakenBack
from memstream.folds.resume import Refolded
from memstream.schemas.ids import hash_of
from memstream.schemas.patch import AssertionKind, AssertionRow
from memstream.sinks.records import Incoming
from memstream.sinks.statements import Row, Statement, statement

# Index: Assertion (scope, slot, place).
SAID_FROM = statement(
    "assertions from a place",
    """
    UNWIND $rows AS row
    MATCH (a:Assertion {scope: row.scope, slot: row.slot})
    USING INDEX a:Assertion(scope, slot, place) WHERE a.place >= row.place
    RETURN collect({i: row.i, eid: elementId(a), props: properties(a)}) AS rows
    """,
)
# Index: Retraction (scope, slot).
TAKEN_BACK_IN_SLOT = statement(
    "retractions in slots",
    """
    UNWIND $rows AS row
    MATCH (r:Retraction {scope: row.scope, slot: row.slot})
    RETURN collect({i: row.i, props: properties(r)}) AS rows
    """,
)
# Index: Retraction (scope, assertion).
TAKEN_BACK_BY_ID = statement(
    "retractions of assertions",
    """
    UNWIND $rows AS row
    MATCH (r:Retraction {scope: row.scope, assertion: row.id})
    RETURN collect({i: row.i, id: row.id}) AS rows
    """,
)
# Index: the unique key (scope, id) of Assertion.
SLOT_OF = statement(
    "slots of assertions",
    """
    UNWIND $rows AS row
    MATCH (a:Assertion {scope: row.scope, id: row.id})
    RETURN row.i AS i, a.slot AS slot, a.place AS place, a.kind AS kind
    """,
)
LABELS = {AssertionKind.FACT: "Fact", AssertionKind.PREFERENCE: "Preference"}
_VERSION = """collect({i: row.i, eid: elementId(f), id: f.id, name: f.name, claim: f.claim, holds: f.holds,
  typed: f.typed, fold: f.fold, subject: f.subject, predicate: f.predicate, object: f.object, open: f.open,
  last_place: f.last_place, lead: f.lead, turn: f.turn}) AS rows"""
# Index: Fact and Preference (scope, slot, last_place).
_RUNS_FROM = """
UNWIND $rows AS row
MATCH (f:LABEL {scope: row.scope, slot: row.slot})
  USING INDEX f:LABEL(scope, slot, last_place) WHERE f.last_place >= row.place
RETURN """
# Index: Fact and Preference (scope, slot, last_place): the first few of a slot. Most slots have no more.
_FEW_RUNS = """
UNWIND $rows AS row
CALL (row) {
  MATCH (f:LABEL {scope: row.scope, slot: row.slot})
  USING INDEX f:LABEL(scope, slot, last_place) WHERE f.last_place >= '' RETURN f LIMIT $most
}
RETURN """
# Index: Fact and Preference (scope, slot, lead) and (scope, slot, turn), read backwards from the place, one hit.
_LAST_BEFORE = """
UNWIND $rows AS row
CALL (row) {
  MATCH (f:LABEL {scope: row.scope, slot: row.slot})
  USING INDEX f:LABEL(scope, slot, KEY) WHERE f.KEY >= row.row AND f.KEY < row.before
  RETURN f ORDER BY f.scope DESC, f.slot DESC, f.KEY DESC LIMIT 1
}
RETURN """
# Index: Fact and Preference (scope, slot, turn).
_AT = """
UNWIND $rows AS row
MATCH (f:LABEL {scope: row.scope, slot: row.slot, turn: row.turn})
USING INDEX f:LABEL(scope, slot, turn)
RETURN """


def _for_each(name: str, text: str) -> dict[str, Statement]:
    return {
        label: statement(f"{name} of {label}", text.replace("LABEL", label) + _VERSION) for label in LABELS.values()
    }


FEW_RUNS = _for_each("first runs", _FEW_RUNS)
RUNS_FROM = _for_each("runs from a place", _RUNS_FROM)
LAST_LEAD = _for_each("last value before a place", _LAST_BEFORE.replace("KEY", "lead"))
LAST_TURN = _for_each("last run of a claim before a place", _LAST_BEFORE.replace("KEY", "turn"))
RUNS_AT = _for_each("runs by their turns", _AT)


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
        return said_of(self.props)


@dataclass(slots=True)
class Slot:
    """What a batch does to a slot, what was read of it, and what it folds to.

    `places` are those of assertions that went or came back, `whole` tells that it may be anywhere; `lost` are the names
    of runs that lost a source; `runs` are the versions that stand, by label, of labels that have no more than a few.
    """

    key: SlotKey
    cause: Cause
    kind: AssertionKind | None = None
    places: list[str] = field(default_factory=list)
    whole: bool = False
    lost: set[str] = field(default_factory=set)
    runs: dict[str, list[Row]] = field(default_factory=dict)
    said: dict[str, Assertion] = field(default_factory=dict)
    fallen: list[Assertion] = field(default_factory=list)
    taken_back: list[TakenBack] = field(default_factory=list)
    folded: Refolded = field(default_factory=Refolded)

    @property
    def labels(self) -> list[str]:
        """What its versions are: facts or preferences; both where nothing tells which."""
        return list(LABELS.values()) if self.kind is None else [LABELS[self.kind]]

    def touch(self, kind: str, place: str) -> None:
        """An assertion of this kind, at this place, went or came back."""
        self.kind = AssertionKind(kind)
        self.places.append(place)


Slots = dict[SlotKey, Slot]


def slot_in(slots: Slots, key: SlotKey, cause: Cause) -> Slot:
    """The slot of a batch; a later cause counts."""
    slot = slots.setdefault(key, Slot(key, cause))
    if slot.cause.at < cause.at:
        slot.cause = cause
    return slot


def said_of(props: Mapping[str, Any]) -> Said:
    """An assertion's node as the fold sees it."""
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


def assertion_props(one: Incoming, row: AssertionRow) -> Row:
    """The node of an assertion. What is None or at its default is left out."""
    recorded_at = one.patch.origin.recorded_at
    own = {
        "scope": one.scope,
        "event": one.key,
        "at": one.offset,
        "recorded_at": recorded_at,
        "place": Said.of(row, recorded_at).place,
        "props": orjson.dumps(row.props).decode() if row.props else None,
        "negated": row.negated or None,
        "open": row.open or None,
        "used": list(row.used) or None,
        "vector": row.vector.packed if row.vector else None,
        "model": row.vector.model if row.vector else None,
    }
    plain = row.model_dump(mode="json", exclude={"props", "negated", "open", "used", "vector"}, exclude_none=True)
    return {name: value for name, value in (plain | own).items() if value is not None}


def taken_back_of(props: Mapping[str, Any]) -> TakenBack:
    """A retraction's node as the fold sees it."""
    return TakenBack(
        id=props["id"],
        assertion=props.get("assertion"),
        slot=props.get("slot"),
        claim=props.get("claim"),
        said_before=props.get("said_before"),
        recorded_at=props["recorded_at"],
    )


def version_id(key: SlotKey, fact: Fact, cause: Cause) -> str:
    """The id of a version: a slot changes at most once at a position, or in a step of an erasure."""
    step = (str(cause.step),) if cause.step else ()
    return hash_of("version", key.scope, key.slot, fact.name, str(cause.at), *step)
