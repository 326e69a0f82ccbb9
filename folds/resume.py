"""The fold taken up again: what a few new assertions change, without reading all that was said before.

The runs of a slot are kept (`kept` to a text, `Kept.run` back). A sweep that goes on at a place needs of what lies
before it only: the last value of each track, the last runs of the claims that come up, and what those point to. So:

1. Go back to a place before which nothing changes: the first that is new or gone, or the start of a run across it.
2. Forget what the runs before it know of what comes after, and sweep over all that was said from there on.

What is said last, the usual case, is swept alone. An assertion inside a run of its own claim only adds up: no sweep.
`refold` asks for what it needs and is answered; so one slot is folded like a thousand at once, in a few queries.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from memstream.folds.runs import Run, Sweep
from memstream.folds.said import Said

_BAR = "|"  # in no hash; a place may have it, and stands last


@dataclass(frozen=True, slots=True)
class RunsFrom:
    """Ask: the runs with a source at this place or after it."""

    place: str


@dataclass(frozen=True, slots=True)
class SaidFrom:
    """Ask: what was said at this place or after it, and was not taken back."""

    place: str


@dataclass(frozen=True, slots=True)
class Before:
    """Ask, of the runs that begin before this place: the last of each of these rows (`lead_row`, `turn_row`)."""

    place: str
    leads: tuple[str, ...]
    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class At:
    """Ask: the runs with these turns."""

    turns: tuple[str, ...]


Ask = RunsFrom | SaidFrom | Before | At


@dataclass(slots=True)
class Kept:
    """A run as it was kept, and by what (`handle`) its keeper knows it."""

    run: Run
    turn: str
    state: str
    content: str
    handle: Any = None


@dataclass(frozen=True, slots=True)
class Changed:
    """What happened to a slot: what is new in it, the places of what went or came back, or that nothing is known."""

    new: tuple[Said, ...] = ()
    places: tuple[str, ...] = ()
    whole: bool = False

    @property
    def is_any(self) -> bool:
        """Whether anything happened."""
        return bool(self.new or self.places or self.whole)

    @property
    def first(self) -> str:
        """Where it begins."""
        return "" if self.whole else min((*self.places, *(said.place for said in self.new)))


@dataclass(slots=True)
class Refolded:
    """What becomes of it: `gone` are kept runs that `runs` replace, `on` are kept runs that go on, perhaps changed.

    `near` are further runs that those point to. `said` is what was read to fold.
    """

    gone: list[Kept] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    on: list[Kept] = field(default_factory=list)
    near: list[Kept] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)


def lead_row(track: str) -> str:
    """The row in which the values of a track stand, by their places: what one value follows another in."""
    return track + _BAR


def lead_of(run: Run) -> str | None:
    """Where a run stands in its lead row; None for a denial and for what has only an end."""
    return None if run.negated or run.unknown_start else lead_row(run.track) + run.place


def turn_row(track: str, claim: str, *, negated: bool, unknown_start: bool) -> str:
    """The row of the runs of one claim."""
    return _BAR.join((track, claim, "-" if negated else "+", "?" if unknown_start else "!", ""))


def turn_of(run: Run) -> str:
    """Where a run stands in its turn row: its name among all runs of its slot."""
    return turn_row(run.track, run.claim, negated=run.negated, unknown_start=run.unknown_start) + run.place


_PLAIN = (
    "name", "place", "value", "claim", "track", "negated", "unknown_start", "floor", "start", "start_known", "end",
    "end_key", "last", "last_place", "last_stated", "shown", "shown_key", "said_first", "said_last", "confidence",
    "support", "followed",
)  # fmt: skip
_POINTERS = ("ended_by", "supersedes", "superseded_by")


def kept(run: Run) -> str:
    """A run as a text, to be kept."""
    plain = [getattr(run, name) for name in _PLAIN]
    pointers = [_pointer(getattr(run, name)) for name in _POINTERS]
    return orjson.dumps([plain, pointers, [_pointer(one) for one in run.follows]]).decode()


def taken_up(state: str, handle: Any = None) -> Kept:
    """The run of a text."""
    plain, pointers, follows = orjson.loads(state)
    run = Run(**dict(zip(_PLAIN, plain, strict=True)))
    for name, pointer in zip(_POINTERS, pointers, strict=True):
        setattr(run, name, _pointed(pointer))
    run.follows = [one for pointer in follows if (one := _pointed(pointer)) is not None]
    return Kept(run, turn_of(run), state, run.fact().content, handle)


def _pointer(run: Run | None) -> list[str | None] | None:
    """A run as another one points to it: enough to fold the other one."""
    return None if run is None else [turn_of(run), run.name, run.start]


def _pointed(pointer: list[Any] | None) -> Run | None:
    """A run that stands for one that is not read: it has its name, its place and its start."""
    if pointer is None:
        return None
    turn, name, start = pointer
    track, claim, sign, kind, place = turn.split(_BAR, 4)
    return Run(name, place, "", claim, track, sign == "-", kind == "?", start=start)


def refold(changed: Changed) -> Generator[Ask, Any, Refolded]:
    """What a change comes to.

    Yields what it asks for: RunsFrom, Before and At are answered by lists of Kept, SaidFrom by a list of Said.
    """
    slipped: dict[str, Kept] = {}
    left = changed
    if not changed.whole and not changed.places:
        slipped, left = yield from _slip_in(changed)
        if not left.new:
            return (yield from _with_near(Refolded(on=list(slipped.values()))))
    place, gone = yield from _go_back(left.first)
    if any(one.turn in slipped for one in gone):  # that run is swept again anyway
        slipped, left = {}, changed
        place, gone = yield from _go_back(left.first)
    result = Refolded(gone=gone)
    said = {s.id: s for s in left.new}
    if gone or left.places or left.whole:
        stored: list[Said] = yield SaidFrom(place)
        said |= {s.id: s for s in stored}
    result.said = sorted(said.values(), key=lambda s: s.place)
    before = yield from _before(place, result, slipped)
    sweeps = _sweeps(before)
    for one in result.said:
        sweeps.setdefault(one.track, Sweep()).take(one)
    result.runs = [run for sweep in sweeps.values() for run in sweep.runs]
    result.on = list((slipped | before).values())
    return (yield from _with_near(result))


def _slip_in(changed: Changed) -> Generator[Ask, Any, tuple[dict[str, Kept], Changed]]:
    """Count what lies inside a run of its own claim and says nothing else."""
    found: list[Kept] = yield RunsFrom(changed.first)
    slipped: dict[str, Kept] = {}
    left: list[Said] = []
    for said in changed.new:
        home = next((one for one in found if _is_inside(said, one.run)), None)
        if home is None:
            left.append(said)
        else:
            slipped[home.turn] = home
            home.run.count(said)
            home.run.added.append(said.id)
    return slipped, Changed(tuple(left))


def _is_inside(said: Said, run: Run) -> bool:
    if said.valid_from is not None or said.valid_to is not None or run.unknown_start:
        return False
    same = (said.track, said.claim, said.value, said.negated) == (run.track, run.claim, run.value, run.negated)
    return same and run.place < said.place < run.last_stated


def _go_back(place: str) -> Generator[Ask, Any, tuple[str, list[Kept]]]:
    """The place to go on at: nothing that begins before it goes on behind it. And the runs from there on."""
    while True:
        found: list[Kept] = yield RunsFrom(place)
        first = min((one.run.place for one in found), default=place)
        if first >= place:
            return place, found
        place = first


def _before(place: str, result: Refolded, slipped: dict[str, Kept]) -> Generator[Ask, Any, dict[str, Kept]]:
    """The runs before a place that what is swept may go on with, end or follow, and all that those followed."""
    tracks = sorted({s.track for s in result.said} | {one.run.track for one in result.gone})
    claims = {(s.track, s.claim) for s in result.said} | {(one.run.track, one.run.claim) for one in result.gone}
    turns = [
        turn_row(track, claim, negated=negated, unknown_start=unknown)
        for track, claim in sorted(claims)
        for negated in (False, True)
        for unknown in (False, True)
    ]
    before: dict[str, Kept] = {}
    if place:
        answer: list[Kept] = yield Before(place, tuple(map(lead_row, tracks)), tuple(turns))
        before = {one.turn: slipped.get(one.turn, one) for one in answer}
        followed = {turn_of(run) for one in before.values() for run in one.run.follows}
        yield from _read(followed - before.keys(), before, slipped)
    _link(before.values())
    for one in before.values():
        _forget_after(one.run, place)
    return before


def _read(turns: Iterable[str], into: dict[str, Kept], have: dict[str, Kept]) -> Generator[Ask, Any, None]:
    if wanted := tuple(sorted(turns)):
        answer: list[Kept] = yield At(wanted)
        into.update((one.turn, have.get(one.turn, one)) for one in answer)


def _link(runs: Iterable[Kept]) -> None:
    """Let them point to each other instead of to what stands for them."""
    by_turn = {one.turn: one.run for one in runs}
    for run in by_turn.values():
        for name in _POINTERS:
            pointed = getattr(run, name)
            if pointed is not None:
                setattr(run, name, by_turn.get(turn_of(pointed), pointed))
        run.follows = [by_turn.get(turn_of(one), one) for one in run.follows]


def _forget_after(run: Run, place: str) -> None:
    if run.followed is not None and run.followed >= place:
        run.followed = None
    if run.ended_by is not None and run.ended_by.place >= place:
        run.ended_by = None
    if run.superseded_by is not None and run.superseded_by.place >= place:
        run.superseded_by = None


def _sweeps(before: dict[str, Kept]) -> dict[str, Sweep]:
    """The sweeps as they stood at a place."""
    sweeps: dict[str, Sweep] = {}
    for one in sorted(before.values(), key=lambda kept: kept.run.place):
        run, sweep = one.run, sweeps.setdefault(one.run.track, Sweep())
        claim = (run.value, run.negated)
        if run.unknown_start:
            sweep.ended[claim] = run
            continue
        sweep.latest[claim] = run
        sweep.ended.pop(claim, None)
        if not run.negated:
            sweep.current = run
    return sweeps


def _with_near(result: Refolded) -> Generator[Ask, Any, Refolded]:
    """Read what the changed ones point to, so that whoever keeps them can point there too."""
    result.on = [one for one in result.on if kept(one.run) != one.state]
    changed = [one.run for one in result.on if one.run.fact().content != one.content]
    here = {one.turn for one in result.on} | {turn_of(run) for run in result.runs}
    wanted = {
        turn_of(run)
        for one in (*changed, *result.runs)
        for run in (one.supersedes, one.superseded_by)
        if run is not None
    }
    near: dict[str, Kept] = {}
    yield from _read(wanted - here, near, {})
    result.near = list(near.values())
    return result
