"""How far a replay is: what a person sees, and what the summary says."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class State:
    """A step by its name, with what is done of it and what there is to do. `total` is 0 where nobody knows."""

    step: str
    done: int
    total: int


@dataclass(slots=True)
class Meter:
    """Counts a step's work and tells of each change. `seconds` has how long each finished step took."""

    report: Callable[[State], None] = lambda _: None
    seconds: dict[str, float] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    _step: str = ""
    _done: int = 0
    _total: int = 0
    _began: float = 0.0

    def begin(self, step: str, done: int, total: int) -> None:
        """A step begins, where an earlier run may have left it."""
        self._step, self._done, self._total = step, done, total
        self._began = time.monotonic()
        self.seconds.setdefault(step, 0.0)
        self.counted.setdefault(step, 0)
        self._tell()

    def add(self, number: int) -> None:
        """So much more of the step is done."""
        self._done += number
        self.counted[self._step] += number
        now = time.monotonic()
        self.seconds[self._step] += now - self._began
        self._began = now
        self._tell()

    def reach(self, done: int) -> None:
        """The step is so far."""
        self.add(done - self._done)

    def rate(self, step: str) -> float:
        """What was done of a step in a second, on average."""
        took = self.seconds.get(step, 0.0)
        return self.counted.get(step, 0) / took if took else 0.0

    def _tell(self) -> None:
        self.report(State(self._step, self._done, self._total))
