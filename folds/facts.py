"""Facts are a fold: from the set of what was said of one slot to the facts that follow from it.

A pure function of a set: the order of arrival does not matter, no clock is read. What is said has a place in its slot,
a sortable text of (effective from, end before start, key), and one sweep in that order gives the facts:

- Equal neighbours are one fact with several sources. Between them lies no end and, where one value holds at a time,
  no other value.
- Another value ends the one before it and supersedes it.
- An end point (`valid_to`) ends its own value alone; of several for one fact the one said last counts.
- Who gives only an end that is past ("lived in Paris until 2015") leaves the start unknown and ends no other value.
- A negation ends the value it names, no other, and puts nothing in its place. It is a fact of its own until that value
  is asserted again.
- Nothing resumes unless it is said again: the same value at two disjoint times is two facts.

Times are ISO texts of differing precision and are compared as texts: 2026 < 2026-03 < 2026-03-06T14:00. A statement
whose `valid_from` is the very period in which it was said ("I moved this month") takes effect, in the order, when it
was said: what was said earlier in that period is older.
"""

from __future__ import annotations

from collections.abc import Iterable

from memstream.folds.runs import Fact, Sweep
from memstream.folds.said import Said, TakenBack

__all__ = ["Fact", "Said", "TakenBack", "fold", "known_at", "standing"]


def fold(said: Iterable[Said], taken_back: Iterable[TakenBack] = ()) -> tuple[Fact, ...]:
    """The facts of one slot, in the order in which they begin."""
    tracks: dict[str, Sweep] = {}
    for one in standing(said, taken_back):
        tracks.setdefault(one.track, Sweep()).take(one)
    runs = [run for sweep in tracks.values() for run in sweep.runs]
    return tuple(run.fact() for run in sorted(runs, key=lambda run: run.place))


def standing(said: Iterable[Said], taken_back: Iterable[TakenBack]) -> list[Said]:
    """What was not taken back, each once, in the order of places."""
    retractions = tuple(taken_back)
    by_id = {r.assertion for r in retractions}
    by_claim = [r for r in retractions if r.assertion is None]
    left = {s.id: s for s in said if s.id not in by_id and not any(r.covers(s) for r in by_claim)}
    return sorted(left.values(), key=lambda s: s.place)


def known_at(
    said: Iterable[Said], taken_back: Iterable[TakenBack], moment: str
) -> tuple[tuple[Said, ...], tuple[TakenBack, ...]]:
    """What of it was recorded up to a time: its fold is what was believed then."""
    return (
        tuple(s for s in said if s.recorded_at <= moment),
        tuple(r for r in taken_back if r.recorded_at <= moment),
    )
