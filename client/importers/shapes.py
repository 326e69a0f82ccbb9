"""The shapes that message lists come in, whoever recorded them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from memstream.client.importers.recording import Report
from memstream.schemas.conversation import Role
from memstream.schemas.errors import InvalidInput

_ROLES = {role.value: role for role in Role} | {"developer": Role.SYSTEM, "function": Role.TOOL}
_TIMES = ("time", "timestamp", "created_at", "created")
_SESSIONS = ("session_id", "session", "conversation_id", "id")
_MILLISECONDS_FROM = 100_000_000_000


def messages_of(item: Any) -> Sequence[Any]:
    """The messages of a run: a list, or an object with `messages` (or `traj`). Raises InvalidInput."""
    messages = item
    if isinstance(item, Mapping):
        messages = next((item[key] for key in ("messages", "traj") if key in item), [item] if "role" in item else None)
    if not isinstance(messages, list) or not messages:
        raise InvalidInput("neither a list of messages nor an object with 'messages'")
    return messages


def session_of(item: Any) -> str | None:
    """The name that a recording gives to a run, if it does."""
    if not isinstance(item, Mapping) or "role" in item:
        return None
    named = next((item[key] for key in _SESSIONS if item.get(key) not in (None, "")), None)
    return str(named) if isinstance(named, str | int) else None


def role_of(message: Mapping[str, Any], where: str) -> Role:
    """The role of a message. Raises InvalidInput."""
    role = _ROLES.get(str(message.get("role")))
    if role is None:
        raise InvalidInput(f"{where}: the role {message.get('role')!r} is none of {', '.join(_ROLES)}")
    return role


def text_of(content: Any, report: Report, where: str) -> str:
    """The text of a message's content: text itself, or the text parts of a list. Raises InvalidInput."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise InvalidInput(f"{where}: 'content' is neither text nor a list of parts")
    texts = []
    for part in content:
        text = part if isinstance(part, str) else part.get("text") if isinstance(part, Mapping) else None
        if isinstance(text, str):
            texts.append(text)
        else:
            report.leave_out(str(part.get("type", "part")) if isinstance(part, Mapping) else type(part).__name__)
    return "\n".join(texts)


def moment_of(message: Mapping[str, Any], where: str) -> datetime | None:
    """When a message was said, if the recording tells: ISO 8601 (UTC without an offset), or seconds since 1970.

    Raises InvalidInput for a time that can't be read.
    """
    given = next((message[key] for key in _TIMES if message.get(key) is not None), None)
    if given is None:
        return None
    try:
        if isinstance(given, int | float) and not isinstance(given, bool):
            return datetime.fromtimestamp(given / 1_000 if given > _MILLISECONDS_FROM else given, UTC)
        moment = datetime.fromisoformat(given)
    except (ValueError, TypeError, OverflowError, OSError) as error:
        raise InvalidInput(f"{where}: the time {given!r} can't be read: {error}") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
