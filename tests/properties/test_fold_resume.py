"""The fold taken up again: whatever comes and goes, in whatever order and batches, it is what the whole fold says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from memstream.folds.facts import Fact, Said, TakenBack, fold, standing
from memstream.folds.resume import (
    Ask,
    At,
    Changed,
    Kept,
    RunsFrom,
    SaidFrom,
    kept,
    lead_of,
    refold,
    taken_up,
    turn_of,
)
from memstream.folds.runs import Run, Sweep

DATES = ["2019", "2020", "2020-02", "2020-02-03", "2020-02-03T10:00", "2020-05", "2021", "2021-06-01"]
MOMENTS = [f"2020-{month:02}-0{day}T1{hour}:00:00.000000Z" for month in (1, 2, 5) for day in (3, 4) for hour in (0, 1)]


class Keeper:
    """A slot whose runs are kept as texts, as a graph keeps them."""

    def __init__(self) -> None:
        self.said: dict[str, Said] = {}
        self.taken_back: dict[str, TakenBack] = {}
        self.states: dict[str, str] = {}
        self.sources: dict[str, set[str]] = {}
        self.read = 0

    def standing(self) -> list[Said]:
        """What was not taken back."""
        return standing(self.said.values(), self.taken_back.values())

    def change(self, changed: Changed) -> None:
        """Let the fold go on, answering what it asks for."""
        asks = refold(changed)
        answer: Any = None
        while True:
            try:
                ask = asks.send(answer)
            except StopIteration as done:
                self.keep(done.value.gone, done.value.runs, done.value.on, done.value.near)
                return
            answer = self.answer(ask)
            self.read += len(answer)

    def answer(self, ask: Ask) -> list[Any]:
        """What is kept, as far as it is asked for: each time as new objects."""
        if isinstance(ask, SaidFrom):
            return [said for said in self.standing() if said.place >= ask.place]
        runs = [taken_up(state, turn) for turn, state in self.states.items()]
        if isinstance(ask, RunsFrom):
            return [one for one in runs if one.run.last_place >= ask.place]
        if isinstance(ask, At):
            return [one for one in runs if one.turn in ask.turns]
        found: dict[str, Kept] = {}
        for rows, key in ((ask.leads, lead_of), (ask.turns, turn_of)):
            for row in rows:
                line = [one for one in runs if (key(one.run) or "").startswith(row) and one.run.place < ask.place]
                if line:
                    last = max(line, key=lambda one: one.run.place)
                    found[last.turn] = last
        return list(found.values())

    def keep(self, gone: list[Kept], runs: list[Run], on: list[Kept], near: list[Kept]) -> None:
        """Keep what came out of it."""
        for one in gone:
            del self.states[one.turn], self.sources[one.turn]
        assert all(one.turn in self.states for one in (*on, *near))
        for run in [*runs, *(one.run for one in on)]:
            turn = turn_of(run)
            self.states[turn] = kept(run)
            self.sources[turn] = self.sources.get(turn, set()) | set(run.added)

    def facts(self) -> list[tuple[Fact, list[str]]]:
        """The facts that are kept, with all their sources, in the order in which they begin."""
        runs = sorted(((taken_up(s).run, t) for t, s in self.states.items()), key=lambda pair: pair[0].place)
        return [(run.fact(), sorted(self.sources[turn])) for run, turn in runs]


def whole(said: Iterable[Said], taken_back: Iterable[TakenBack]) -> dict[str, str]:
    """The kept runs of a fold from the beginning."""
    tracks: dict[str, Sweep] = {}
    for one in standing(said, taken_back):
        tracks.setdefault(one.track, Sweep()).take(one)
    return {turn_of(run): kept(run) for sweep in tracks.values() for run in sweep.runs}


@st.composite
def assertions(draw: st.DrawFn, most: int = 12) -> list[Said]:
    """A slot's assertions: few values, few dates, so that they meet."""
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from("abc"),
                st.sampled_from(MOMENTS),
                st.sampled_from((False, False, True)),
                st.none() | st.none() | st.sampled_from(DATES),
                st.none() | st.none() | st.sampled_from(DATES),
                st.sampled_from((True, True, True, False)),
            ),
            max_size=most,
        )
    )
    return [
        Said(
            id=f"i{number:02}",
            value=value,
            said_at=said_at,
            key=f"{said_at}\x1f{number:02}",
            slot="s",
            claim=f"claim {value}",
            single=single,
            negated=negated,
            valid_from=start,
            valid_to=end,
            confidence=0.5 + number / 100,
        )
        for number, (value, said_at, negated, start, end, single) in enumerate(rows)
    ]


