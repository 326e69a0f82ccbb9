"""What memory believed at a time: the assertions recorded up to then, folded again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from memstream.folds import facts as folds
from memstream.query.graph import Reader, Row
from memstream.query.models import EntityRefOut, Fact, FactPage, PositionOut
from memstream.query.statements import scoped

if TYPE_CHECKING:
    from memstream.query.facts import Filters
    from memstream.query.params import Listing

_SLOTS = """
      a.slot > $slot AND a.at <= $position AND a.recorded_at <= $known_at AND a.kind = 'fact'
      AND ($predicate IS NULL OR a.predicate = $predicate)
      AND ($object IS NULL OR a.object IN $objects OR toLower(a.value) = toLower($object))
    WITH DISTINCT a.slot AS slot ORDER BY slot LIMIT $limit RETURN slot
"""

# Assertion by the index (scope, subject).
SLOTS_OF_SUBJECT = scoped(
    "slots of a subject",
    "UNWIND $subjects AS subject MATCH (a:Assertion {scope: $scope, subject: subject}) WHERE" + _SLOTS,
)

# Assertion by the index (scope, slot, key), in its order: a whole scope, page by page.
SLOTS = scoped("slots", "MATCH (a:Assertion {scope: $scope}) WHERE a.key IS NOT NULL AND" + _SLOTS)

# Assertion by the index (scope, slot, key).
ASSERTIONS = scoped(
    "assertions",
    """
    UNWIND $slots AS slot
    MATCH (a:Assertion {scope: $scope, slot: slot})
    WHERE a.key IS NOT NULL AND a.at <= $position AND a.recorded_at <= $known_at
    RETURN a.id AS id, slot, a.claim AS claim, a.value_key AS value_key, a.said_at AS said_at, a.key AS key,
      a.single AS single, coalesce(a.negated, false) AS negated, a.valid_from AS valid_from, a.valid_to AS valid_to,
      coalesce(a.confidence, 1.0) AS confidence, a.recorded_at AS recorded_at, a.subject AS subject,
      a.subject_name AS subject_name, a.predicate AS predicate, a.object AS object, a.object_name AS object_name,
      a.value AS value, a.text AS text
    LIMIT 20000
    """,
)

# Retraction by the indexes (scope, slot) and (scope, assertion).
RETRACTIONS = scoped(
    "retractions",
    """
    UNWIND $slots AS slot MATCH (r:Retraction {scope: $scope, slot: slot})
    WHERE r.at <= $position AND r.recorded_at <= $known_at
    RETURN r.id AS id, r.assertion AS assertion, r.slot AS slot, r.claim AS claim, r.said_before AS said_before,
      r.recorded_at AS recorded_at
    UNION
    UNWIND $assertions AS assertion MATCH (r:Retraction {scope: $scope, assertion: assertion})
    WHERE r.at <= $position AND r.recorded_at <= $known_at
    RETURN r.id AS id, r.assertion AS assertion, r.slot AS slot, r.claim AS claim, r.said_before AS said_before,
      r.recorded_at AS recorded_at
    """,
)


async def known_page(page: Listing, asked: Filters, subjects: list[str] | None, objects: list[str]) -> FactPage:
    """The facts that were believed at `known_at`, narrowed as asked; a page is of at most `limit` slots."""
    (after,) = page.start("")
    wanted: dict[str, Any] = {
        "slot": after,
        "known_at": asked.known_at,
        "predicate": asked.predicate,
        "object": asked.object,
        "objects": objects,
        "limit": page.limit + 1,
    }
    if subjects is None:
        found = await page.reader.rows(SLOTS, **wanted)
    else:
        found = await page.reader.rows(SLOTS_OF_SUBJECT, subjects=subjects, **wanted)
    slots = [row["slot"] for row in found]
    items = await believed(page.reader, slots[: page.limit], asked.known_at or "")
    return FactPage(
        position=PositionOut.of(page.reader.position),
        items=[fact for fact in items if _fits(fact, asked, objects)],
        next_cursor=page.next_cursor((slots[page.limit - 1],)) if len(slots) > page.limit else None,
    )


async def believed(reader: Reader, slots: list[str], known_at: str) -> list[Fact]:
    """The fold of each slot over what was recorded up to a time, in the order of the slots."""
    if not slots:
        return []
    rows = await reader.rows(ASSERTIONS, slots=slots, known_at=known_at)
    ids = [row["id"] for row in rows]
    retractions = await reader.rows(RETRACTIONS, slots=slots, assertions=ids, known_at=known_at)
    taken_back = [folds.TakenBack(**row) for row in retractions]
    by_slot: dict[str, list[Row]] = {slot: [] for slot in slots}
    for row in rows:
        by_slot[row["slot"]].append(row)
    return [fact for slot in slots for fact in _folded(by_slot[slot], taken_back)]


def _folded(rows: list[Row], taken_back: Iterable[folds.TakenBack]) -> list[Fact]:
    by_id = {row["id"]: row for row in rows}
    return [_fact(fact, by_id[fact.shown]) for fact in folds.fold((_said(row) for row in rows), taken_back)]


def _said(row: Row) -> folds.Said:
    return folds.Said(
        id=row["id"],
        value=row["value_key"],
        said_at=row["said_at"],
        key=row["key"],
        slot=row["slot"],
        claim=row["claim"],
        single=row["single"],
        negated=row["negated"],
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        confidence=row["confidence"],
        recorded_at=row["recorded_at"],
    )


def _fact(fact: folds.Fact, row: Row) -> Fact:
    return Fact(
        id=fact.shown,
        claim=fact.claim,
        slot=row["slot"],
        subject=EntityRefOut(id=row["subject"], name=row["subject_name"]),
        predicate=row["predicate"],
        object=EntityRefOut(id=row["object"], name=row["object_name"]) if row["object"] else None,
        value=row["value"],
        text=row["text"],
        negated=fact.negated,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        start_known=fact.start_known,
        holds=fact.holds,
        confidence=fact.confidence,
        support=len(fact.sources),
        said_first=fact.said_first,
        said_last=fact.said_last,
    )


def _fits(fact: Fact, asked: Filters, objects: list[str]) -> bool:
    if asked.object is not None:
        named = fact.object is not None and fact.object.id in objects
        if not named and (fact.value or "").lower() != asked.object.lower():
            return False
    if asked.valid_at is not None:
        began = fact.valid_from is None or fact.valid_from <= asked.valid_at
        return began and (fact.valid_to is None or fact.valid_to > asked.valid_at)
    return asked.superseded or fact.holds
