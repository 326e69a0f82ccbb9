"""What follows from what was said: the rules of the fold, one by one."""

from __future__ import annotations

import pytest

from memstream.folds.facts import Fact, Said, TakenBack, fold, known_at


def said(value: str, at: str, **more: object) -> Said:
    """One assertion about where someone lives, named after its value and time."""
    fields: dict[str, object] = {"id": f"{value}@{at}", "key": at, "slot": "s", "claim": f"c:{value}"}
    return Said(value=value, said_at=at, **{**fields, **more})  # type: ignore[arg-type]


def spans(facts: tuple[Fact, ...]) -> list[str]:
    """Facts as short texts: `value [from, to)`, with a `not` before a denial and a star where it holds."""
    return [
        f"{'not ' if f.negated else ''}{f.value} [{f.valid_from or '?'}, {f.valid_to or ''}){'*' if f.holds else ''}"
        for f in facts
    ]


def chain(facts: tuple[Fact, ...]) -> list[tuple[str, str]]:
    """Which value supersedes which."""
    by_name = {f.name: f.value for f in facts}
    return [(f.value, by_name[f.supersedes]) for f in facts if f.supersedes]


def test_a_single_statement_is_a_fact_that_holds_from_when_it_was_said() -> None:
    """Without a date, what is said holds from the time of saying, and no start is claimed."""
    (fact,) = fold([said("paris", "2026-03-01")])
    assert (fact.valid_from, fact.valid_to, fact.start_known, fact.holds) == ("2026-03-01", None, False, True)


def test_equal_neighbours_are_one_fact_with_several_sources() -> None:
    """The same value said again adds a source."""
    (fact,) = fold([said("paris", "2026-03-01"), said("paris", "2026-04-01", confidence=0.5)])
    assert fact.sources == ("paris@2026-03-01", "paris@2026-04-01")
    assert (fact.said_first, fact.said_last, fact.confidence) == ("2026-03-01", "2026-04-01", 1.0)


def test_a_new_value_ends_the_one_before_and_supersedes_it() -> None:
    """A move of house: the old home ends where the new one begins."""
    facts = fold([said("paris", "2026-03-01"), said("berlin", "2026-05-02", valid_from="2026-05")])
    assert spans(facts) == ["paris [2026-03-01, 2026-05)", "berlin [2026-05, )*"]
    assert chain(facts) == [("berlin", "paris")]


def test_a_value_that_began_earlier_and_is_heard_later_goes_before() -> None:
    """What is said last does not win: what begins last does."""
    facts = fold([said("berlin", "2026-03-01"), said("paris", "2026-04-01", valid_from="2012")])
    assert spans(facts) == ["paris [2012, 2026-03-01)", "berlin [2026-03-01, )*"]


def test_an_end_point_ends_only_its_own_value() -> None:
    """Paris from 2010 to 2015 leaves nothing in its place until something else begins."""
    facts = fold([said("paris", "2026-01-01", valid_from="2010", valid_to="2015"), said("rome", "2026-01-02")])
    assert spans(facts) == ["paris [2010, 2015)", "rome [2026-01-02, )*"]
    assert chain(facts) == []


def test_an_unknown_start_leaves_other_values_alone() -> None:
    """'Lived in Paris until 2015' says nothing of Berlin."""
    facts = fold([said("berlin", "2026-01-01", valid_from="2010"), said("paris", "2026-02-01", valid_to="2015")])
    assert spans(facts) == ["berlin [2010, )*", "paris [?, 2015)"]
    assert chain(facts) == []


def test_an_end_told_without_its_start_ends_the_value_that_was_open() -> None:
    """Paris since 2010, then 'lived in Paris until 2015': one stay with two sources."""
    facts = fold([said("paris", "2011-01-01", valid_from="2010"), said("paris", "2026-02-01", valid_to="2015")])
    assert spans(facts) == ["paris [2010, 2015)"]
    assert len(facts[0].sources) == 2


