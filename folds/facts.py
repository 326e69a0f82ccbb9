"""Facts are a fold: from the set of what was said of one slot to the facts that follow from it.

A pure function of a set: the order of arrival does not matter, no clock is read. What is said has a place in its slot,
the sortable tuple (effective from, end before start, key), and one sweep in that order gives the facts:

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
from dataclasses import dataclass, field

from memstream.schemas.patch import AssertionRow, RetractionRow


@dataclass(frozen=True, slots=True)
class Said:
    """One assertion, as far as the fold looks at it. `value` is its normalised value, `key` its rank among all said."""

    id: str
    value: str
    said_at: str
    key: str
    slot: str = ""
    claim: str = ""
    single: bool = True
    negated: bool = False
    valid_from: str | None = None
    valid_to: str | None = None
    confidence: float = 1.0
    recorded_at: str = ""

    @classmethod
    def of(cls, row: AssertionRow, recorded_at: str) -> Said:
        """What a row of a patch says, recorded then."""
        return cls(
            id=row.id,
            value=row.value_key,
            said_at=row.said_at,
            key=row.key,
            slot=row.slot,
            claim=row.claim,
            single=row.single,
            negated=row.negated,
            valid_from=row.valid_from,
            valid_to=row.valid_to,
            confidence=row.confidence,
            recorded_at=recorded_at,
        )

    @property
    def only_ends(self) -> bool:
        """Whether it tells when something ended, and not when it began."""
        return self.valid_from is None and self.valid_to is not None and self.valid_to <= self.said_at

    @property
    def effective(self) -> str:
        """From when it counts: its start, or when it was said where that is all that is known."""
        if self.only_ends and self.valid_to is not None:
            return self.valid_to
        if self.valid_from is None:
            return self.said_at
        lasts = self.valid_to is None or self.valid_to > self.said_at
        return self.said_at if lasts and self.said_at.startswith(self.valid_from) else self.valid_from

    @property
    def place(self) -> tuple[str, bool, str, str]:
        """Where it stands in its slot. At one time an end comes before a start."""
        return (self.effective, not self.only_ends, self.key, self.id)


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A retraction: of one assertion by its id, or of a claim in a slot, as far as said before a time."""

    id: str
    assertion: str | None = None
    slot: str | None = None
    claim: str | None = None
    said_before: str | None = None
    recorded_at: str = ""

    @classmethod
    def of(cls, row: RetractionRow, recorded_at: str) -> TakenBack:
        """What a row of a patch takes back, recorded then."""
        return cls(row.id, row.assertion, row.slot, row.claim, row.said_before, recorded_at)

    def covers(self, said: Said) -> bool:
        """Whether it takes this out of the fold."""
        if self.assertion is not None:
            return said.id == self.assertion
        if self.slot is None or self.claim is None:
            return False
        before = self.said_before is None or said.said_at < self.said_before
        return said.slot == self.slot and said.claim == self.claim and before


@dataclass(frozen=True, slots=True)
class Fact:
    """What follows: a value and when it holds.

    `sources` are the assertions behind it in the order of their places; the first names the fact in its fold, and
    `supersedes` names another one so. `valid_from` is None where only an end is known; `start_known` tells that a
    start was stated, and not just when it was first said. `shown` is the source said first: how the fact is worded.
    `holds` is False once it was superseded, denied or said to be over; an end still to come when it was last said is
    in `valid_to`, for the reader to compare with the time asked for.
    """

    value: str
    claim: str
    negated: bool
    valid_from: str | None
    valid_to: str | None
    start_known: bool
    holds: bool
    sources: tuple[str, ...]
    shown: str
    said_first: str
    said_last: str
    confidence: float
    supersedes: str | None = None
    superseded_by: str | None = None

    @property
    def name(self) -> str:
        """Its name in the fold: the id of its first source."""
        return self.sources[0]


def fold(said: Iterable[Said], taken_back: Iterable[TakenBack] = ()) -> tuple[Fact, ...]:
    """The facts of one slot, in the order in which they begin."""
    retractions = tuple(taken_back)
    by_id = {r.assertion for r in retractions}
    by_claim = [r for r in retractions if r.assertion is None]
    left = {s.id: s for s in said if s.id not in by_id and not any(r.covers(s) for r in by_claim)}
    standing = sorted(left.values(), key=_place)
    tracks: dict[str, _Sweep] = {}
    for one in standing:
        # where many values stand side by side, each is a track of its own
        tracks.setdefault("" if one.single else one.value, _Sweep()).take(one)
    runs = [run for sweep in tracks.values() for run in sweep.runs]
    return tuple(run.fact() for run in sorted(runs, key=lambda run: run.sources[0].place))


def known_at(
    said: Iterable[Said], taken_back: Iterable[TakenBack], moment: str
) -> tuple[tuple[Said, ...], tuple[TakenBack, ...]]:
    """What of it was recorded up to a time: its fold is what was believed then."""
    return (
        tuple(s for s in said if s.recorded_at <= moment),
        tuple(r for r in taken_back if r.recorded_at <= moment),
    )


