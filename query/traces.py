"""What was done: traces, their steps, tool calls."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query

from memstream.query.graph import Reader, Row
from memstream.query.models import PositionOut, Step, ToolCall, ToolCallAnswer, Trace, TraceAnswer, TracePage
from memstream.query.params import OneListing, OneReader
from memstream.query.problems import RESPONSES, not_found
from memstream.query.shared import as_of
from memstream.query.statements import scoped
from memstream.schemas.ids import named_id
from memstream.schemas.patch import Label

router = APIRouter(prefix="/v1", tags=["traces"], responses=RESPONSES)

MAX_STEPS = 1_000

_TRACE_FIELDS = """
    t.id AS id, t.changed AS changed, t.trace_id AS trace_id, t.task AS task, t.session_id AS session_id,
    t.agent_id AS agent_id, t.started_at AS started_at, t.completed_at AS completed_at, t.outcome AS outcome,
    t.success AS success, t.environment AS environment, t.metadata AS metadata
"""

CALL_FIELDS = """
    t.id AS id, t.changed AS changed, t.call_id AS call_id, t.tool AS tool, t.status AS status,
    t.arguments AS arguments, t.result AS result, t.error AS error, t.duration_ms AS duration_ms, t.time AS time,
    t.completed_at AS completed_at, t.session_id AS session_id, t.trace_id AS trace_id, t.step_id AS step_id,
    t.agent_id AS agent_id, t.signature AS signature, t.offload AS offload, t.result_size AS result_size,
    t.order AS order
