"""What a model that is paid for may still be asked: requests and tokens a minute, and money a day.

Kept in a small SQLite file, so that all processes of a machine share the limits and a restart does not forget what was
spent. The clock of the machine decides when something is asked, and enters nothing that is stored of an answer.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memstream.schemas.errors import SettingsError, TransientError

_BUSY_SECONDS = 10.0
_MINUTE = 60.0
_TABLES = """
CREATE TABLE IF NOT EXISTS bucket (name TEXT PRIMARY KEY, level REAL NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS spent (
  day TEXT PRIMARY KEY, amount REAL NOT NULL, requests INTEGER NOT NULL, tokens INTEGER NOT NULL
);
"""
_SPEND = """
INSERT INTO spent VALUES (:day, :amount, :requests, :tokens) ON CONFLICT (day) DO UPDATE SET
  amount = amount + :amount, requests = requests + :requests, tokens = tokens + :tokens
"""
REQUESTS, TOKENS = "requests", "tokens"


class OverSpending(Exception):
    """What one more answer may cost is more than is left of the day."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Most in a minute and in a day; 0 is no limit."""

    requests_a_minute: int = 0
    tokens_a_minute: int = 0
    spend_a_day: float = 0.0


@dataclass(frozen=True, slots=True)
class Day:
    """What a day has cost so far."""

    amount: float = 0.0
    requests: int = 0
    tokens: int = 0


class Ledger:
    """Buckets that fill by the second, and a day's account. Raises SettingsError where the file can't be made."""

    def __init__(self, path: Path, limits: Limits, clock: Callable[[], float] = time.time) -> None:
        self._limits = limits
        self._clock = clock
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            self._base.executescript(f"PRAGMA synchronous = OFF; {_TABLES}")
        except (OSError, sqlite3.Error) as error:
            raise SettingsError(f"{path}, where it is kept what models have cost, can't be used: {error}") from error

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def take(self, tokens: int, cost: float) -> float:
        """Reserve a request of so many tokens and of that cost: 0.0, or the seconds after which there may be room.

        Raises OverSpending where the day has no room for it, TransientError where the file is locked for long.
        """
        now = self._clock()
        with self._alone():
            if self._limits.spend_a_day and self._day(now).amount + cost > self._limits.spend_a_day:
                raise OverSpending
            wanted = [(REQUESTS, 1.0, self._limits.requests_a_minute), (TOKENS, tokens, self._limits.tokens_a_minute)]
            levels = {name: self._level(name, limit, now) for name, _, limit in wanted if limit}
            waits = [(min(amount, limit) - levels[name]) * _MINUTE / limit for name, amount, limit in wanted if limit]
            if waits and max(waits) > 0:
                return max(waits)
            for name, amount, limit in wanted:
                if limit:
                    self._write(name, levels[name] - amount, now)
            self._base.execute(_SPEND, self._row(now, cost, 1, tokens))
        return 0.0

    def settle(self, tokens: int, cost: float) -> None:
        """Correct a reservation by what it was too little (above 0) or too much."""
        now = self._clock()
        with self._alone():
            if limit := self._limits.tokens_a_minute:
                self._write(TOKENS, min(self._level(TOKENS, limit, now) - tokens, limit), now)
            self._base.execute(_SPEND, self._row(now, cost, 0, tokens))

    def today(self) -> Day:
        """What this day has cost."""
        return self._day(self._clock())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            self._base.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise TransientError(f"the ledger of what models cost is locked: {error}") from error
        try:
            yield
        finally:
            self._base.execute("COMMIT")

    def _level(self, name: str, limit: float, now: float) -> float:
        row = self._base.execute("SELECT level, at FROM bucket WHERE name = ?", (name,)).fetchone()
        if row is None:
            return limit
        level, at = row
        return float(min(level + max(now - at, 0.0) * limit / _MINUTE, limit))

    def _write(self, name: str, level: float, now: float) -> None:
        self._base.execute("INSERT OR REPLACE INTO bucket VALUES (?, ?, ?)", (name, level, now))

    def _day(self, now: float) -> Day:
        row = self._base.execute("SELECT amount, requests, tokens FROM spent WHERE day = ?", (_day_of(now),)).fetchone()
        return Day(*row) if row is not None else Day()

    @staticmethod
    def _row(now: float, amount: float, requests: int, tokens: int) -> dict[str, str | float]:
        return {"day": _day_of(now), "amount": amount, "requests": requests, "tokens": tokens}


def _day_of(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).date().isoformat()
