"""What is true of every fold, whatever was said."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from memstream.folds.facts import Fact, Said, TakenBack, fold, known_at

DATES = ["2019", "2020", "2020-02", "2020-02-03", "2020-02-03T10:00", "2020-05", "2021", "2021-06-01"]
MOMENTS = [f"2020-{month:02}-0{day}T1{hour}:00:00.000000Z" for month in (1, 2, 5) for day in (3, 4) for hour in (0, 1)]


@st.composite
def assertions(draw: st.DrawFn, single: bool = True) -> list[Said]:
    """A slot's assertions: few values, few dates, so that they meet."""
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from("abc"),
                st.sampled_from(MOMENTS),
                st.booleans(),
                st.none() | st.sampled_from(DATES),
                st.none() | st.sampled_from(DATES),
            ),
            max_size=9,
        )
    )
    return [
        Said(
            id=f"i{number}",
            value=value,
            said_at=said_at,
            key=f"{said_at}\x1f{number:02}",
            slot="s",
            claim=f"claim {value}",
            single=single,
            negated=negated,
            valid_from=start,
            valid_to=end,
            recorded_at=f"{number:02}",
        )
        for number, (value, said_at, negated, start, end) in enumerate(rows)
    ]


def spans(facts: tuple[Fact, ...]) -> list[tuple[str, str]]:
    """The times with a known start, each as a half-open span of texts; an open end is after all texts."""
    return sorted((f.valid_from, f.valid_to or "~") for f in facts if f.valid_from is not None)


def overlapping(facts: tuple[Fact, ...]) -> bool:
    """Whether two of them hold at one time."""
    known = [span for span in spans(facts) if span[0] < span[1]]
    return any(a[1] > b[0] for a, b in itertools.pairwise(known))


@given(assertions(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_and_repetition_do_not_matter(said: list[Said], random: object) -> None:
    """A permutation with duplicates folds to the same facts."""
    shuffled = said + said[: len(said) // 2]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert fold(shuffled) == fold(said)


@given(assertions())
def test_one_value_at_a_time(said: list[Said]) -> None:
    """In a single-valued slot no two values hold at one time, and at most one holds still."""
    values = tuple(f for f in fold(said) if not f.negated)
    assert not overlapping(values)
    assert sum(f.holds and f.valid_from is not None for f in values) <= 1


@given(assertions())
def test_a_value_is_never_held_and_denied_at_one_time(said: list[Said]) -> None:
    """The facts of one claim, denials included, do not overlap."""
    facts = fold(said)
    for value in "abc":
        assert not overlapping(tuple(f for f in facts if f.value == value))


@given(assertions())
def test_nothing_that_was_said_disappears_or_counts_twice(said: list[Said]) -> None:
    """Each assertion is the source of exactly one fact, of its own value and polarity; each fact has a source."""
    facts = fold(said)
    by_id = {s.id: s for s in said}
    assert Counter(i for f in facts for i in f.sources) == Counter(list(by_id))
    for fact in facts:
        assert fact.sources
        assert fact.shown in fact.sources
        assert {(by_id[i].value, by_id[i].negated) for i in fact.sources} == {(fact.value, fact.negated)}


@given(assertions())
def test_no_fact_ends_before_it_begins(said: list[Said]) -> None:
    """valid_to >= valid_from; a fact without a start has an end; a stated start is one of its sources'."""
    by_id = {s.id: s for s in said}
    for fact in fold(said):
        if fact.valid_from is None:
            assert fact.valid_to is not None
        else:
            assert fact.valid_to is None or fact.valid_to >= fact.valid_from
        if fact.start_known:
            assert fact.valid_from in {by_id[i].valid_from for i in fact.sources}


@given(assertions())
def test_supersedes_is_a_chain_that_goes_back_in_time(said: list[Said]) -> None:
    """Nobody supersedes two or is superseded by two; a successor has another value and does not begin earlier."""
    facts = fold(said)
    by_name = {f.name: f for f in facts}
    links = [(f.supersedes, f.name) for f in facts if f.supersedes]
    assert len({old for old, _ in links}) == len({new for _, new in links}) == len(links)
    for old, new in links:
        assert by_name[old].superseded_by == new
        assert by_name[old].value != by_name[new].value
        assert not by_name[old].holds
        assert not by_name[old].negated
        assert not by_name[new].negated
        assert (by_name[old].valid_to or "") <= (by_name[new].valid_from or "")


@given(assertions(), st.sets(st.integers(0, 8)))
def test_a_retraction_is_the_same_as_not_having_said_it(said: list[Said], gone: set[int]) -> None:
    """Folding with retractions equals folding what is left."""
    taken_back = [TakenBack(f"r{n}", assertion=f"i{n}") for n in gone]
    assert fold(said, taken_back) == fold([s for s in said if s.id not in {f"i{n}" for n in gone}])


@given(assertions(single=False))
def test_values_that_stand_side_by_side_are_folded_alone(said: list[Said]) -> None:
    """Without a rule of one value at a time, each value's facts are those of its own assertions."""
    facts = fold(said)
    assert not any(f.supersedes for f in facts)
    for value in "abc":
        assert tuple(f for f in facts if f.value == value) == fold([s for s in said if s.value == value])


@given(assertions(), st.sampled_from([f"{n:02}" for n in range(9)]))
def test_what_was_known_is_the_fold_of_what_was_recorded(said: list[Said], moment: str) -> None:
    """What is recorded later changes nothing of what was known."""
    assert fold(*known_at(said, [], moment)) == fold([s for s in said if s.recorded_at <= moment])
