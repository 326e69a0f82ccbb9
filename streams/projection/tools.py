"""What the events of a run mean: traces, steps, tool calls."""

from __future__ import annotations

from typing import Any

from memstream.extractors.rules.tool_results import read_result, symptom, text_records
from memstream.schemas.extraction import Extraction
from memstream.schemas.patch import Edge
from memstream.schemas.tools import Environment, Step, ToolCall, ToolStatus, TraceCompleted, TraceStarted
from memstream.streams.projection import names
from memstream.streams.projection.conversation import session
from memstream.streams.projection.jsontext import json_text
from memstream.streams.projection.material import Findings, Material
from memstream.streams.projection.names import Ref
from memstream.streams.projection.rows import Rows
from memstream.streams.projection.said import add_extraction
from memstream.streams.shrink import inner_json

_FAILED = {ToolStatus.FAILURE, ToolStatus.ERROR, ToolStatus.TIMEOUT}


def trace_started(rows: Rows, data: TraceStarted, material: Material, findings: Findings) -> None:
    """A run begins: who runs it, in which session, and what asked for it."""
    scope = rows.origin.scope
    props = {
        "trace_id": data.trace_id,
        "task": data.task,
        "session_id": data.session_id,
        "agent_id": data.agent_id,
        "parent_trace_id": data.parent_trace_id,
        "parent_step_id": data.parent_step_id,
        "started_at": rows.origin.time,
        "environment": _environment(data.environment),
        "metadata": json_text(data.metadata),
    }
    ref = rows.share(names.trace(scope, data.trace_id), "started", props, vector=findings.vectors.get(data.task))
    if data.session_id is not None:
        rows.edge(Edge.HAS_TRACE, session(rows, data.session_id), ref)
    if data.initiated_by is not None:
        rows.edge(Edge.INITIATED_BY, ref, names.message(material.event, data.initiated_by))
    if data.parent_trace_id is not None and data.parent_step_id is not None:
        rows.edge(Edge.CALLED_BY, ref, names.step(scope, data.parent_trace_id, data.parent_step_id))
    rows.by_agent(ref, data.agent_id)


def step(rows: Rows, data: Step, material: Material) -> None:
    """One step of a run."""
    observation = material.large.text if material.large is not None else ""
    props = {
        "step_id": data.step_id,
        "trace_id": data.trace_id,
        "thought": data.thought,
        "action": data.action,
        "observation": None if data.observation is None else observation,
        "offload": material.handle,
        "session_id": data.session_id,
        "agent_id": data.agent_id,
        "time": rows.origin.time,
        "order": rows.origin.order,
        "metadata": json_text(data.metadata),
    }
    ref = rows.share(names.step(rows.origin.scope, data.trace_id, data.step_id), "said", props)
    rows.edge(Edge.HAS_STEP, names.trace(rows.origin.scope, data.trace_id), ref)


def tool_call(rows: Rows, data: ToolCall, material: Material) -> None:
    """A tool call: what was called, and how it stands. Its end wins over its start, whatever came first."""
    scope = rows.origin.scope
    ref = names.call(scope, data.call_id)
    rows.share(ref, "called", _called(rows, data), key=_call_key(rows, data), first=True)
    rows.share(ref, "status", _status(rows, data, material), key=_status_key(rows, data))
    rows.edge(Edge.INSTANCE_OF, ref, rows.named(names.tool(scope, data.tool), data.tool))
    _hang(rows, data, ref)
    rows.by_agent(ref, data.agent_id)
    if data.session_id is not None:
        session(rows, data.session_id)
    if data.message is not None:
        rows.edge(Edge.INITIATED_BY, ref, names.message(material.event, data.message))
    _add_touched(rows, data, ref)


def trace_completed(rows: Rows, data: TraceCompleted) -> None:
    """A run ends."""
    props = {
        "trace_id": data.trace_id,
        "outcome": data.outcome,
        "success": data.success,
        "completed_at": rows.origin.time,
        "completed_metadata": json_text(data.metadata),
    }
    ref = rows.share(names.trace(rows.origin.scope, data.trace_id), "completed", props)
    if data.session_id is not None:
        rows.edge(Edge.HAS_TRACE, session(rows, data.session_id), ref)


def _hang(rows: Rows, data: ToolCall, ref: Ref) -> None:
    """A call hangs on its step, else on its trace."""
    if data.trace_id is None:
        return
    trace = names.trace(rows.origin.scope, data.trace_id)
    if data.step_id is None:
        rows.edge(Edge.HAS_TOOL_CALL, trace, ref)
        return
    step_ref = names.step(rows.origin.scope, data.trace_id, data.step_id)
    rows.edge(Edge.HAS_TOOL_CALL, step_ref, ref)


def _add_touched(rows: Rows, data: ToolCall, ref: Ref) -> None:
    """What the call was about and what it gave: names with their paths; what a good result says of them as facts."""
    given = read_result(data.arguments)
    found = read_result(_records(data.result))
    places = [("arguments", mention) for mention in given.names] + [("result", mention) for mention in found.names]
    for side, mention in places:
        props = {"path": side + mention.path.removeprefix("$"), "text": mention.text}
        rows.edge(Edge.TOUCHED, ref, rows.entity(mention.entity), props)
    if data.status is ToolStatus.SUCCESS:
        add_extraction(rows, Extraction(assertions=found.assertions), ref)


def _records(result: Any) -> Any:
    """The structure of a result: JSON as it is or inside a text, else what a text has of records."""
    if not isinstance(result, str):
        return result
    parsed = inner_json(result)
    return text_records(result) if parsed is None else parsed


def _signature(data: ToolCall) -> str | None:
    """The symptom of a failure: the same for the same failure with other numbers, paths and ids."""
    if data.status not in _FAILED:
        return None
    told = data.error or (data.result if isinstance(data.result, str) else None)
    return symptom(told) if told else None


def _called(rows: Rows, data: ToolCall) -> dict[str, object]:
    return {
        "call_id": data.call_id,
        "tool": data.tool,
        "arguments": json_text(data.arguments),
        "agent_id": data.agent_id,
        "session_id": data.session_id,
        "trace_id": data.trace_id,
        "step_id": data.step_id,
        "environment": _environment(data.environment),
        "metadata": json_text(data.metadata),
        "time": rows.origin.time,
        "order": rows.origin.order,
    }


def _call_key(rows: Rows, data: ToolCall) -> str:
    # the earliest say wins, but one that knows the arguments before one that does not
    return f"{0 if data.arguments else 1}\x1f{rows.origin.order}"


def _status(rows: Rows, data: ToolCall, material: Material) -> dict[str, object]:
    done = data.status is not ToolStatus.PENDING
    large = material.large
    return {
        "call_id": data.call_id,
        "status": data.status.value,
        "result": json_text(large.value) if large is not None else None,
        "result_size": large.size if large is not None and large.value is not None else None,
        "offload": material.handle,
        "error": data.error,
        "signature": _signature(data),
        "duration_ms": data.duration_ms,
        "completed_at": rows.origin.time if done else None,
    }


def _status_key(rows: Rows, data: ToolCall) -> str:
    return f"{0 if data.status is ToolStatus.PENDING else 1}\x1f{rows.origin.order}"


def _environment(environment: Environment | None) -> str | None:
    return None if environment is None else json_text(environment.model_dump(mode="json", exclude_defaults=True))
