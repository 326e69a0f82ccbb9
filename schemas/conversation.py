"""What is said: messages, the sessions they belong to, documents that are handed over."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from memstream.schemas.base import Data, EventRef, Id, Metadata, Name, ShortText, Text


class Role(StrEnum):
    """Who speaks, as chat models name it."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Message(Data):
    """One message of a session. `content` may be empty where the message only carries tool calls.

    `recalled` marks text that memory itself served: it is kept and cited, and never taken in again as news.
    """

    session_id: Id
    role: Role
    content: Text
    name: Name | None = None
    agent_id: Id | None = None
    user_id: Id | None = None
    reply_to: EventRef | None = None
    tool_call_id: Id | None = None
    recalled: bool = False
    metadata: Metadata = Field(default_factory=dict)

    def key_part(self) -> str:
        """The session keeps its messages in order."""
        return self.session_id


class SessionStarted(Data):
    """A session begins. Messages may come before it; a session exists from its first event on."""

    session_id: Id
    title: ShortText | None = None
    ttl_seconds: Annotated[int, Field(gt=0)] | None = None
    agent_id: Id | None = None
    user_id: Id | None = None
    metadata: Metadata = Field(default_factory=dict)

    def key_part(self) -> str:
        """The session's own key."""
        return self.session_id


class SessionEnded(Data):
    """A session ends."""

    session_id: Id
    reason: ShortText | None = None

    def key_part(self) -> str:
        """The session's own key."""
        return self.session_id


class Document(Data):
    """A text that was handed over, to be cited: cut into passages. Whole knowledge bases belong elsewhere."""

    document_id: Id
    title: ShortText
    text: Text
    uri: ShortText | None = None
    session_id: Id | None = None
    agent_id: Id | None = None
    user_id: Id | None = None
    metadata: Metadata = Field(default_factory=dict)

    def key_part(self) -> str:
        """The session it was handed over in, else the document itself."""
        return self.session_id or self.document_id