def compared(keeper: Keeper) -> None:
    """What is kept is what the whole fold gives, to the last pointer."""
    wanted = fold(keeper.said.values(), keeper.taken_back.values())
    facts = keeper.facts()
    assert [sources for _, sources in facts] == [sorted(fact.sources) for fact in wanted]
    for (fact, _), whole_fact in zip(facts, wanted, strict=True):
        assert fact.content == whole_fact.content
        assert (fact.support, fact.said_last, fact.confidence, fact.supersedes) == (
            whole_fact.support,
            whole_fact.said_last,
            whole_fact.confidence,
            whole_fact.supersedes,
        )
    assert keeper.states == whole(keeper.said.values(), keeper.taken_back.values())


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data(), said=assertions())
def test_new_ones_in_any_order_and_batches_are_the_whole_fold(data: st.DataObject, said: list[Said]) -> None:
    """After each batch."""
    left = data.draw(st.permutations(said))
    keeper = Keeper()
    while left:
        size = data.draw(st.integers(1, 4))
        batch, left = left[:size], left[size:]
        keeper.said |= {one.id: one for one in batch}
        keeper.change(Changed(new=tuple(batch)))
        compared(keeper)


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data(), said=assertions(9))
def test_what_goes_and_comes_back_is_folded_again(data: st.DataObject, said: list[Said]) -> None:
    """Erased, taken back by id, taken back by claim, and a retraction that goes itself."""
    left = data.draw(st.permutations(said))
    keeper = Keeper()
    for one in left:
        keeper.said[one.id] = one
        new = () if any(r.assertion == one.id or r.covers(one) for r in keeper.taken_back.values()) else (one,)
        places, everything = [], False
        kind = data.draw(st.sampled_from(("", "", "gone", "id", "claim", "back")))
        other = keeper.said[data.draw(st.sampled_from(sorted(keeper.said)))]
        if kind == "gone" and other.id != one.id:
            del keeper.said[other.id]
            places = [other.place]
        elif kind == "id" and other.id != one.id:
            keeper.taken_back["r" + other.id] = TakenBack("r" + other.id, assertion=other.id)
            places = [other.place]
        elif kind == "claim":
            row = TakenBack("c" + other.id, slot="s", claim=other.claim, said_before=other.said_at)
            keeper.taken_back[row.id] = row
            everything = True
        elif kind == "back" and keeper.taken_back:
            del keeper.taken_back[data.draw(st.sampled_from(sorted(keeper.taken_back)))]
            everything = True
        if new or places or everything:
            keeper.change(Changed(() if everything else new, tuple(places), everything))
        compared(keeper)


def test_one_more_of_very_many_reads_a_handful() -> None:
    """Of one claim or of many in turn, said last or a little late: what is read does not grow with what was said."""
    for values in ("a", "ab"):
        keeper = Keeper()
        for number in range(150):
            moment = f"2020-02-03T10:{number // 60:02}:{number % 60:02}.000000Z"
            value = values[number % len(values)]
            one = Said(f"i{number:03}", value, moment, f"{moment}|{number}", "s", f"claim {value}")
            keeper.said[one.id] = one
            keeper.read = 0
            keeper.change(Changed(new=(one,)))
            assert keeper.read <= 6
        late = Said(
            "late", values[-1], "2020-02-03T10:02:27.5Z", "2020-02-03T10:02:27.5Z|x", "s", f"claim {values[-1]}"
        )
        keeper.said[late.id] = late
        keeper.read = 0
        keeper.change(Changed(new=(late,)))
        assert keeper.read <= 20
        compared(keeper)
