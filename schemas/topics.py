"""The topics: names, what they hold, how their records are keyed, how long they are kept.

A prefix (`memory` by default) names a lineage: a rebuild and every test has topics of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from memstream.schemas.limits import MAX_DEAD_LETTER_BYTES, MAX_ENVELOPE_BYTES, MAX_EVENT_BYTES, MAX_PATCH_BYTES

KEY_SEPARATOR = "\x1f"


class Topic(StrEnum):
    """Every topic, without its prefix."""

    CONVERSATION = "conversation"
    TOOL_CALL = "tool-call"
    FEEDBACK = "feedback"
    STATEMENT = "statement"
    BOARD = "board"
    STATE = "state"
    PATCHES = "patches"
    SESSION_STATE = "session-state"
    CHANGES = "changes"
    DEAD_LETTER = "dead-letter"
    DEAD_LETTER_DONE = "dead-letter-done"

    def named(self, prefix: str) -> str:
        """The topic's name on the broker."""
        return f"{prefix}.{self.value}"


EVENT_TOPICS = (
    Topic.CONVERSATION,
    Topic.TOOL_CALL,
    Topic.FEEDBACK,
    Topic.STATEMENT,
    Topic.BOARD,
    Topic.STATE,
)


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """How a topic is made. `keyed_by` is for people and for the AsyncAPI document."""

    topic: Topic
    keyed_by: str
    max_bytes: int
    config: dict[str, str] = field(default_factory=dict)

    def broker_config(self) -> dict[str, str]:
        """The topic's configuration on the broker: kept for ever, unless said otherwise."""
        return {
            "retention.ms": "-1",
            "retention.bytes": "-1",
            "cleanup.policy": "delete",
            "max.message.bytes": str(self.max_bytes + MAX_ENVELOPE_BYTES),
        } | self.config


def _events(topic: Topic, keyed_by: str) -> TopicSpec:
    # the broker's own append time is the recorded time: no producer's clock can move it
    return TopicSpec(topic, keyed_by, MAX_EVENT_BYTES, {"message.timestamp.type": "LogAppendTime"})


TOPICS: dict[Topic, TopicSpec] = {
    spec.topic: spec
    for spec in (
        _events(Topic.CONVERSATION, "scope + session"),
        _events(Topic.TOOL_CALL, "scope + session"),
        _events(Topic.FEEDBACK, "scope + session"),
        _events(Topic.STATEMENT, "scope"),
        _events(Topic.BOARD, "scope"),
        _events(Topic.STATE, "scope + key"),
        TopicSpec(Topic.PATCHES, "scope", MAX_PATCH_BYTES),
        TopicSpec(
            Topic.SESSION_STATE,
            "scope + session, like the conversation topic",
            MAX_EVENT_BYTES,
            {"cleanup.policy": "compact"},
        ),
        TopicSpec(Topic.CHANGES, "scope", MAX_EVENT_BYTES, {"retention.ms": str(7 * 86_400_000)}),
        TopicSpec(Topic.DEAD_LETTER, "the key of the origin", MAX_DEAD_LETTER_BYTES),
        TopicSpec(
            Topic.DEAD_LETTER_DONE,
            "topic, partition and offset of the dead letter's origin",
            MAX_ENVELOPE_BYTES,
            {"cleanup.policy": "compact"},
        ),
    )
}


def record_key(scope: str, part: str = "") -> bytes:
    """The key of an event's record: the scope, and what orders it inside the scope."""
    text = scope + KEY_SEPARATOR + part if part else scope
    return text.encode()
