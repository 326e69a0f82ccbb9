"""What is done: traces, their steps, tool calls, and the environment they ran in."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from memstream.schemas.base import (
    Data,
    EventRef,
    Id,
    JsonObject,
    JsonValue,
    Metadata,
    Name,
    ShortText,
    ShortTexts,
    Text,
)


class ToolStatus(StrEnum):
    """How a tool call stands."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"
    ERROR = "error"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


class Environment(Data):
    """The fingerprint of where something ran."""

    os: ShortText | None = None
    runtime: ShortText | None = None
    versions: Annotated[dict[str, ShortText], Field(max_length=200)] = Field(default_factory=dict)
    package_manager: ShortText | None = None
    container: bool | None = None
    packages: ShortTexts = ()


class TraceStarted(Data):
    """A run on a task begins; `parent_trace_id` and `parent_step_id` tell at which step of another it was called."""

    trace_id: Id
    task: Text
    session_id: Id | None = None
    agent_id: Id | None = None
    initiated_by: EventRef | None = None
    parent_trace_id: Id | None = None
    parent_step_id: Id | None = None
    environment: Environment | None = None
    metadata: Metadata = Field(default_factory=dict)

    def key_part(self) -> str:
        """The session, else the trace."""
        return self.session_id or self.trace_id


class Step(Data):
    """One step of a trace: thought, action, observation (ReAct, Yao et al. 2022), each optional."""

    trace_id: Id
    step_id: Id
    thought: Text | None = None
    action: Text | None = None
    observation: Text | None = None
    session_id: Id | None = None
    agent_id: Id | None = None
    metadata: Metadata = Field(default_factory=dict)

    def key_part(self) -> str:
        """The session, else the trace."""
        return self.session_id or self.trace_id


class ToolCall(Data):
    """A tool call, pending or done. A pending one is completed by a later event with its `call_id`."""

    call_id: Id
    tool: Name
    status: ToolStatus
    arguments: JsonObject = Field(default_factory=dict)
    result: JsonValue = None
    error: Text | None = None
    duration_ms: Annotated[float, Field(ge=0)] | None = None
    trace_id: Id | None = None
    step_id: Id | None = None
    session_id: Id | None = None
    agent_id: Id | None = None
    message: EventRef | None = None
    environment: Environment | None = None
    metadata: Metadata = Field(default_factory=dict)

    def key_part(self) -> str:
        """The session, else the trace, else the call alone."""
        return self.session_id or self.trace_id or self.call_id


class TraceCompleted(Data):
    """A run ends. `success` is None where nobody judged it."""

    trace_id: Id
    outcome: Text | None = None
    success: bool | None = None
    session_id: Id | None = None
    agent_id: Id | None = None
    metadata: Metadata = Field(default_factory=dict)

    def key_part(self) -> str:
        """The session, else the trace."""
        return self.session_id or self.trace_id
