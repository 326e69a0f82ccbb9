"""Of one claim: where it comes from, and how its slot has changed."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter

from memstream.query.facts import FACT_FIELDS, counted, fact_fields
from memstream.query.graph import Reader, Row
from memstream.query.models import HistoryAnswer, PositionOut, Said, Source, SourcesAnswer, Version
from memstream.query.params import OneReader
from memstream.query.problems import RESPONSES, not_found
from memstream.query.sources import sources_of
from memstream.query.statements import LIVE, scoped

router = APIRouter(prefix="/v1", tags=["facts"], responses=RESPONSES)

MAX_VERSIONS = 1_000

# Fact by the index (scope, claim).
CLAIM = scoped(
    "claim",
    "MATCH (f:Fact {scope: $scope, claim: $claim}) WHERE " + LIVE.replace("{0}", "f") + " RETURN " + FACT_FIELDS
    + " ORDER BY f.at LIMIT 200",
)  # fmt: skip

# Preference by the index (scope, claim).
PREFERENCE_CLAIM = scoped(
    "preference claim",
    "MATCH (f:Preference {scope: $scope, claim: $claim}) WHERE " + LIVE.replace("{0}", "f") + " RETURN "
    "f.id AS id, f.claim AS claim, f.slot AS slot, f.text AS text ORDER BY f.at LIMIT 200",
)

# Fact by the index (scope, claim): versions that were closed since count too.
SLOT_OF_CLAIM = scoped(
    "slot of a claim",
    "MATCH (f:Fact {scope: $scope, claim: $claim}) WHERE f.at <= $position RETURN f.slot AS slot LIMIT 1",
)

# Fact by the index (scope, slot).
VERSIONS = scoped(
    "versions of a slot",
    "MATCH (f:Fact {scope: $scope, slot: $slot}) WHERE f.at <= $position RETURN " + FACT_FIELDS + ", f.at AS at, "
    "CASE WHEN f.ended_at <= $position THEN f.ended_at END AS ended_at "
    "ORDER BY coalesce(f.valid_from, ''), f.at, f.id LIMIT $limit",
)

# Assertion by the index (scope, slot, key).
SAID = scoped(
    "said of a slot",
    """
    MATCH (a:Assertion {scope: $scope, slot: $slot}) WHERE a.key IS NOT NULL AND a.at <= $position
    OPTIONAL MATCH (e:Event {scope: $scope, id: a.event})
    RETURN a.id AS id, a.claim AS claim, a.text AS text, coalesce(a.negated, false) AS negated, a.said_at AS said_at,
      a.recorded_at AS recorded_at, a.valid_from AS valid_from, a.valid_to AS valid_to,
      coalesce(a.confidence, 1.0) AS confidence, coalesce(a.rule, '') AS rule, e.event_id AS event_id,
      a.source_id AS source_id
    ORDER BY a.key LIMIT $limit
    """,
)


@router.get("/facts/{claim}/sources", summary="Where a claim comes from")
async def sources(reader: OneReader, claim: str) -> SourcesAnswer:
    """Every message, tool call, document, board item or statement that says so; also for the claim of a preference."""
    rows, preferences = await _versions_now(reader, claim)
    if not rows:
        raise not_found("claim", claim, reader.scope)
    by_version = await sources_of(reader, rows, preferences=preferences)
    found: dict[str, Source] = {source.id: source for row in rows for source in by_version[row["id"]]}
    return SourcesAnswer(
        position=PositionOut.of(reader.position),
        claim=claim,
        text=rows[-1]["text"],
        sources=sorted(found.values(), key=lambda source: (source.time or "", source.id)),
    )


@router.get("/facts/{claim}/history", summary="How the slot of a claim has changed")
async def history(reader: OneReader, claim: str) -> HistoryAnswer:
    """All versions of all claims of the slot, when each was believed, and what was said."""
    found = await reader.rows(SLOT_OF_CLAIM, claim=claim)
    if not found:
        raise not_found("claim", claim, reader.scope)
    slot = found[0]["slot"]
    versions, said = await asyncio.gather(
        reader.rows(VERSIONS, slot=slot, limit=MAX_VERSIONS), reader.rows(SAID, slot=slot, limit=MAX_VERSIONS)
    )
    return HistoryAnswer(
        position=PositionOut.of(reader.position),
        claim=claim,
        slot=slot,
        versions=[Version(**fact_fields(row)) for row in await counted(reader, versions)],
        said=[Said(**row) for row in said],
    )


async def _versions_now(reader: Reader, claim: str) -> tuple[list[Row], bool]:
    rows = await reader.rows(CLAIM, claim=claim)
    if rows:
        return rows, False
    return await reader.rows(PREFERENCE_CLAIM, claim=claim), True
