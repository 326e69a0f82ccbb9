"""The envelope of every event and the table of event types.

The envelope is CloudEvents 1.0 (github.com/cloudevents/spec): `(source, id)` is an event's identity inside its scope.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field, SerializeAsAny, field_validator, model_validator

from memstream.schemas import board, conversation, feedback, state, statement, tools
from memstream.schemas.base import Data, Id, Model, Moment, ShortText
from memstream.schemas.errors import InvalidEvent, InvalidScope, Reason
from memstream.schemas.ids import event_key, order_key, utc_text
from memstream.schemas.limits import MAX_FUTURE_SECONDS
from memstream.schemas.scope import parse_scope
from memstream.schemas.topics import Topic, record_key
from memstream.schemas.upcasting import FORMER, upcast

TYPE_PREFIX = "memstream."
# strftime pads no year below 1000, and texts of times must sort like the times
_EARLIEST = datetime(1000, 1, 2, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class EventType:
    """One row of the table: the short name, its version, the model of its data and the topic it travels in."""

    short: str
    data: type[Data]
    topic: Topic
    version: int = 1

    @property
    def name(self) -> str:
        """The CloudEvents type, such as memstream.message.v1."""
        return f"{TYPE_PREFIX}{self.short}.v{self.version}"

    @property
    def present(self) -> EventType:
        """The row of the version that is written today."""
        return BY_SHORT[self.short]

    def today(self, data: Data) -> Data:
        """Data of this version as data of the present one."""
        return upcast(data, self.version, FORMER.get(self.short, ()))


def _table() -> dict[str, EventType]:
    rows: dict[Topic, dict[str, type[Data]]] = {
        Topic.CONVERSATION: {
            "message": conversation.Message,
            "session.started": conversation.SessionStarted,
            "session.ended": conversation.SessionEnded,
            "document": conversation.Document,
        },
        Topic.TOOL_CALL: {
            "trace.started": tools.TraceStarted,
            "step": tools.Step,
            "tool-call": tools.ToolCall,
            "trace.completed": tools.TraceCompleted,
        },
        Topic.FEEDBACK: {"recalled": feedback.Recalled, "rated": feedback.Rated},
        Topic.STATEMENT: {
            "entity": statement.EntityStated,
            "relationship": statement.RelationshipStated,
            "fact": statement.FactStated,
            "preference": statement.PreferenceStated,
            "card": statement.Card,
            "link": statement.Link,
            "corrected": statement.Corrected,
            "retracted": statement.Retracted,
            "merged": statement.Merged,
            "unmerged": statement.Unmerged,
            "erased": statement.Erased,
        },
        Topic.BOARD: {
            "posted": board.Posted,
            "claimed": board.Claimed,
            "released": board.Released,
            "answered": board.Answered,
            "closed": board.Closed,
        },
        Topic.STATE: {
            "item.put": state.ItemPut,
            "item.deleted": state.ItemDeleted,
            "checkpoint.put": state.CheckpointPut,
            "checkpoint.writes": state.CheckpointWrites,
            "thread.deleted": state.ThreadDeleted,
        },
    }
    types = [
        EventType(short, data, topic, 1 + len(FORMER.get(short, ())))
        for topic, kinds in rows.items()
        for short, data in kinds.items()
    ]
    return {t.name: t for t in types}


EVENT_TYPES: dict[str, EventType] = _table()
"""What is written, by name. What is only read is in FORMER_TYPES."""
BY_SHORT: dict[str, EventType] = {t.short: t for t in EVENT_TYPES.values()}
FORMER_TYPES: dict[str, EventType] = {
    row.name: row
    for short, versions in FORMER.items()
    for row in (
        EventType(short, former.data, BY_SHORT[short].topic, number) for number, former in enumerate(versions, start=1)
    )
}
BY_DATA: dict[type[Data], EventType] = {t.data: t for t in EVENT_TYPES.values()}


class Event(Model):
    """One event: the envelope and its data.

    `time` is when it happened, by its publisher. `recordedtime` is set on copies, mirrors and imports only: the append
    time of the first appearance. `subject` names the person it is about. `sequence` orders events of equal time.
    """

    id: Id
    source: Id
    type: str
    time: Moment
    scope: str
    subject: Id | None = None
    sequence: Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{1,40}$")] | None = None
    recordedtime: Moment | None = None
    traceparent: ShortText | None = None
    correlationid: Id | None = None
    dataref: ShortText | None = None
    data: SerializeAsAny[Data]

    @field_validator("scope")
    @classmethod
    def _scope(cls, value: str) -> str:
        try:
            return parse_scope(value)
        except InvalidScope as error:
            raise ValueError(str(error)) from error

    @model_validator(mode="after")
    def _data_of_its_type(self) -> Event:
        kind = EVENT_TYPES.get(self.type)
        if kind is None or kind.data is not type(self.data):
            raise ValueError(f"the type {self.type!r} does not go with data of the kind {type(self.data).__name__}")
        return self

    @classmethod
    def of(cls, data: Data, *, id: str, source: str, time: datetime, scope: str, **attributes: Any) -> Event:  # noqa: A002
        """An event whose type follows from its data."""
        kind = BY_DATA[type(data)]
        return cls(id=id, source=source, type=kind.name, time=time, scope=scope, data=data, **attributes)

    @property
    def kind(self) -> EventType:
        """The row of the table that this event is of."""
        return EVENT_TYPES[self.type]

    @cached_property
    def key(self) -> str:
        """The event's identity as one id: the hash of (scope, source, id)."""
        return event_key(self.scope, self.source, self.id)

    @cached_property
    def order(self) -> str:
        """The event's place among what was said: (time, sequence, source, id)."""
        return order_key(utc_text(self.time), self.sequence, self.source, self.id)

    @cached_property
    def record_key(self) -> bytes:
        """The key of its record in its topic."""
        return record_key(self.scope, self.data.key_part())


def recorded_at(event: Event, appended: datetime) -> datetime:
    """When an event that is appended at a time was first recorded: then, or earlier where a copy carries that along.

    Raises InvalidEvent where the event's own time can't be: far ahead of that, or before anybody wrote.
    """
    first = event.recordedtime
    recorded = first if first is not None and first < appended else appended
    if event.time > recorded + timedelta(seconds=MAX_FUTURE_SECONDS):
        raise InvalidEvent(
            Reason.BAD_TIME,
            f"time {event.time.isoformat()} is more than a day after the event was recorded ({utc_text(recorded)}): "
            "correct the time that was given or, where it was minted, the publisher's clock",
        )
    if event.time < _EARLIEST or recorded < _EARLIEST:
        raise InvalidEvent(Reason.BAD_TIME, "a time before the year 1000 is no time at which an agent spoke")
    return recorded
