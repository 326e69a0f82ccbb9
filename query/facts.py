"""Facts and preferences as of a position: listed, and filtered by subject, predicate, object and valid time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query

from memstream.query.graph import Reader, Row
from memstream.query.known import known_page
from memstream.query.models import EntityRefOut, Fact, FactPage, PositionOut, Preference, PreferencePage, Source
from memstream.query.names import cluster_ids
from memstream.query.params import Listing, OneListing
from memstream.query.problems import RESPONSES, Kind, Problem
from memstream.query.sources import sources_of
from memstream.query.statements import LIVE, scoped
from memstream.schemas.ids import utc_text

router = APIRouter(prefix="/v1", tags=["facts"], responses=RESPONSES)

FACT_ORDER_START: Final = "~"
"""Sorts after every time: where a listing of the newest first begins."""

FACT_FIELDS: Final = """
    f.id AS id, f.claim AS claim, f.slot AS slot, f.subject AS subject, f.subject_name AS subject_name,
    f.predicate AS predicate, f.object AS object, f.object_name AS object_name, f.value AS value, f.text AS text,
    coalesce(f.negated, false) AS negated, f.valid_from AS valid_from, f.valid_to AS valid_to,
    coalesce(f.start_known, true) AS start_known, coalesce(f.holds, true) AS holds,
    coalesce(f.confidence, 1.0) AS confidence, coalesce(f.support, 1) AS support,
    f.said_first AS said_first, f.said_last AS said_last, f.changed AS changed
"""

_LIVE = LIVE.replace("{0}", "f")
_FILTERS = (
    _LIVE
    + """
      AND ($superseded OR coalesce(f.holds, true))
      AND ($predicate IS NULL OR f.predicate = $predicate)
      AND ($valid_at IS NULL
           OR ((f.valid_from IS NULL OR f.valid_from <= $valid_at) AND (f.valid_to IS NULL OR f.valid_to > $valid_at)))
    """
)
_NEWEST_FIRST = (
    # by what never changes of a version, so that pages neither skip nor repeat
    " AND (f.said_first < $time OR (f.said_first = $time AND f.id > $id)) "
    "WITH DISTINCT f ORDER BY f.said_first DESC, f.id LIMIT $limit RETURN "
)

# Fact by the index (scope, subject).
FACTS_BY_SUBJECT = scoped(
    "facts by subject",
    "UNWIND $subjects AS subject MATCH (f:Fact {scope: $scope, subject: subject}) WHERE "
    + _FILTERS
    + " AND ($object IS NULL OR f.object IN $objects OR toLower(f.value) = toLower($object))"
    + _NEWEST_FIRST
    + FACT_FIELDS,
)

# Fact by the index (scope, object).
FACTS_BY_OBJECT = scoped(
    "facts by object",
    "UNWIND $objects AS object MATCH (f:Fact {scope: $scope, object: object}) WHERE "
    + _FILTERS
    + _NEWEST_FIRST
    + FACT_FIELDS,
)

# Fact by its unique key (scope, id), in the order of the ids: a whole scope, page by page.
FACTS = scoped(
    "facts",
    "MATCH (f:Fact {scope: $scope}) WHERE f.id > $id AND "
    + _FILTERS
    + " WITH f ORDER BY f.id LIMIT $limit RETURN "
    + FACT_FIELDS,
)

# Fact by the indexes (scope, subject) and (scope, object): what holds now about some entities, of each the newest.
FACTS_ABOUT = scoped(
    "facts about",
    "UNWIND $ids AS id CALL (id) { "
    "MATCH (f:Fact {scope: $scope, subject: id}) WHERE "
    + _LIVE
    + " AND ($superseded OR coalesce(f.holds, true)) RETURN f ORDER BY f.said_last DESC, f.id LIMIT $each UNION "
    "MATCH (f:Fact {scope: $scope, object: id}) WHERE "
    + _LIVE
    + " AND ($superseded OR coalesce(f.holds, true)) RETURN f ORDER BY f.said_last DESC, f.id LIMIT $each } "
    "WITH DISTINCT f ORDER BY coalesce(f.said_last, '') DESC, f.id LIMIT $limit RETURN " + FACT_FIELDS,
)

# A version by its unique key (scope, id), then the edges to its sources.
COUNTED = scoped(
    "sources counted",
    """
    UNWIND $versions AS version
    MATCH (f:Fact {scope: $scope, id: version})-[r:SOURCED_FROM]->(:Source)
    WHERE r.at <= $position
    RETURN version AS id, count(DISTINCT r.assertion) AS support, max(r.said_at) AS said_last,
      max(r.confidence) AS confidence
    """,
)

PREFERENCE_FIELDS: Final = """
    f.id AS id, f.claim AS claim, f.slot AS slot, f.holder AS holder, f.subject AS subject,
    f.subject_name AS subject_name, f.polarity AS polarity, f.object_name AS object_name, f.value AS value,
    f.over AS over, f.context AS context, f.category AS category, f.text AS text,
    coalesce(f.holds, true) AS holds, coalesce(f.confidence, 1.0) AS confidence,
    f.said_first AS said_first, f.said_last AS said_last
