"""Sessions, their transcripts, messages and documents."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Path, Query

from memstream.query.graph import Reader, Row
from memstream.query.models import (
    DocumentAnswer,
    Message,
    MessageAnswer,
    PositionOut,
    Session,
    SessionAnswer,
    SessionPage,
    ToolCall,
    TranscriptPage,
)
from memstream.query.params import Listing, OneListing, OneReader
from memstream.query.problems import RESPONSES, not_found
from memstream.query.shared import as_of, read_json
from memstream.query.statements import scoped
from memstream.query.traces import CALL_FIELDS, call_of
from memstream.schemas.ids import event_key, named_id
from memstream.schemas.patch import Label

router = APIRouter(prefix="/v1", tags=["sessions"], responses=RESPONSES)

AFTER_ALL_TIMES = "~"
"""Sorts after every time as text."""

_SESSION_FIELDS = """
    c.id AS id, c.changed AS changed, c.session_id AS session_id, c.first_time AS first_time, c.title AS title,
    c.started_at AS started_at, c.ended_at AS ended_at, c.ttl_seconds AS ttl_seconds, c.agent_id AS agent_id,
    c.user_id AS user_id, c.reason AS reason, c.metadata AS metadata
"""

# Conversation by the index (scope, first_time), backwards.
SESSIONS = scoped(
    "sessions",
    "MATCH (c:Conversation {scope: $scope}) "
    "WHERE c.first_time <= $time AND c.at <= $position AND (c.first_time < $time OR c.id > $id) "
    "RETURN " + _SESSION_FIELDS + " ORDER BY c.first_time DESC, c.id LIMIT $limit",
)

# Conversation by its unique key (scope, id).
SESSION = scoped(
    "session",
    "MATCH (c:Conversation {scope: $scope, id: $id}) WHERE c.at <= $position RETURN " + _SESSION_FIELDS,
)

_MESSAGE_FIELDS = """
    m.id AS id, m.event_id AS event_id, m.source AS source, m.session_id AS session_id, m.role AS role,
    m.name AS name, m.speaker AS speaker, m.text AS text, m.time AS time, m.agent_id AS agent_id,
    m.user_id AS user_id, m.tool_call_id AS tool_call_id, coalesce(m.recalled, false) AS recalled,
    m.metadata AS metadata, m.order AS order
"""

# Message by the index (scope, session_id, order).
TRANSCRIPT = scoped(
    "transcript",
    "MATCH (m:Message {scope: $scope, session_id: $session}) "
    "WHERE m.order >= $order AND m.at <= $position AND (m.order > $order OR m.id > $id) "
    "RETURN " + _MESSAGE_FIELDS + " ORDER BY m.order, m.id LIMIT $limit",
)

# ToolCall by the index (scope, session_id, order).
TRANSCRIPT_CALLS = scoped(
    "transcript calls",
    "MATCH (t:ToolCall {scope: $scope, session_id: $session}) "
    "WHERE t.order >= $order AND t.at <= $position AND (t.order > $order OR t.id > $id) "
    "RETURN " + CALL_FIELDS + " ORDER BY t.order, t.id LIMIT $limit",
)

# Message by its unique key (scope, id).
MESSAGE = scoped(
    "message",
    "MATCH (m:Message {scope: $scope, id: $id}) WHERE m.at <= $position RETURN " + _MESSAGE_FIELDS,
)

# Document by its unique key (scope, id).
DOCUMENT = scoped(
    "document",
    "MATCH (d:Document {scope: $scope, id: $id}) WHERE d.at <= $position "
    "RETURN d.id AS id, d.document_id AS document_id, d.title AS title, d.uri AS uri, "
    "coalesce(d.text, '') AS text, d.time AS time",
)

_SourceQuery = Annotated[
    str | None, Query(description="The publisher's source: then the id is the event's and not the node's.")
]


class Include(StrEnum):
    """What a transcript holds besides messages."""

    TOOL_CALLS = "tool_calls"


@router.get("/sessions", summary="The sessions of a scope, the newest first")
async def sessions(page: OneListing) -> SessionPage:
    """A page of sessions by the time of their first event."""
    time, last = page.start(AFTER_ALL_TIMES, "")
    rows = await page.reader.rows(SESSIONS, time=time, id=last, limit=page.limit + 1)
    shown, more = rows[: page.limit], len(rows) > page.limit
    return SessionPage(
        position=PositionOut.of(page.reader.position),
        items=[_session(row) for row in await as_of(page.reader, Label.CONVERSATION, shown)],
        next_cursor=page.next_cursor((shown[-1]["first_time"], shown[-1]["id"])) if more else None,
    )


@router.get("/sessions/{session_id:path}/messages", summary="The transcript of a session")
async def transcript(
    page: OneListing,
    session_id: Annotated[str, Path(examples=["standup-12"])],
    include: Annotated[list[Include] | None, Query(description="Tool calls too, each at its place.")] = None,
) -> TranscriptPage:
    """A page of what was said, in order; with `include=tool_calls` also what was called."""
    session = await _one_session(page.reader, session_id)
    items, more = await _entries(page, session_id, bool(include))
    last = items[-1] if items else None
    return TranscriptPage(
        position=PositionOut.of(page.reader.position),
        session=session,
        items=[entry for _, entry in items],
        next_cursor=page.next_cursor(last[0]) if more and last else None,
    )


@router.get("/sessions/{session_id:path}", summary="One session")
async def session(reader: OneReader, session_id: Annotated[str, Path(examples=["standup-12"])]) -> SessionAnswer:
    """The session's title, times and who took part."""
    found = await _one_session(reader, session_id)
    return SessionAnswer(position=PositionOut.of(reader.position), session=found)