def _place(said: Said) -> tuple[str, bool, str, str]:
    return said.place


@dataclass(slots=True, eq=False)
class _Run:
    """A fact in the making. No start lies before `floor`, the end of what came before."""

    floor: str
    sources: list[Said] = field(default_factory=list)
    end: str | None = None
    end_key: str = ""
    last: str = ""
    unknown_start: bool = False
    followed: bool = False
    ended_by: _Run | None = None
    supersedes: _Run | None = None
    superseded_by: _Run | None = None

    def add(self, said: Said) -> None:
        """Another source. Of several end points the one said last counts, until something follows."""
        self.sources.append(said)
        if said.only_ends:
            ending = said.valid_to
        else:
            self.last = said.effective
            ending = None if said.valid_to is None else max(said.valid_to, said.effective)
        if ending is not None and said.key >= self.end_key and not self.followed:
            self.end, self.end_key = ending, said.key

    def start(self) -> str | None:
        """Where it begins: at its first source, or earlier inside the period that a later one names."""
        if self.unknown_start:
            return None
        stated = (s.valid_from for s in self.sources if s.valid_from is not None and s.valid_from >= self.floor)
        return min([self.sources[0].effective, *stated])

    def ending(self) -> str | None:
        """Where it ends: where what ended it begins, or at its own end point."""
        return self.end if self.ended_by is None else self.ended_by.start()

    def open_at(self, time: str) -> bool:
        """Whether it still holds then."""
        ending = self.ending()
        return ending is None or time < ending

    def reaches(self, time: str) -> bool:
        """Whether it lasts until then, as far as the precision of its end tells."""
        ending = self.ending()
        return ending is None or ending >= time or time.startswith(ending)

    def bound(self, time: str) -> str:
        """The earliest start of what follows it at a time."""
        ending = self.ending()
        return self.last if ending is None or time < ending else ending

    def fact(self) -> Fact:
        start, ending = self.start(), self.ending()
        first = min(self.sources, key=lambda s: (s.key, s.id))
        said_last = max(s.said_at for s in self.sources)
        return Fact(
            value=first.value,
            claim=first.claim,
            negated=first.negated,
            valid_from=start,
            valid_to=ending,
            start_known=start is not None and any(s.valid_from == start for s in self.sources),
            holds=not self.followed and (ending is None or ending > said_last),
            sources=tuple(s.id for s in self.sources),
            shown=first.id,
            said_first=first.said_at,
            said_last=said_last,
            confidence=max(s.confidence for s in self.sources),
            supersedes=None if self.supersedes is None else self.supersedes.sources[0].id,
            superseded_by=None if self.superseded_by is None else self.superseded_by.sources[0].id,
        )


@dataclass(slots=True)
class _Sweep:
    """The runs so far of one track: `current` is the last value, `latest` and `ended` the last runs of each claim."""

    runs: list[_Run] = field(default_factory=list)
    current: _Run | None = None
    latest: dict[tuple[str, bool], _Run] = field(default_factory=dict)
    ended: dict[tuple[str, bool], _Run] = field(default_factory=dict)

    def take(self, said: Said) -> None:
        """The next one in the order of places."""
        if said.only_ends:
            self._end(said)
        elif said.negated:
            self._deny(said)
        else:
            self._assert(said)

    def _end(self, said: Said) -> None:
        claim = (said.value, said.negated)
        run = self.latest.get(claim)
        # as long as nothing followed it, its end can be told anew
        if run is None or (run.followed and not run.reaches(said.effective)):
            run = self.ended.get(claim)
        if run is None:
            run = self.ended[claim] = _Run(floor="", unknown_start=True)
            self.runs.append(run)
        run.add(said)

    def _deny(self, said: Said) -> None:
        held, denied = self.latest.get((said.value, False)), self.latest.get((said.value, True))
        holding = held is not None and held.open_at(said.effective)
        if denied is not None and denied.open_at(said.effective):
            denied.add(said)
            return
        run = self._begin(said, held, denied)
        if held is not None and holding:
            held.ended_by = run

    def _assert(self, said: Said) -> None:
        before, time = self.current, said.effective
        same = before is not None and before.sources[0].value == said.value
        if before is not None and same and before.open_at(time):
            before.add(said)
            return
        denied = self.latest.get((said.value, True))
        denying = denied is not None and denied.open_at(time)
        lasting = before is not None and not same and before.reaches(time)
        run = self._begin(said, before, denied)
        self.current = run
        if denied is not None and denying:
            denied.ended_by = run
        if before is not None and lasting:
            run.supersedes, before.superseded_by = before, run
            # what ended at this very time anyway keeps that end
            if before.open_at(time):
                before.ended_by = run

    def _begin(self, said: Said, *before: _Run | None) -> _Run:
        floor = ""
        for one in before:
            if one is not None:
                floor, one.followed = max(floor, one.bound(said.effective)), True
        run = _Run(floor)
        run.add(said)
        self.runs.append(run)
        claim = (said.value, said.negated)
        self.latest[claim] = run
        self.ended.pop(claim, None)
        return run