def test_of_two_end_points_the_one_said_last_counts() -> None:
    """An end can be corrected, whichever is heard first."""
    stay = said("paris", "2016-01-01", valid_from="2010", valid_to="2015")
    assert spans(fold([stay, said("paris", "2020-01-01", valid_to="2016")])) == ["paris [2010, 2016)"]
    assert spans(fold([stay, said("paris", "2015-12-31", valid_to="2013")])) == ["paris [2010, 2015)"]


def test_an_end_at_the_start_of_the_next_value_still_lets_it_supersede() -> None:
    """Paris until 2015 and Berlin since March 2015 are one change, the end just less precise."""
    facts = fold(
        [
            said("paris", "2020-01-01", valid_from="2010", valid_to="2015"),
            said("berlin", "2020-01-02", valid_from="2015-03"),
        ]
    )
    assert spans(facts) == ["paris [2010, 2015)", "berlin [2015-03, )*"]
    assert chain(facts) == [("berlin", "paris")]


def test_an_end_to_come_is_kept_and_the_fact_holds() -> None:
    """'I am in Paris until 2027', said in 2026: it holds, it replaces Berlin, and its end is known."""
    facts = fold([said("berlin", "2026-01-01"), said("paris", "2026-02-01", valid_to="2027")])
    assert spans(facts) == ["berlin [2026-01-01, 2026-02-01)", "paris [2026-02-01, 2027)*"]


def test_a_negation_ends_only_the_value_that_it_names_and_has_no_successor() -> None:
    """No longer in Paris: Paris ends, nothing takes its place, and the denial is a fact of its own."""
    facts = fold([said("paris", "2026-01-01"), said("paris", "2026-02-01", negated=True, id="n")])
    assert spans(facts) == ["paris [2026-01-01, 2026-02-01)", "not paris [2026-02-01, )*"]
    assert chain(facts) == []
    others = fold([said("berlin", "2026-01-01"), said("paris", "2026-02-01", negated=True)])
    assert spans(others) == ["berlin [2026-01-01, )*", "not paris [2026-02-01, )*"]


def test_a_negation_counts_from_its_own_place_whatever_came_first() -> None:
    """A denial that is older than the assertion denies nothing of it, and ends where it begins."""
    facts = fold([said("paris", "2026-01-01", negated=True, id="n"), said("paris", "2026-02-01")])
    assert spans(facts) == ["not paris [2026-01-01, 2026-02-01)", "paris [2026-02-01, )*"]


def test_nothing_resumes_unless_it_is_said_again() -> None:
    """After a stay inside another one the first does not come back by itself."""
    berlin = said("berlin", "2026-01-01", valid_from="2010")
    paris = said("paris", "2026-01-02", valid_from="2012", valid_to="2015")
    assert spans(fold([berlin, paris])) == ["berlin [2010, 2012)", "paris [2012, 2015)"]
    again = fold([berlin, paris, said("berlin", "2026-03-01")])
    assert spans(again)[-1] == "berlin [2026-03-01, )*"


def test_the_same_value_at_two_disjoint_times_is_two_facts() -> None:
    """Two stays in Paris with Rome between them."""
    facts = fold([said("paris", "2026-01-01"), said("rome", "2026-02-01"), said("paris", "2026-03-01")])
    assert [f.value for f in facts] == ["paris", "rome", "paris"]
    assert facts[0].claim == facts[2].claim
    assert chain(facts) == [("rome", "paris"), ("paris", "rome")]


def test_a_value_that_ends_at_the_moment_the_next_begins_is_superseded_in_either_order() -> None:
    """'I left Acme and joined Globex', in one message: whichever clause stands first."""
    acme = said("acme", "2026-01-01")
    for left, joined in (("2", "3"), ("3", "2")):
        facts = fold(
            [
                acme,
                said("acme", "2026-02-01", negated=True, id="n", key=left),
                said("globex", "2026-02-01", key=joined),
            ]
        )
        assert chain(facts) == [("globex", "acme")]
        assert {f.valid_to for f in facts if f.value == "acme" and not f.negated} == {"2026-02-01"}


