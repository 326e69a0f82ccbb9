"""Every error of Memstream, in one tree.

    MemstreamError
    ├── TransientError            try again: a timeout, a deadlock, a leader change
    │   ├── BrokerUnavailable     Kafka does not answer
    │   └── GraphUnavailable      Neo4j does not answer
    ├── PoisonError               this input can never work: dead letter, go on
    │   ├── InvalidEvent          bytes that are no event of ours, with the reason's code
    │   ├── InvalidPatch          a patch that the sink can't read
    │   └── ExtractionFailed      an event at which extraction fails each time
    ├── FatalError                stop the process: a bug, or a world that changed underneath
    │   ├── TopicMismatch         a topic is missing or has another partition count
    │   ├── LogMismatch           the graph's offset and the log do not belong together
    │   └── SchemaTooNew          the graph was migrated by a newer Memstream
    └── UsageError                what the caller can mend
        ├── InvalidScope          a scope path that breaks the rules
        ├── InvalidInput          a file or an argument that can't be read
        ├── SettingsError         a setting that can't be used
        ├── StackError            a part of the local stack that does not come up
        ├── PublishError          events that were not acked by the deadline, named
        ├── NotVisibleError       an event that is not in the graph by the deadline
        └── QueryError            the query service refused or failed

A loop asks only which of the four branches an error is of.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memstream.schemas.events import Event


class MemstreamError(Exception):
    """Base of every error that Memstream raises on purpose. Its text is for a person."""


class TransientError(MemstreamError):
    """May work when tried again: back off in place, bounded."""


class BrokerUnavailable(TransientError):
    """Kafka does not answer."""


class GraphUnavailable(TransientError):
    """Neo4j does not answer."""


class PoisonError(MemstreamError):
    """Can never work for this input: dead letter it and go on."""


class Reason(StrEnum):
    """Why an event was refused: the code in a dead letter's header and in metrics."""

    NOT_JSON = "not_json"
    TOO_LARGE = "too_large"
    TOO_DEEP = "too_deep"
    BAD_TEXT = "bad_text"
    NOT_CLOUDEVENT = "not_cloudevent"
    UNKNOWN_TYPE = "unknown_type"
    NEWER_VERSION = "newer_version"
    WRONG_TOPIC = "wrong_topic"
    WRONG_KEY = "wrong_key"
    BAD_SCOPE = "bad_scope"
    BAD_TIME = "bad_time"
    MISSING_FIELD = "missing_field"
    BAD_FIELD = "bad_field"
    BAD_PATCH = "bad_patch"
    EXTRACTION_FAILED = "extraction_failed"
    GRAPH_REFUSED = "graph_refused"
    SEAL_BROKEN = "seal_broken"


class InvalidEvent(PoisonError):
    """Bytes that are no event of ours. `reason` is the code, the text says what and where."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[type[InvalidEvent], tuple[Reason, str]]:
        return (type(self), (self.reason, str(self)))


class InvalidPatch(PoisonError):
    """A record of the patches topic that is no patch of a version that this code reads."""


class ExtractionFailed(PoisonError):
    """An event at which extraction fails each time it is tried."""


class FatalError(MemstreamError):
    """Going on could lose or spoil data: the process stops with a non-zero exit."""


class TopicMismatch(FatalError):
    """A topic is missing, or its partition count is not the one that the graph was built with."""


class LogMismatch(FatalError):
    """The graph's stored offset and the log do not belong together (a topic recreated, a store from elsewhere)."""


class SchemaTooNew(FatalError):
    """The graph was migrated by a newer Memstream than this one."""


class UsageError(MemstreamError):
    """Something that the caller can mend."""


class InvalidScope(UsageError):
    """A scope path that breaks the rules (see memstream.schemas.scope)."""


class InvalidInput(UsageError):
    """A file, an argument or a recording that can't be read."""


class SettingsError(UsageError):
    """A setting that can't be used."""


class StackError(UsageError):
    """A part of the local stack does not come up, or something it needs is missing."""


class PublishError(UsageError):
    """Events that were not acked. `event_ids` names them, in the order of publishing.

    `events` are the events themselves, to be published again as they are: the graph takes each id once.
    """

    def __init__(self, message: str, event_ids: Sequence[str] = (), events: Sequence[Event] = ()) -> None:
        super().__init__(message)
        self.event_ids = tuple(event_ids)
        self.events = tuple(events)


class NotVisibleError(UsageError):
    """An event is not in the graph by the deadline."""


class QueryError(UsageError):
    """The query service refused or failed; `status` is the HTTP status, 0 if it did not answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status
