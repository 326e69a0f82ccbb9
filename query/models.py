"""What routes answer. Every answer carries the position it is of; every page the cursor of the next one."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from memstream.query.graph import Position

_CLAIM = "5b6f0d2a9c1e4f7788aa00bb11cc22dd"
_MESSAGE = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"


class Out(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)


class PositionOut(Out):
    """The position of the log that an answer is of."""

    partition: Annotated[int, Field(description="Partition of the patches topic.", examples=[7])]
    offset: Annotated[int, Field(description="The last sealed offset; -1 before the first.", examples=[48_213])]

    @classmethod
    def of(cls, position: Position) -> PositionOut:
        """The position of a read."""
        return cls(partition=position.partition, offset=position.offset)


class Answer(Out):
    """An answer about one scope."""

    position: PositionOut


class SourceKind(StrEnum):
    """What a source is."""

    MESSAGE = "message"
    TOOL_CALL = "tool_call"
    DOCUMENT = "document"
    BOARD_ITEM = "board_item"
    STATEMENT = "statement"


class Source(Out):
    """What something was taken from. `id` resolves by the route of its kind; `event_id` is the publisher's own."""

    kind: SourceKind
    id: Annotated[str, Field(examples=[_MESSAGE])]
    event_id: str | None = Field(None, examples=["018f3c5e-0001-7000-8000-000000000001"])
    session_id: str | None = Field(None, examples=["standup-12"])
    speaker: str | None = Field(None, examples=["Ines Duarte"])
    time: str | None = Field(None, examples=["2026-03-06T09:00:00.000000Z"])
    quote: str = Field("", examples=["We moved the launch to 14 April."])


class EntityRefOut(Out):
    """An entity as a fact names it."""

    id: str
    name: str | None = None


class Fact(Out):
    """One version of a claim, as of the answer's position."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "77f0d2a9c1e4f7788aa00bb11cc22d01",
                    "claim": _CLAIM,
                    "slot": "1c1e4f7788aa00bb11cc22dd5b6f0d2a",
                    "subject": {"id": "aa00bb11cc22dd5b6f0d2a9c1e4f7788", "name": "launch"},
                    "predicate": "scheduled_for",
                    "value": "2026-04-14",
                    "text": "launch scheduled for 2026-04-14",
                    "valid_from": "2026-03-06T09:00:00.000000Z",
                    "holds": True,
                    "confidence": 0.9,
                    "support": 2,
                }
            ]
        }
    )

    id: str = Field(description="The version; `claim` is what stays the same over versions.")
    claim: str
    slot: str
    subject: EntityRefOut
    predicate: str
    object: EntityRefOut | None = None
    value: str | None = None
    text: str
    negated: bool = False
    valid_from: str | None = None
    valid_to: str | None = None
    start_known: bool = True
    holds: bool = Field(True, description="False where it has ended or was superseded.")
    confidence: float = 1.0
    support: int = Field(1, description="How many assertions say so.")
    said_first: str | None = None
    said_last: str | None = None
    sources: list[Source] | None = Field(None, description="Only where the route gives them.")


class Preference(Out):
    """A taste or a standing instruction."""

    id: str
    claim: str
    slot: str
    holder: EntityRefOut
    polarity: str = Field(examples=["prefer"])
    object: str | None = Field(None, examples=["short summaries"])
    over: str | None = None
    context: str | None = None
    category: str | None = None
    text: str
    holds: bool = True
    confidence: float = 1.0
    said_first: str | None = None
    said_last: str | None = None
    sources: list[Source] | None = None


class Session(Out):
    """A conversation."""

    session_id: str = Field(examples=["standup-12"])
    id: str
    first_time: str | None = None
    title: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    ttl_seconds: int | None = None
    agent_id: str | None = None
    user_id: str | None = None
    reason: str | None = None
    metadata: dict[str, Any] | None = None


class Message(Out):
    """One message."""

    kind: Literal["message"] = "message"
    id: str = Field(examples=[_MESSAGE])
    event_id: str | None = None
    source: str | None = None
    session_id: str
    role: str = Field(examples=["user"])
    name: str | None = None
    speaker: str | None = None
    text: str = Field(examples=["We moved the launch to 14 April."])
    time: str
    agent_id: str | None = None
    user_id: str | None = None
    tool_call_id: str | None = None
    recalled: bool = False
    metadata: dict[str, Any] | None = None


class ToolCall(Out):
    """A tool call with its status as of the answer's position."""

    kind: Literal["tool_call"] = "tool_call"
    id: str
    call_id: str = Field(examples=["call_7"])
    tool: str | None = Field(None, examples=["search_flights"])
    status: str | None = Field(None, examples=["success"])
    arguments: Any = None
    result: Any = None
    error: str | None = None
    duration_ms: float | None = None
    time: str | None = None
    completed_at: str | None = None
    session_id: str | None = None
    trace_id: str | None = None
    step_id: str | None = None
    agent_id: str | None = None
    signature: str | None = None
    offload: str | None = Field(None, description="Where the whole result lies, if only a part is kept here.")
    result_size: int | None = None