def test_a_move_dated_by_the_period_it_is_said_in_follows_what_was_said_earlier_in_it() -> None:
    """'I live in Paris' at nine and 'I moved to Berlin today' at ten: Berlin is where they live."""
    facts = fold(
        [said("paris", "2026-03-06T09:00:00Z"), said("berlin", "2026-03-06T10:00:00Z", valid_from="2026-03-06")]
    )
    assert spans(facts) == [
        "paris [2026-03-06T09:00:00Z, 2026-03-06T10:00:00Z)",
        "berlin [2026-03-06T10:00:00Z, )*",
    ]


def test_a_move_dated_by_its_period_begins_with_it_where_nothing_stands_against_it() -> None:
    """With no word of the old home in that month, the new one begins with the month."""
    facts = fold([said("paris", "2025-01-01"), said("berlin", "2026-03-06", valid_from="2026-03")])
    assert spans(facts) == ["paris [2025-01-01, 2026-03)", "berlin [2026-03, )*"]
    assert facts[1].start_known


def test_many_values_stand_side_by_side_where_the_predicate_holds_many() -> None:
    """Even in one slot, values of a multi-valued predicate end nothing."""
    facts = fold([said("tea", "2026-01-01", single=False), said("coffee", "2026-01-02", single=False)])
    assert spans(facts) == ["tea [2026-01-01, )*", "coffee [2026-01-02, )*"]


def test_a_retraction_takes_an_assertion_out_as_if_it_had_not_been_said() -> None:
    """Berlin was a mistake: Paris goes on."""
    both = [said("paris", "2026-01-01"), said("berlin", "2026-02-01")]
    by_id = TakenBack("r", assertion="berlin@2026-02-01")
    by_claim = TakenBack("r", slot="s", claim="c:berlin", said_before="2026-03-01")
    assert spans(fold(both, [by_id])) == spans(fold(both, [by_claim])) == ["paris [2026-01-01, )*"]


@pytest.mark.parametrize(
    "retraction",
    [
        TakenBack("r", slot="s", claim="c:paris", said_before="2026-01-01"),
        TakenBack("r", slot="other", claim="c:paris"),
        TakenBack("r", assertion="elsewhere"),
        TakenBack("r", slot="s"),
    ],
    ids=["said later", "another slot", "another assertion", "no claim"],
)
def test_a_retraction_leaves_alone_what_it_does_not_name(retraction: TakenBack) -> None:
    """What is said at or after its bound, or of something else, stays."""
    assert spans(fold([said("paris", "2026-01-01")], [retraction])) == ["paris [2026-01-01, )*"]


def test_an_interval_that_ends_before_it_begins_is_empty() -> None:
    """Nonsense keeps its source and never has an end before its start."""
    (fact,) = fold([said("paris", "2026-01-01", valid_from="2020", valid_to="2015")])
    assert (fact.valid_from, fact.valid_to, fact.holds) == ("2020", "2020", False)


def test_what_was_believed_at_a_time_is_the_fold_of_what_was_recorded_by_then() -> None:
    """A correction recorded in May does not change what was known in April."""
    heard = [
        said("paris", "2026-01-01", recorded_at="2026-01-01"),
        said("berlin", "2026-02-01", recorded_at="2026-05-01"),
    ]
    taken_back = [TakenBack("r", assertion="paris@2026-01-01", recorded_at="2026-06-01")]
    assert spans(fold(*known_at(heard, taken_back, "2026-04-01"))) == ["paris [2026-01-01, )*"]
    assert spans(fold(*known_at(heard, taken_back, "2026-05-15")))[-1] == "berlin [2026-02-01, )*"
    assert spans(fold(*known_at(heard, taken_back, "2026-07-01"))) == ["berlin [2026-02-01, )*"]


def test_the_wording_is_that_of_the_source_said_first() -> None:
    """However the sources are dated, a fact is worded as it was first said."""
    (fact,) = fold([said("paris", "2026-02-01", valid_from="2010"), said("paris", "2026-01-01")])
    assert fact.shown == "paris@2026-01-01"
    assert fact.name == "paris@2026-02-01"
