"""Reciprocal rank fusion (Cormack, Clarke and Buettcher 2009) over the paths that found something.

An item's score is the sum over its paths of weight / (60 + rank), times a little more for what is recent and what is
sure. Recency is measured from the newest candidate and not from a clock: the same graph gives the same ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from memstream.query.graph import Row

RANK_CONSTANT: Final = 60
HALF_LIFE_DAYS: Final = 30.0
RECENCY_SHARE: Final = 0.15


class Path(StrEnum):
    """How recall came to an item."""

    ENTITY = "entity"
    HOP = "hop"
    WORDS = "words"
    MEANING = "meaning"


WEIGHTS: Final = {Path.ENTITY: 1.0, Path.HOP: 0.4, Path.WORDS: 1.0, Path.MEANING: 1.0}


class Kind(StrEnum):
    """What an item is."""

    FACT = "fact"
    PREFERENCE = "preference"
    MESSAGE = "message"
    PASSAGE = "passage"
    BOARD_ITEM = "board_item"


@dataclass(frozen=True, slots=True)
class Reason:
    """One path to an item, the item's rank on it from 1, and a word on why."""

    path: Path
    rank: int
    detail: str


@dataclass(slots=True)
class Candidate:
    """Something that may be served. `place` is the place of its scope among those asked, the nearest 0."""

    kind: Kind
    id: str
    scope: str
    place: int
    row: Row
    reasons: list[Reason] = field(default_factory=list)
    score: float = 0.0

    @property
    def time(self) -> str:
        """When it was last said."""
        return str(self.row.get("said_last") or self.row.get("time") or "")

    @property
    def confidence(self) -> float:
        """How sure it is; what was said is surely said."""
        value = self.row.get("confidence")
        return 1.0 if value is None else float(value)


def fuse(candidates: list[Candidate]) -> list[Candidate]:
    """The candidates with their scores, best first; ties go to the nearer scope, then to the newer, then by id."""
    newest = max((_days(candidate.time) for candidate in candidates), default=0.0)
    for candidate in candidates:
        found = sum(WEIGHTS[reason.path] / (RANK_CONSTANT + reason.rank) for reason in candidate.reasons)
        recent = 2 ** (-(newest - _days(candidate.time)) / HALF_LIFE_DAYS)
        candidate.score = found * (1 + RECENCY_SHARE * recent) * (0.5 + 0.5 * candidate.confidence)
    by_id = sorted(candidates, key=lambda candidate: candidate.id)
    by_time = sorted(by_id, key=lambda candidate: candidate.time, reverse=True)
    return sorted(by_time, key=lambda candidate: (-candidate.score, candidate.place))


def merged(candidates: list[Candidate]) -> list[Candidate]:
    """One candidate for each sentence of a scope: the same fact about two entities of one name is served once.

    They come best first, and the best keeps its place; it takes the paths of the others that it was not found by.
    """
    kept: dict[tuple[Kind, str, str, bool], Candidate] = {}
    for candidate in candidates:
        row = candidate.row
        same = (candidate.kind, candidate.scope, " ".join(row["text"].casefold().split()), bool(row.get("holds", True)))
        if candidate.kind in (Kind.FACT, Kind.PREFERENCE):
            first = kept.setdefault(same, candidate)
            paths = {reason.path for reason in first.reasons}
            first.reasons += [reason for reason in candidate.reasons if reason.path not in paths]
        else:
            kept[candidate.kind, candidate.scope, candidate.id, True] = candidate
    return list(kept.values())


def _days(time: str) -> float:
    try:
        return datetime.fromisoformat(time).timestamp() / 86_400
    except (ValueError, OverflowError):
        return 0.0