@router.get("/messages/{id:path}", summary="One message")
async def message(reader: OneReader, id: str, source: _SourceQuery = None) -> MessageAnswer:  # noqa: A002 - its name in the URL
    """The message by its id, or by its event's source and id."""
    rows = await reader.rows(MESSAGE, id=event_key(reader.scope, source, id) if source else id)
    if not rows:
        raise not_found("message", id, reader.scope)
    return MessageAnswer(position=PositionOut.of(reader.position), message=_message(rows[0]))


@router.get("/documents/{id:path}", summary="One document")
async def document(reader: OneReader, id: str, source: _SourceQuery = None) -> DocumentAnswer:  # noqa: A002 - as above
    """The document by its id, or by its event's source and id."""
    rows = await reader.rows(DOCUMENT, id=event_key(reader.scope, source, id) if source else id)
    if not rows:
        raise not_found("document", id, reader.scope)
    return DocumentAnswer(position=PositionOut.of(reader.position), **rows[0])


async def _one_session(reader: Reader, session_id: str) -> Session:
    rows = await reader.rows(SESSION, id=named_id("session", reader.scope, session_id))
    if not rows:
        raise not_found("session", session_id, reader.scope)
    return _session((await as_of(reader, Label.CONVERSATION, rows))[0])


async def _entries(
    page: Listing, session_id: str, with_calls: bool
) -> tuple[list[tuple[tuple[str, str], Message | ToolCall]], bool]:
    order, last = page.start("", "")
    asked = {"session": session_id, "order": order, "id": last, "limit": page.limit + 1}
    if with_calls:
        said, called = await asyncio.gather(
            page.reader.rows(TRANSCRIPT, **asked), page.reader.rows(TRANSCRIPT_CALLS, **asked)
        )
    else:
        said, called = await page.reader.rows(TRANSCRIPT, **asked), []
    entries: list[tuple[tuple[str, str], Message | ToolCall]] = [
        ((row["order"], row["id"]), _message(row)) for row in said
    ]
    calls = await as_of(page.reader, Label.TOOL_CALL, called)
    entries += [((was["order"], row["id"]), call_of(row)) for was, row in zip(called, calls, strict=True)]
    entries.sort(key=lambda entry: entry[0])
    return entries[: page.limit], len(entries) > page.limit


def _session(row: Row) -> Session:
    return Session(**{name: value for name, value in row.items() if name != "changed"})


def _message(row: Row) -> Message:
    return Message(**{name: value for name, value in read_json(row).items() if name != "order"})