"""

# Preference by its unique key (scope, id), in the order of the ids.
PREFERENCES = scoped(
    "preferences",
    "MATCH (f:Preference {scope: $scope}) WHERE f.id > $id AND "
    + _LIVE
    + " AND ($superseded OR coalesce(f.holds, true)) RETURN "
    + PREFERENCE_FIELDS
    + " ORDER BY f.id LIMIT $limit",
)

# The holder by its unique key, then its own edges.
PREFERENCES_OF = scoped(
    "preferences of",
    "UNWIND $holders AS holder MATCH (e:Entity {scope: $scope, id: holder})<-[:HELD_BY]-(f:Preference) "
    "WHERE f.id > $id AND "
    + _LIVE
    + " AND ($superseded OR coalesce(f.holds, true)) WITH DISTINCT f RETURN "
    + PREFERENCE_FIELDS
    + " ORDER BY f.id LIMIT $limit",
)

_WHEN = re.compile(r"^\d{4}(-\d{2}(-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?)?)?$")
_DATES = "a date as precise as it is known: 2026, 2026-03, 2026-03-06 or 2026-03-06T14:00:00Z"


@dataclass(frozen=True, slots=True)
class Filters:
    """What a listing of facts is narrowed to; names are resolved to ids by the route."""

    subject: str | None
    predicate: str | None
    object: str | None
    valid_at: str | None
    known_at: str | None
    superseded: bool


def filters(
    *,
    subject: Annotated[str | None, Query(max_length=512, description="An entity's name or id.")] = None,
    predicate: Annotated[str | None, Query(max_length=64, examples=["lives_in"])] = None,
    object: Annotated[str | None, Query(max_length=4_096, description="An entity's name or id, or a value.")] = None,  # noqa: A002 - its name in the URL
    valid_at: Annotated[str | None, Query(description=f"What held then in the world: {_DATES}.")] = None,
    known_at: Annotated[str | None, Query(description=f"What memory believed then: {_DATES}.")] = None,
    include_superseded: Annotated[bool, Query(description="Also what has ended; `holds` is false there.")] = False,
) -> Filters:
    """The filters of a request, its times in the form that the graph has."""
    return Filters(
        subject,
        predicate,
        object,
        moment("valid_at", valid_at),
        moment("known_at", known_at, full=True),
        include_superseded or valid_at is not None,
    )


@router.get("/facts", summary="Facts, in two times")
async def facts(page: OneListing, asked: Annotated[Filters, Depends(filters)]) -> FactPage:
    """What holds now, what held at `valid_at`, or what was believed at `known_at`.

    With a subject or an object the newest first; a whole scope in the order of its ids. With `known_at` a page is of
    at most `limit` slots.
    """
    subjects = None if asked.subject is None else await cluster_ids(page.reader, asked.subject)
    objects = [] if asked.object is None else await cluster_ids(page.reader, asked.object)
    if asked.known_at is not None:
        return await known_page(page, asked, subjects, objects)
    rows = await _fact_rows(page, asked, subjects, objects)
    shown, more = rows[: page.limit], len(rows) > page.limit
    return FactPage(
        position=PositionOut.of(page.reader.position),
        items=[fact_of(row) for row in await counted(page.reader, shown)],
        next_cursor=page.next_cursor((shown[-1]["said_first"], shown[-1]["id"])) if more else None,
    )


@router.get("/preferences", summary="Tastes and standing instructions")
async def preferences(
    page: OneListing,
    holder: Annotated[str | None, Query(max_length=512, description="Only those of this entity: name or id.")] = None,
    include_superseded: Annotated[bool, Query(description="Also what has ended; `holds` is false there.")] = False,
) -> PreferencePage:
    """In the order of their ids, with their sources."""
    (last,) = page.start("")
    asked: dict[str, Any] = {"id": last, "superseded": include_superseded, "limit": page.limit + 1}
    if holder is None:
        rows = await page.reader.rows(PREFERENCES, **asked)
    else:
        holders = await cluster_ids(page.reader, holder)
        rows = await page.reader.rows(PREFERENCES_OF, holders=holders, **asked)
    shown, more = rows[: page.limit], len(rows) > page.limit
    sources = await sources_of(page.reader, shown, preferences=True)
    return PreferencePage(
        position=PositionOut.of(page.reader.position),
        items=[preference_of(row, sources[row["id"]]) for row in shown],
        next_cursor=page.next_cursor((shown[-1]["id"],)) if more else None,
    )


async def _fact_rows(page: Listing, asked: Filters, subjects: list[str] | None, objects: list[str]) -> list[Row]:
    time, last = page.start(FACT_ORDER_START, "")
    shared: dict[str, Any] = {
        "predicate": asked.predicate,
        "superseded": asked.superseded,
        "valid_at": asked.valid_at,
        "id": last,
        "limit": page.limit + 1,
    }
    if subjects is not None:
        about = {"subjects": subjects, "object": asked.object, "objects": objects, "time": time}
        return await page.reader.rows(FACTS_BY_SUBJECT, **about, **shared)
    if asked.object is not None:
        return await page.reader.rows(FACTS_BY_OBJECT, objects=objects, time=time, **shared)
    return await page.reader.rows(FACTS, **shared)


async def counted(reader: Reader, rows: list[Row]) -> list[Row]:
    """The rows as of the reader's position: sources that came later to a version do not count yet."""
    late = [row["id"] for row in rows if (row["changed"] or -1) > reader.position.offset]
    if not late:
        return rows
    earlier = {row["id"]: row for row in await reader.rows(COUNTED, versions=late)}
    return [row | earlier.get(row["id"], {}) for row in rows]


