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
from memstream.schemas.catalogue import catalogue
from memstream.schemas.names import normalise_name

RANK_CONSTANT: Final = 60
HALF_LIFE_DAYS: Final = 30.0
RECENCY_SHARE: Final = 0.15
SERVED_CHARS: Final = 700
"""Of a longer text only the beginning is served."""


class Path(StrEnum):
    """How recall came to an item."""

    ENTITY = "entity"
    HOP = "hop"
    WORDS = "words"
    MEANING = "meaning"


WEIGHTS: Final = {Path.ENTITY: 1.0, Path.HOP: 0.9, Path.WORDS: 1.0, Path.MEANING: 1.0}


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
    """One candidate for what would be served twice, with the best rank that any of them has on each path.

    The same text of several sessions or scopes is served from the nearest scope, as it was last said. A fact of a
    scope is one in both wordings (owns, owned_by) and about all entities of a name; the wording that has one value at
    a time is kept, for it ends when another value comes.
    """
    groups: dict[tuple[str | bool, ...], list[Candidate]] = {}
    for candidate in sorted(sorted(candidates, key=lambda each: each.id), key=lambda each: each.time, reverse=True):
        groups.setdefault(_sameness(candidate), []).append(candidate)
    kept = []
    for group in groups.values():
        first = min(group, key=lambda each: (each.place, not catalogue().is_single(each.row.get("predicate") or "")))
        best: dict[Path, Reason] = {}
        for reason in sorted((reason for each in group for reason in each.reasons), key=lambda each: each.rank):
            best.setdefault(reason.path, reason)
        first.reasons = [best[path] for path in Path if path in best]
        kept.append(first)
    return kept


def _sameness(candidate: Candidate) -> tuple[str | bool, ...]:
    """What is equal for candidates of which one is enough."""
    row = candidate.row
    text = " ".join(row["text"].casefold().split())[:SERVED_CHARS]
    if candidate.kind not in (Kind.FACT, Kind.PREFERENCE):
        return ("text", text)
    state = (candidate.kind, candidate.scope, bool(row.get("holds", True)), bool(row.get("negated")))
    predicate, other = row.get("predicate"), row.get("object_name") or row.get("value")
    if candidate.kind is Kind.PREFERENCE or not predicate or not row.get("subject_name") or not other:
        return (*state, text)
    said = (predicate, normalise_name(row["subject_name"]), normalise_name(other))
    inverse = catalogue().inverse_of(predicate)
    return (*state, *min(said, (inverse, said[2], said[1]) if inverse else said))


def _days(time: str) -> float:
    try:
        return datetime.fromisoformat(time).timestamp() / 86_400
    except (ValueError, OverflowError):
        return 0.0
