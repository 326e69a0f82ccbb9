"""Which part of the log a replay takes: scopes, and a span of recorded time. A pure rule, the same for both ways."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from memstream.schemas.errors import InvalidInput
from memstream.schemas.ids import utc_text
from memstream.schemas.scope import is_within, parse_scope


@dataclass(frozen=True, slots=True)
class Window:
    """Scopes with all below them (none: every scope), recorded from `since` up to `until`, both included.

    Erasures pass whenever they were recorded: what is erased stays out of a graph of an earlier day, too. So does one
    of a scope above those that are wanted, since it reaches down to them. With `events` these alone are in it, by their
    keys, and all else is read for what their sessions say at most.
    """

    scopes: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    events: frozenset[str] | None = None

    @classmethod
    def of(cls, scopes: tuple[str, ...] = (), since: str | None = None, until: str | None = None) -> Window:
        """A window of what a person writes. Raises InvalidScope, and InvalidInput for what is no time."""
        checked = tuple(sorted({parse_scope(scope) for scope in scopes}))
        return cls(checked, _moment(since), _moment(until))

    @property
    def whole(self) -> bool:
        """Whether everything is in it."""
        return self == Window()

    def takes(self, scope: str, recorded_at: str, *, event: str | None = None, erases: bool = False) -> bool:
        """Whether an event of this scope, recorded then, belongs to what is rebuilt; `event` is its key."""
        if self.events is not None and event not in self.events:
            return False
        if erases:
            return self._has(scope) or any(is_within(wanted, scope) for wanted in self.scopes)
        return self._has(scope) and not self.precedes(recorded_at) and not self._follows(recorded_at)

    def precedes(self, recorded_at: str) -> bool:
        """Whether a time lies before the window: what was said then makes nothing, but may explain what follows."""
        return self.since is not None and recorded_at < self.since

    def reads(self, scope: str, recorded_at: str) -> bool:
        """Whether a message must be read, be it for itself or for what its session says later."""
        return self._has(scope) and not self._follows(recorded_at)

    def encode(self) -> str:
        """Scopes and span as text, for the command line of a process."""
        return orjson.dumps({"scopes": self.scopes, "since": self.since, "until": self.until}).decode()

    @classmethod
    def decode(cls, text: str) -> Window:
        """The window of such a text; all for an empty one."""
        told = orjson.loads(text) if text else {}
        return cls(tuple(told.get("scopes", ())), told.get("since"), told.get("until"))

    def __str__(self) -> str:
        """In words, for a person."""
        parts = [f"of {', '.join(self.scopes)}"] if self.scopes else []
        parts += [f"since {self.since}"] if self.since else []
        parts += [f"until {self.until}"] if self.until else []
        return " ".join(parts) or "all"

    def _has(self, scope: str) -> bool:
        return not self.scopes or any(is_within(scope, wanted) for wanted in self.scopes)

    def _follows(self, recorded_at: str) -> bool:
        return self.until is not None and recorded_at > self.until


def _moment(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(
            f"{text!r} is no time: write for example 2026-11-30T09:15:00Z, or 2026-11-30 for the beginning of that day"
        ) from error
    return utc_text(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
