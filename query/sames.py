"""Pairs of entities that resolution found to be one, or for a person to look at."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from memstream.query.entities import entity_fields
from memstream.query.models import Entity, Out, Page, PositionOut
from memstream.query.names import ENTITIES_BY_ID
from memstream.query.params import OneListing
from memstream.query.problems import RESPONSES
from memstream.query.shared import as_of
from memstream.query.statements import scoped
from memstream.schemas.ids import hash_of
from memstream.schemas.patch import Label, SameStatus

router = APIRouter(prefix="/v1", tags=["entities"], responses=RESPONSES)

_SUREST = "1.0"
_PAIR_CHARS = 12

# The edges by the index (scope, status, score), backwards.
PAIRS = scoped(
    "pairs of entities",
    """
    MATCH (a:Entity)-[r:SAME_AS {scope: $scope, status: $status}]->(b:Entity)
    WHERE r.score <= $score AND r.at <= $position AND a.at <= $position AND b.at <= $position
      AND (r.score < $score OR a.id > $a OR (a.id = $a AND b.id > $b))
    RETURN a.id AS a, b.id AS b, r.score AS score, r.reason AS reason ORDER BY score DESC, a, b LIMIT $limit
    """,
)


class SamePair(Out):
    """Two entities, and why they are one or may be."""

    id: str
    status: SameStatus
    score: float
    reason: str
    a: Entity
    b: Entity


class SamePage(Page):
    """Pairs, the surest first."""

    items: list[SamePair]


@router.get("/same-as", summary="Entities that are one, or may be")
async def same_as(
    page: OneListing,
    status: Annotated[
        SameStatus, Query(description="For a person to look at, or joined by resolution.")
    ] = SameStatus.PROPOSED,
) -> SamePage:
    """What resolution found of pairs of which nobody has said whether they are one, the surest first."""
    score, a, b = page.start(_SUREST, "", "")
    rows = await page.reader.rows(PAIRS, status=status, score=float(score), a=a, b=b, limit=page.limit + 1)
    shown, more = rows[: page.limit], len(rows) > page.limit
    ids = sorted({row[end] for row in shown for end in ("a", "b")})
    found = await as_of(page.reader, Label.ENTITY, await page.reader.rows(ENTITIES_BY_ID, ids=ids) if ids else [])
    known = {row["id"]: Entity(**entity_fields(row)) for row in found}
    return SamePage(
        position=PositionOut.of(page.reader.position),
        items=[
            SamePair(
                id=hash_of("pair", row["a"], row["b"])[:_PAIR_CHARS],
                status=status,
                score=row["score"],
                reason=row["reason"],
                a=known[row["a"]],
                b=known[row["b"]],
            )
            for row in shown
            if row["a"] in known and row["b"] in known
        ],
        next_cursor=page.next_cursor((str(shown[-1]["score"]), shown[-1]["a"], shown[-1]["b"])) if more else None,
    )