def fact_of(row: Row, sources: list[Source] | None = None) -> Fact:
    """A fact from its row."""
    return Fact(**fact_fields(row), sources=sources)


def fact_fields(row: Row) -> Row:
    """The fields of a fact from its row."""
    fields = {name: value for name, value in row.items() if name not in {"subject_name", "object_name", "changed"}}
    fields["subject"] = EntityRefOut(id=row["subject"], name=row["subject_name"])
    fields["object"] = EntityRefOut(id=row["object"], name=row["object_name"]) if row["object"] else None
    return fields


def preference_of(row: Row, sources: list[Source] | None = None) -> Preference:
    """A preference from its row."""
    fields = {
        name: value for name, value in row.items() if name not in {"subject", "subject_name", "object_name", "value"}
    }
    fields["holder"] = EntityRefOut(id=row["holder"] or row["subject"], name=row["subject_name"])
    return Preference(**fields, object=row["object_name"] or row["value"], sources=sources)


def moment(name: str, text: str | None, *, full: bool = False) -> str | None:
    """A date or time in the form that the graph sorts by: UTC, and a partial date as it stands.

    With `full` a partial date becomes the moment at which it begins. Raises Problem for what is no date.
    """
    if text is None:
        return None
    wrong = Problem(Kind.BAD_PARAMETER, f"the query parameter {name!r} is no date, got {text[:80]!r}: give {_DATES}")
    if _WHEN.match(text) and "T" not in text:
        padded = text + "-01-01"[len(text) - 4 :] if len(text) < 10 else text
        whole = _parsed(padded, wrong)
        return utc_text(whole) if full else text
    # A '+' in a URL reads as a space: an offset such as +01:00 is taken as it was meant.
    return utc_text(_parsed(text.replace(" ", "+") if "T" in text else text, wrong))


def _parsed(text: str, wrong: Problem) -> datetime:
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise wrong from error
