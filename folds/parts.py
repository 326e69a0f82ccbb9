"""Who wins a part of a shared node: of all that was said into it, the greatest key, or the least where it is `first`.

Equal keys are decided by the event's key, so that two events never tie.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

SEPARATOR = "\x1f"

T = TypeVar("T")


def say_key(key: str, event: str) -> str:
    """The key of one event's say, as it stands beside the part."""
    return key + SEPARATOR + event


def event_of(say: str) -> str:
    """The event whose say it is."""
    return say.rpartition(SEPARATOR)[2]


def beats(challenger: str, holder: str | None, first: bool) -> bool:
    """Whether one say (its say_key) wins over the one that shows now."""
    if holder is None:
        return True
    return challenger < holder if first else challenger > holder


def winner(says: Iterable[tuple[str, T]], first: bool) -> tuple[str, T] | None:
    """The say that shows, of pairs of a say_key and what it says; None where nothing was said."""
    best: tuple[str, T] | None = None
    for key, what in says:
        if best is None or beats(key, best[0], first):
            best = (key, what)
    return best
