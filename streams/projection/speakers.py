"""Whom the first person of a text stands for: the name of a Person of the scope."""

from __future__ import annotations

from memstream.schemas.conversation import Document, Message, Role
from memstream.schemas.events import Event
from memstream.schemas.ids import hash_of

_SHORT = 80  # an extractor may keep the name in its state, and cut a longer one


def message_speaker(event: Event, message: Message) -> str:
    """The user or the agent by id, a participant by name, else somebody of this source and session alone."""
    if message.role is Role.ASSISTANT:
        known = message.agent_id or message.name
    elif message.role is Role.TOOL:
        known = None  # its `name` is the tool's
    else:
        known = message.user_id or message.name or message.agent_id
    return known or nobody(event, message.role.value, message.session_id)


def document_speaker(event: Event, document: Document) -> str:
    """Who handed the document over."""
    known = document.user_id or document.agent_id
    return known or nobody(event, Role.USER.value, document.session_id or document.document_id)


def board_speaker(event: Event, agent_id: str | None) -> str:
    """The agent that posted."""
    return agent_id or nobody(event, "agent", "the board")


def nobody(event: Event, role: str, session: str) -> str:
    """The name of someone who gave none: one person for each role, session and source."""
    name = f"{role} of {session} at {event.source}"
    return name if len(name) <= _SHORT else f"{role} {hash_of(session, event.source)}"
