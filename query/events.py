"""What became of an event: what a publisher asks who waits until the graph has it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field

from memstream.query.models import Answer, PositionOut
from memstream.query.params import OneReader
from memstream.query.problems import RESPONSES, Kind, Problem, not_found
from memstream.query.statements import scoped
from memstream.schemas.ids import event_key

router = APIRouter(prefix="/v1", tags=["events"], responses=RESPONSES)


class EventOut(Answer):
    """What became of an event."""

    event_id: str = Field(examples=["018f3c5e-0001-7000-8000-000000000001"])
    source: str | None = Field(None, examples=["memstream://agents/scout"])
    id: str = Field(description="The event's key: hash of scope, source and id.")
    type: str | None = None
    visible: bool = Field(description="Whether reads see it: its offset is at or below the sealed one.")
    verdict: str | None = Field(None, description="applied, empty, dead_lettered, unreadable.", examples=["applied"])
    reason: str | None = Field(None, description="Why it was dead-lettered, or what was cut.")
    recorded_at: str | None = None


_FIELDS = """
    e.id AS id, e.event_id AS event_id, e.source AS source, e.type AS type, e.verdict AS verdict,
    e.reason AS reason, e.recorded_at AS recorded_at, e.at <= $position AS visible
"""

# Event by its unique key (scope, id).
EVENT_BY_KEY = scoped(
    "event by key",
    "MATCH (e:Event {scope: $scope, id: $key}) WHERE e.at IS NOT NULL RETURN " + _FIELDS,
)

# Event by the index (scope, event_id).
EVENT_BY_ID = scoped(
    "event by id",
    "MATCH (e:Event {scope: $scope, event_id: $event_id}) WHERE e.at IS NOT NULL RETURN "
    + _FIELDS
    + " ORDER BY source LIMIT 2",
)


@router.get("/events/{event_id:path}", summary="What became of an event")
async def event(
    reader: OneReader,
    event_id: Annotated[str, Path(description="The event's id, as its publisher gave it.")],
    source: Annotated[str | None, Query(description="The event's source; needed where two have the same id.")] = None,
) -> EventOut:
    """The verdict on an event and whether reads see it. 404 until the sink has it."""
    if source is None:
        rows = await reader.rows(EVENT_BY_ID, event_id=event_id)
    else:
        rows = await reader.rows(EVENT_BY_KEY, key=event_key(reader.scope, source, event_id))
    if not rows:
        raise not_found("event", event_id, reader.scope)
    if len(rows) > 1:
        raise Problem(Kind.AMBIGUOUS, f"several sources have an event {event_id!r}: name one with 'source'")
    return EventOut(position=PositionOut.of(reader.position), **rows[0])
