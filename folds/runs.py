"""Runs: facts in the making. A sweep over what was said, in the order of its places, puts each into one.

A run keeps sums of its sources and not the sources, so that one of a hundred thousand sources goes on as fast as one of
two, and can be kept in the graph and taken up again (memstream.folds.resume).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

from memstream.folds.said import SEPARATOR, Said


@dataclass(frozen=True, slots=True)
class Fact:
    """What follows: a value and when it holds.

    `name` is the id of its first source and names it in its fold; `supersedes` names another one so. `sources` are the
    assertions behind it in the order of their places, as far as they were read; `support` counts all. `valid_from` is
    None where only an end is known; `start_known` tells that a start was stated, and not just when it was first said.
    `shown` is the source said first: how the fact is worded. `holds` is False once it was superseded, denied or said to
    be over; an end still to come when it was last said is in `valid_to`, for the reader to compare with the time asked.
    """

    name: str
    value: str
    claim: str
    negated: bool
    valid_from: str | None
    valid_to: str | None
    start_known: bool
    holds: bool
    sources: tuple[str, ...]
    support: int
    shown: str
    said_first: str
    said_last: str
    confidence: float
    supersedes: str | None = None
    superseded_by: str | None = None

    @property
    def content(self) -> str:
        """A hash of what makes it this fact, whatever else supports it by now."""
        parts = (
            self.name,
            self.shown,
            self.claim,
            str(self.negated),
            self.valid_from or "",
            self.valid_to or "",
            str(self.start_known),
            str(self.holds),
            self.superseded_by or "",
            self.said_first,
        )
        return sha256(SEPARATOR.join(parts).encode()).hexdigest()


@dataclass(slots=True, eq=False)
class Run:
    """A fact in the making. No start lies before `floor`, the end of what came before.

    `place` and `last_place` are those of its first and last source, `last_stated` that of the last one that does not
    only tell an end; `end` is its end point, by the source with `end_key`; `followed` is the place of the run that
    came after it. `added` are the sources that were taken in since it was read.
    """

    name: str
    place: str
    value: str
    claim: str
    track: str = ""
    negated: bool = False
    unknown_start: bool = False
    floor: str = ""
    start: str | None = None
    start_known: bool = False
    end: str | None = None
    end_key: str = ""
    last: str = ""
    last_place: str = ""
    last_stated: str = ""
    shown: str = ""
    shown_key: str = ""
    said_first: str = ""
    said_last: str = ""
    confidence: float = 0.0
    support: int = 0
    followed: str | None = None
    ended_by: Run | None = None
    supersedes: Run | None = None
    superseded_by: Run | None = None
    follows: list[Run] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, said: Said, floor: str = "", *, unknown_start: bool = False) -> Run:
        """A run that begins with this source."""
        run = cls(
            said.id, said.place, said.value, said.claim, said.track, said.negated, unknown_start, floor,
            start=None if unknown_start else said.effective,
        )  # fmt: skip
        run.add(said)
        return run

    def add(self, said: Said) -> None:
        """Another source. Of several end points the one said last counts, until something follows."""
        self.added.append(said.id)
        self.last_place = said.place
        if said.only_ends:
            ending = said.valid_to
        else:
            self.last, self.last_stated = said.effective, said.place
            ending = None if said.valid_to is None else max(said.valid_to, said.effective)
        if ending is not None and said.key >= self.end_key and self.followed is None:
            self.end, self.end_key = ending, said.key
        self._begin_with(said)
        self.count(said)

    def count(self, said: Said) -> None:
        """What adds up whatever the order."""
        self.support += 1
        self.said_last = max(self.said_last, said.said_at)
        self.confidence = max(self.confidence, said.confidence)
        if not self.shown or (said.key, said.id) < (self.shown_key, self.shown):
            self.shown, self.shown_key, self.said_first = said.id, said.key, said.said_at

    def _begin_with(self, said: Said) -> None:
        """It begins at its first source, or earlier inside the period that a later one names."""
        stated = said.valid_from
        if self.start is None or stated is None or stated < self.floor:
            return
        if stated <= self.start:
            self.start, self.start_known = stated, True

    def ending(self) -> str | None:
        """Where it ends: where what ended it begins, or at its own end point."""
        return self.end if self.ended_by is None else self.ended_by.start

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
        """What it comes to."""
        ending = self.ending()
        return Fact(
            name=self.name,
            value=self.value,
            claim=self.claim,
            negated=self.negated,
            valid_from=self.start,
            valid_to=ending,
            start_known=self.start_known,
            holds=self.followed is None and (ending is None or ending > self.said_last),
            sources=tuple(self.added),
            support=self.support,
            shown=self.shown,
            said_first=self.said_first,
            said_last=self.said_last,
            confidence=self.confidence,
            supersedes=None if self.supersedes is None else self.supersedes.name,
            superseded_by=None if self.superseded_by is None else self.superseded_by.name,
        )


Claim = tuple[str, bool]
"""A value, and whether it is denied."""


@dataclass(slots=True)
class Sweep:
    """The runs so far of one track: `current` is the last value, `latest` and `ended` the last runs of each claim."""

    runs: list[Run] = field(default_factory=list)
    current: Run | None = None
    latest: dict[Claim, Run] = field(default_factory=dict)
    ended: dict[Claim, Run] = field(default_factory=dict)

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
        if run is None or (run.followed is not None and not run.reaches(said.effective)):
            run = self.ended.get(claim)
        if run is not None:
            run.add(said)
        else:
            self.ended[claim] = Run.of(said, unknown_start=True)
            self.runs.append(self.ended[claim])

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
        same = before is not None and before.value == said.value
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

    def _begin(self, said: Said, *before: Run | None) -> Run:
        followed = [one for one in before if one is not None]
        floor = max((one.bound(said.effective) for one in followed), default="")
        run = Run.of(said, floor)
        run.follows = followed
        for one in followed:
            one.followed = one.followed or run.place
        self.runs.append(run)
        claim = (said.value, said.negated)
        self.latest[claim] = run
        self.ended.pop(claim, None)
        return run
