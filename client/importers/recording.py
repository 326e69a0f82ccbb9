"""What an importer is given, and what it reports: how much there was, what was minted, what could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from memstream.schemas.base import Data
from memstream.schemas.conversation import Message
from memstream.schemas.errors import InvalidInput
from memstream.schemas.feedback import Rated
from memstream.schemas.tools import ToolCall

# where a recording has no times: one second a message from here on, whenever and wherever it is imported
BASE_TIME = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Recording:
    """The bytes of a file, and what its events are to have. `dataset` names it in ids: its stem, not its path.

    `read_at` decides which times lie too far ahead.
    """

    data: bytes
    dataset: str
    scope: str
    source: str = ""
    session: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    read_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def event_source(self) -> str:
        """The source of its events."""
        return self.source or f"import/{self.dataset}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that can't be read: where (a line, or an item's place), what is wrong, and the bytes of a line."""

    where: str
    what: str
    line: bytes | None = None

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(slots=True)
class Report:
    """Counts of what an importer made and minted. An importer adds to it while it is read to its end."""

    runs: int = 0
    messages: int = 0
    tool_calls: int = 0
    ratings: int = 0
    other_events: int = 0
    minted_times: int = 0
    minted_call_ids: int = 0
    minted_event_ids: int = 0
    unanswered_calls: int = 0
    stray_results: int = 0
    without_scope: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def count(self, data: Data) -> None:
        """Count an event that was made."""
        if isinstance(data, Message):
            self.messages += 1
        elif isinstance(data, ToolCall):
            self.tool_calls += 1
        elif isinstance(data, Rated):
            self.ratings += 1
        else:
            self.other_events += 1

    @property
    def events(self) -> int:
        """How many events were made."""
        return self.messages + self.tool_calls + self.ratings + self.other_events

    def refuse(self, where: str, what: object, line: bytes | None = None) -> None:
        """Note something that can't be read."""
        self.problems.append(Problem(where, str(what), line))

    def leave_out(self, kind: str) -> None:
        """Note a part of a message that is no text (an image, a thought): it has no place in an event."""
        self.left_out[kind] = self.left_out.get(kind, 0) + 1

    def minted(self) -> list[str]:
        """What was minted and how, in sentences."""
        since = f"{BASE_TIME:%Y-%m-%d}"
        told = (
            (self.minted_times, f"times: the recording has none, so one second a message from {since} on"),
            (self.minted_call_ids, "tool call ids: missing, repeated or short ones have their session or place added"),
            (self.minted_event_ids, "event ids, from the file's name, session and position: the same on every import"),
        )
        return [f"{count} {what}" for count, what in told if count]

    def notes(self) -> list[str]:
        """What a reader of the graph may wonder about, in sentences."""
        told = [
            ("tool calls without a result, so pending", self.unanswered_calls),
            ("tool results that belong to no call, so messages only", self.stray_results),
            *(
                (f"parts of the type {kind!r}, which are no text, left out", n)
                for kind, n in sorted(self.left_out.items())
            ),
        ]
        return [f"{what}: {count}" for what, count in told if count]


def parse_runs(data: bytes, report: Report) -> list[tuple[str, Any]]:
    """The items of a recording with their places: of a JSON document, or of JSON Lines.

    A line that is no JSON goes to the report. Raises InvalidInput where the whole is neither.
    """
    try:
        parsed = orjson.loads(data)
    except orjson.JSONDecodeError as whole:
        lines = [(f"line {number}", line) for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()]
        if len(lines) < 2:
            raise InvalidInput(f"the file is not JSON: {whole}") from whole
        return _parsed_lines(lines, report)
    if isinstance(parsed, list) and not all(isinstance(item, dict) and "role" in item for item in parsed):
        return [(f"item {number}", item) for number, item in enumerate(parsed, start=1)]
    return [("the file", parsed)]


def _parsed_lines(lines: list[tuple[str, bytes]], report: Report) -> list[tuple[str, Any]]:
    items = []
    for where, line in lines:
        try:
            items.append((where, orjson.loads(line)))
        except orjson.JSONDecodeError as error:
            report.refuse(where, f"is not JSON: {error}", line)
    return items
