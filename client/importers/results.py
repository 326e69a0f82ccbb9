"""Reading a tool's result: data where it is JSON, and whether it says that the call failed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from memstream.schemas.cloudevents import parse_json
from memstream.schemas.errors import InvalidEvent
from memstream.schemas.limits import MAX_DEPTH
from memstream.schemas.tools import ToolStatus

_ERROR = re.compile(r"\s*(error|exception|traceback|failed|failure)\b", re.IGNORECASE)
_TIMEOUT = re.compile(r"\s*((error|exception)\W+)?(time[d ]?-?\s?out|timeout)", re.IGNORECASE)
_BY_WORD = {
    "error": ToolStatus.ERROR,
    "failed": ToolStatus.FAILURE,
    "failure": ToolStatus.FAILURE,
    "timeout": ToolStatus.TIMEOUT,
    "cancelled": ToolStatus.CANCELLED,
    "canceled": ToolStatus.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call."""

    status: ToolStatus
    result: Any = None
    error: str | None = None


def outcome_of(content: Any, failed: bool | None = None) -> Outcome:
    """Status, result and error of a result's content; `failed` is what the recording says itself, if it does."""
    result = data_of(content) if isinstance(content, str) else content
    status = _status(result)
    if failed and status is ToolStatus.SUCCESS:
        status = ToolStatus.ERROR
    if failed is False or status is ToolStatus.SUCCESS:
        return Outcome(ToolStatus.SUCCESS, result)
    return Outcome(status, result, _message(result, content))


def data_of(text: str) -> Any:
    """What a text says as JSON; the text itself where it is none, or more than an event can hold."""
    try:
        # the result lies one level below the event's data
        return parse_json(text.encode(), MAX_DEPTH - 1)
    except (InvalidEvent, UnicodeEncodeError):
        return text


def _status(result: Any) -> ToolStatus:
    if isinstance(result, str):
        if _TIMEOUT.match(result):
            return ToolStatus.TIMEOUT
        return ToolStatus.ERROR if _ERROR.match(result) else ToolStatus.SUCCESS
    if isinstance(result, dict):
        word = result.get("status")
        if isinstance(word, str) and word.lower() in _BY_WORD:
            return _BY_WORD[word.lower()]
        if result.get("error"):
            return ToolStatus.ERROR
        if result.get("success") is False or result.get("ok") is False:
            return ToolStatus.FAILURE
    return ToolStatus.SUCCESS


def _message(result: Any, content: Any) -> str:
    if isinstance(result, dict):
        told = result.get("error") or result.get("message")
        if isinstance(told, dict):
            told = told.get("message")
        if isinstance(told, str):
            return told
    return content if isinstance(content, str) else str(content)