"""

# ReasoningTrace by its unique key (scope, id), in the order of the ids.
TRACES = scoped(
    "traces",
    "MATCH (t:ReasoningTrace {scope: $scope}) WHERE t.id > $id AND t.at <= $position "
    "RETURN " + _TRACE_FIELDS + " ORDER BY t.id LIMIT $limit",
)

# ReasoningTrace by the index (scope, session_id).
TRACES_OF_SESSION = scoped(
    "traces of a session",
    "MATCH (t:ReasoningTrace {scope: $scope, session_id: $session}) "
    "WHERE t.at <= $position AND "
    "(coalesce(t.started_at, '') > $time OR (coalesce(t.started_at, '') = $time AND t.id > $id)) "
    "RETURN " + _TRACE_FIELDS + " ORDER BY coalesce(t.started_at, ''), t.id LIMIT $limit",
)

# ReasoningTrace by its unique key (scope, id).
TRACE = scoped(
    "trace",
    "MATCH (t:ReasoningTrace {scope: $scope, id: $id}) WHERE t.at <= $position RETURN " + _TRACE_FIELDS,
)

# The trace by its unique key, then its own edges.
STEPS = scoped(
    "steps",
    """
    MATCH (r:ReasoningTrace {scope: $scope, id: $id})-[h:HAS_STEP]->(s:ReasoningStep)
    WHERE h.at <= $position AND s.at <= $position
    WITH DISTINCT s ORDER BY s.order, s.id LIMIT $limit
    RETURN s.id AS id, s.changed AS changed, s.step_id AS step_id, s.thought AS thought, s.action AS action,
      s.observation AS observation, s.agent_id AS agent_id, s.time AS time, s.metadata AS metadata
    """,
)
STEP_CALLS = scoped(
    "calls of steps",
    "UNWIND $steps AS step "
    "MATCH (s:ReasoningStep {scope: $scope, id: step})-[h:HAS_TOOL_CALL]->(t:ToolCall) "
    "WHERE h.at <= $position AND t.at <= $position "
    "WITH DISTINCT step, t ORDER BY t.order, t.id LIMIT $limit "
    "RETURN step AS parent, " + CALL_FIELDS,
)
TRACE_CALLS = scoped(
    "calls of a trace",
    "MATCH (r:ReasoningTrace {scope: $scope, id: $id})-[h:HAS_TOOL_CALL]->(t:ToolCall) "
    "WHERE h.at <= $position AND t.at <= $position "
    "WITH DISTINCT t ORDER BY t.order, t.id LIMIT $limit "
    "RETURN '' AS parent, " + CALL_FIELDS,
)

# ToolCall by its unique key (scope, id).
TOOL_CALL = scoped(
    "tool call",
    "MATCH (t:ToolCall {scope: $scope, id: $id}) WHERE t.at <= $position RETURN " + CALL_FIELDS,
)


@router.get("/traces", summary="The traces of a scope or of a session")
async def traces(
    page: OneListing,
    session: Annotated[str | None, Query(description="Only this session's, in the order they began.")] = None,
) -> TracePage:
    """A page of traces: of a session by their start, else in the order of their ids."""
    time, last = page.start("", "")
    if session is None:
        rows = await page.reader.rows(TRACES, id=last, limit=page.limit + 1)
    else:
        rows = await page.reader.rows(TRACES_OF_SESSION, session=session, time=time, id=last, limit=page.limit + 1)
    shown, more = rows[: page.limit], len(rows) > page.limit
    return TracePage(
        position=PositionOut.of(page.reader.position),
        items=[_trace(row) for row in await as_of(page.reader, Label.TRACE, shown)],
        next_cursor=page.next_cursor((shown[-1]["started_at"] or "", shown[-1]["id"])) if more else None,
    )


@router.get("/traces/{trace_id:path}", summary="A trace with its steps and tool calls")
async def trace(reader: OneReader, trace_id: Annotated[str, Path(examples=["run-31"])]) -> TraceAnswer:
    """The run, its steps in order, each with its calls and their status as of the position."""
    node = named_id("trace", reader.scope, trace_id)
    found, steps, loose = await asyncio.gather(
        reader.rows(TRACE, id=node),
        reader.rows(STEPS, id=node, limit=MAX_STEPS + 1),
        reader.rows(TRACE_CALLS, id=node, limit=MAX_STEPS + 1),
    )
    if not found:
        raise not_found("trace", trace_id, reader.scope)
    shown = await as_of(reader, Label.STEP, steps[:MAX_STEPS])
    calls = await reader.rows(STEP_CALLS, steps=[row["id"] for row in shown], limit=MAX_STEPS + 1) if shown else []
    by_step = await _by_parent(reader, calls[:MAX_STEPS] + loose[:MAX_STEPS])
    return TraceAnswer(
        position=PositionOut.of(reader.position),
        trace=_trace((await as_of(reader, Label.TRACE, found))[0]),
        steps=[_step(number, row, by_step.get(row["id"], [])) for number, row in enumerate(shown, start=1)],
        tool_calls=by_step.get("", []),
        cut=max(len(steps), len(loose), len(calls)) > MAX_STEPS,
    )


@router.get("/tool-calls/{call_id:path}", summary="One tool call")
async def tool_call(reader: OneReader, call_id: Annotated[str, Path(examples=["call_7"])]) -> ToolCallAnswer:
    """The call with its arguments, status and result, by the id its publisher gave it or by its node's."""
    rows = await reader.rows(TOOL_CALL, id=named_id("call", reader.scope, call_id))
    rows = rows or await reader.rows(TOOL_CALL, id=call_id)
    if not rows:
        raise not_found("tool call", call_id, reader.scope)
    call = call_of((await as_of(reader, Label.TOOL_CALL, rows))[0])
    return ToolCallAnswer(position=PositionOut.of(reader.position), tool_call=call)


def call_of(row: Row) -> ToolCall:
    """A tool call from its row."""
    return ToolCall(**{name: value for name, value in row.items() if name not in {"changed", "order", "parent"}})


async def _by_parent(reader: Reader, rows: list[Row]) -> dict[str, list[ToolCall]]:
    found: dict[str, list[ToolCall]] = {}
    for row in await as_of(reader, Label.TOOL_CALL, rows):
        found.setdefault(row["parent"], []).append(call_of(row))
    return found


def _trace(row: Row) -> Trace:
    return Trace(**{name: value for name, value in row.items() if name != "changed"})


def _step(number: int, row: Row, calls: list[ToolCall]) -> Step:
    return Step(number=number, **{name: value for name, value in row.items() if name != "changed"}, tool_calls=calls)