class Step(Out):
    """One step of a trace. Nobody counts steps when they are said: a number is the step's place in order when read."""

    number: int = Field(description="Its place in the trace's order as of the position, from 1.", examples=[1])
    id: str
    step_id: str
    thought: str | None = None
    action: str | None = None
    observation: str | None = None
    agent_id: str | None = None
    time: str | None = None
    metadata: dict[str, Any] | None = None
    tool_calls: list[ToolCall] = []


class Trace(Out):
    """A run on a task."""

    id: str
    trace_id: str = Field(examples=["run-31"])
    task: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    outcome: str | None = None
    success: bool | None = None
    environment: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class Entity(Out):
    """A person, organization, location, event or object."""

    id: str
    type: str = Field(examples=["Person"])
    name: str = Field(examples=["Ines Duarte"])
    norm: str = Field(description="The normalised name: type and this make the identity.")
    subtype: str | None = None
    description: str | None = None
    aliases: list[str] = []


class Page(Answer):
    """A page of a listing, as of one position for all its pages."""

    next_cursor: str | None = Field(None, description="Give it as `cursor` for the next page; absent on the last.")


class SessionPage(Page):
    """Sessions, the newest first."""

    items: list[Session]


class TranscriptPage(Page):
    """What was said in a session, in order."""

    session: Session
    items: list[Annotated[Message | ToolCall, Field(discriminator="kind")]]


class FactPage(Page):
    """Facts."""

    items: list[Fact]


class PreferencePage(Page):
    """Preferences."""

    items: list[Preference]


class EntityPage(Page):
    """Entities."""

    items: list[Entity]


class TracePage(Page):
    """Traces."""

    items: list[Trace]


class SessionAnswer(Answer):
    """One session."""

    session: Session


class MessageAnswer(Answer):
    """One message."""

    message: Message


class ToolCallAnswer(Answer):
    """One tool call."""

    tool_call: ToolCall


class DocumentAnswer(Answer):
    """One document."""

    id: str
    document_id: str
    title: str | None = None
    uri: str | None = None
    text: str = ""
    time: str | None = None


class SourcesAnswer(Answer):
    """Where a claim comes from."""

    claim: str
    text: str
    sources: list[Source]


class Said(Out):
    """One assertion: what a source said of a slot."""

    id: str
    claim: str
    text: str
    negated: bool = False
    said_at: str
    recorded_at: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    confidence: float = 1.0
    rule: str = ""
    event_id: str | None = None
    source_id: str | None = None


class Version(Fact):
    """A version of a fact with the span of the log in which it was what memory believed."""

    at: int
    ended_at: int | None = None


class HistoryAnswer(Answer):
    """All versions of all claims of a slot, the oldest first, and what was said of it."""

    claim: str
    slot: str
    versions: list[Version]
    said: list[Said]


class EntityDetail(Entity):
    """An entity with how often it is mentioned and what it is the same as."""

    mentions: int = Field(description="How many messages, documents and board items mention it, up to 1,000.")
    same_as: list[Entity] = []


class EntityAnswer(Answer):
    """Every entity of a name, whatever its type, and the current facts about them and what they are the same as."""

    name: str
    entities: list[EntityDetail]
    facts: list[Fact]
    facts_cut: bool = Field(False, description="True where there are more: see /v1/facts.")


class TraceAnswer(Answer):
    """A trace with its steps and tool calls in order."""

    trace: Trace
    steps: list[Step]
    tool_calls: list[ToolCall] = Field([], description="Calls that hang on the trace and not on a step.")
    cut: bool = Field(False, description="True where there are more steps or calls than one answer holds.")
