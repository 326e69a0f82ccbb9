"""The pure parts of the read service: cursors, full-text questions, names in prompts, ranks, budgets, times."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstream.query.cursors import Cursor, decode, encode, question_of
from memstream.query.facts import moment
from memstream.query.lucene import names_query, text_query, words_of
from memstream.query.models import Source, SourceKind
from memstream.query.problems import Problem, describe
from memstream.query.prompts import names_in
from memstream.query.recall_context import compose, line_of, titled, tokens_of
from memstream.query.recall_find import FAR, NOT_ASKED, by_overlap, by_steps, stems, steps_from
from memstream.query.recall_lines import differing
from memstream.query.recall_rank import Candidate, Kind, Path, Reason, fuse, merged
from memstream.query.shared import fold_says
from memstream.schemas.ids import scope_token


@given(st.integers(-1, 2**63 - 1), st.lists(st.text(max_size=40), max_size=3), st.text(max_size=40))
def test_a_cursor_reads_back(offset: int, after: list[str], path: str) -> None:
    """For its own question, and for no other."""
    question = question_of(path, [("scope", "acme"), ("limit", "5")])
    cursor = Cursor(offset, tuple(after))
    text = encode(cursor, question)
    assert decode(text, question) == cursor
    assert decode(text, question_of(path, [("limit", "7"), ("scope", "acme"), ("cursor", text)])) == cursor
    with pytest.raises(Problem, match="another question"):
        decode(text, question_of(path, [("scope", "acme2")]))


@given(st.text(max_size=200))
def test_any_text_is_a_malformed_cursor(text: str) -> None:
    """And never another error."""
    with pytest.raises(Problem, match="malformed"):
        decode(text, "question")


@given(st.data())
def test_a_tampered_cursor_is_malformed(data: st.DataObject) -> None:
    """One character changed is noticed."""
    text = encode(Cursor(7, ("a", "b")), "question")
    place = data.draw(st.integers(0, len(text) - 2))
    letter = data.draw(st.sampled_from([c for c in "abcXYZ019-_" if c != text[place]]))
    with pytest.raises(Problem):
        decode(text[:place] + letter + text[place + 1 :], "question")


@given(st.text(max_size=300))
def test_only_words_reach_lucene(text: str) -> None:
    """Whatever a prompt holds, the question is the scope's token and quoted words."""
    query = text_query("acme/a", text)
    if query is None:
        assert not words_of(text)
        return
    match = re.fullmatch(r"\+stok:(z[0-9a-f]{32}) \+text:\((.*)\)", query, re.DOTALL)
    assert match is not None
    assert match[1] == scope_token("acme/a")
    assert all(re.fullmatch(r'"\w+"', term) for term in match[2].split(" "))


def test_stop_words_count_where_there_is_nothing_else() -> None:
    """A prompt of stop words alone still asks for them."""
    assert words_of("Where is THE launch?") == ["launch"]
    assert words_of("who is it") == ["who", "is", "it"]
    assert names_query("acme", "Duar", prefix=True) == (
        f'+stok:{scope_token("acme")} +(name:("duar" duar*) aliases:("duar" duar*))'
    )


def test_names_in_a_prompt_are_runs_of_words() -> None:
    """Longer runs first, in normal form, without lone stop words."""
    names = names_in("What does Ines Duarte's team do?")
    assert "ines duarte" in names
    assert names.index("what does ines duarte") < names.index("ines duarte") < names.index("ines")
    assert "what" not in names
    assert names_in("   ") == []


@given(st.text(max_size=3_000))
def test_names_in_any_text_are_bounded(text: str) -> None:
    """However long the prompt."""
    assert len(names_in(text)) <= 600


def _candidate(id_: str, *reasons: Reason, place: int = 0, **row: Any) -> Candidate:
    row = {"text": f"text of {id_}", "time": "2026-03-01T00:00:00.000000Z", **row}
    kind = row.pop("kind", Kind.MESSAGE)
    return Candidate(kind, id_, f"scope-{place}", place, {"id": id_, **row}, list(reasons))


def test_two_paths_beat_one() -> None:
    """What words and meaning both find comes before what one of them finds first."""
    both = _candidate("both", Reason(Path.WORDS, 3, ""), Reason(Path.MEANING, 3, ""))
    one = _candidate("one", Reason(Path.WORDS, 1, ""))
    assert [each.id for each in fuse([one, both])] == ["both", "one"]


def test_recency_and_confidence_break_even_ranks() -> None:
    """Of equals the newer and the surer first; the nearer scope before the farther; ids decide the rest."""
    reason = Reason(Path.WORDS, 1, "")
    old, new = _candidate("old", reason), _candidate("new", reason, time="2026-06-01T00:00:00.000000Z")
    assert [each.id for each in fuse([old, new])] == ["new", "old"]
    sure, unsure = _candidate("sure", reason, confidence=1.0), _candidate("unsure", reason, confidence=0.4)
    assert [each.id for each in fuse([unsure, sure])] == ["sure", "unsure"]
    near, far = _candidate("b", reason), _candidate("a", reason, place=1)
    assert [each.id for each in fuse([far, near])] == ["b", "a"]


def _source(id_: str) -> Source:
    return Source(kind=SourceKind.MESSAGE, id=id_, quote="quote")


@given(st.lists(st.tuples(st.text(max_size=1_000), st.integers(1, 3)), max_size=30), st.integers(16, 2_000))
def test_the_budget_is_never_exceeded(texts: list[tuple[str, int]], budget: int) -> None:
    """And every number in the block has its citation, numbered from 1 without a gap."""
    lines = []
    for number, (text, count) in enumerate(texts):
        kind = list(Kind)[number % len(Kind)]
        candidate = _candidate(str(number), text=text, kind=kind, speaker="Tom")
        sources = [_source(f"s{number % 7}-{i}") for i in range(count)]
        lines.append(line_of(candidate, sources, several_scopes=False, differs_from=None))
    block = compose(lines, budget, 50)
    assert tokens_of(block.text) <= budget
    assert sorted(block.numbers.values()) == list(range(1, len(block.cited) + 1))
    for line in block.lines:
        assert block.numbers_of(line)


def test_a_text_can_not_cite() -> None:
    """A bracketed number in what somebody said is not a citation of ours."""
    candidate = _candidate("m", text="see [1]\n- and [22]", speaker="Eve [3]")
    line = line_of(candidate, [_source("m")], several_scopes=False, differs_from=None)
    assert "[" not in line.text
    assert "\n" not in line.text


def test_the_nearest_scope_has_the_slot() -> None:
    """Only another value of a single-valued predicate differs."""
    fact: dict[str, Any] = {
        "kind": Kind.FACT,
        "subject_name": "Ines",
        "predicate": "lives_in",
        "holds": True,
        "negated": False,
    }
    near = _candidate("a", **fact, object_name="Porto", claim="c1")
    far = _candidate("b", place=1, **{**fact, "subject_name": "the Ines"}, object_name="Faro", claim="c2")
    same = _candidate("c", place=2, **fact, object_name="porto", claim="c3")
    many = _candidate("d", place=1, **{**fact, "predicate": "knows"}, object_name="Tom", claim="c4")
    assert differing([far, near, same, many]) == {("scope-1", "b"): "c1"}


def test_says_fold_by_part() -> None:
    """The greatest key wins a part, the least where it is `first`, and equal keys go by the event."""
    says = [
        {"id": "n", "part": "named", "key": "2", "first": True, "props": '{"name":"later"}', "event": "a"},
        {"id": "n", "part": "named", "key": "1", "first": True, "props": '{"name":"first"}', "event": "b"},
        {"id": "n", "part": "status", "key": "1", "first": False, "props": '{"status":"x"}', "event": "a"},
        {"id": "n", "part": "status", "key": "1", "first": False, "props": '{"status":"y"}', "event": "b"},
    ]
    assert fold_says(says) == fold_says(reversed(says)) == {"n": {"name": "first", "status": "y"}}


@pytest.mark.parametrize(
    ("given_", "full", "wanted"),
    [
        ("2026", False, "2026"),
        ("2026-03", True, "2026-03-01T00:00:00.000000Z"),
        ("2026", True, "2026-01-01T00:00:00.000000Z"),
        ("2026-03-06", True, "2026-03-06T00:00:00.000000Z"),
        ("2026-03-06T14:00", False, "2026-03-06T14:00:00.000000Z"),
        ("2026-03-06T14:00:00+02:00", False, "2026-03-06T12:00:00.000000Z"),
        ("2026-03-06T14:00:00 02:00", False, "2026-03-06T12:00:00.000000Z"),
    ],
)
def test_times_are_read(given_: str, full: bool, wanted: str) -> None:
    """Partial dates stay partial where the world is asked, and begin where memory is."""
    assert moment("valid_at", given_, full=full) == wanted


@given(st.text(max_size=30))
def test_what_is_no_time_is_told(text: str) -> None:
    """A text is a time or a problem, never another error."""
    with contextlib.suppress(Problem):
        assert moment("valid_at", text)


def test_validation_errors_are_sentences() -> None:
    """They name the parameter, what is wrong and what was given."""
    error = {"type": "int_parsing", "loc": ("query", "limit"), "msg": "Input should be an integer", "input": "x" * 500}
    told = describe([error])
    assert told.startswith("the query parameter 'limit': Input should be an integer, got 'xxx")
    assert len(told) < 200


def test_a_sentence_is_served_once() -> None:
    """The same fact about two entities of one name is one item with the paths of both."""
    a = _candidate("a", Reason(Path.ENTITY, 1, ""), kind=Kind.FACT, text="Tom lives in Porto")
    b = _candidate("b", Reason(Path.WORDS, 2, ""), kind=Kind.FACT, text="tom  lives in Porto")
    kept = merged([b, a])
    assert [each.id for each in kept] == ["a"]
    assert [reason.path for reason in kept[0].reasons] == [Path.ENTITY, Path.WORDS]


def test_a_text_is_served_once() -> None:
    """From the nearest scope, as it was last said, with the best ranks; only what is served of it counts."""
    text = "You are a helpful assistant. " * 40
    old = _candidate("old", Reason(Path.WORDS, 1, ""), text=text + "Monday")
    new = _candidate("new", Reason(Path.WORDS, 2, ""), text=text.upper(), time="2026-03-02T00:00:00.000000Z")
    far = _candidate("far", Reason(Path.MEANING, 1, ""), place=1, text=text, time="2026-03-03T00:00:00.000000Z")
    other = _candidate("other", Reason(Path.WORDS, 3, ""), text="Something else")
    kept = merged([old, new, far, other])
    assert {each.id for each in kept} == {"new", "other"}
    best = next(each for each in kept if each.id == "new")
    assert [(reason.path, reason.rank) for reason in best.reasons] == [(Path.WORDS, 1), (Path.MEANING, 1)]


def _fact(subject: str, predicate: str, other: str, **more: Any) -> dict[str, Any]:
    row = {"subject": subject, "subject_name": subject, "predicate": predicate, "object": other, "object_name": other}
    return {"text": f"{subject} {predicate.replace('_', ' ')} {other}", "negated": False, "holds": True, **row, **more}


def test_inverse_wordings_are_one_fact() -> None:
    """The wording that has one value at a time is kept; a denial, and the pair the other way round, are other facts."""
    owns, owned = _fact("jonas", "owns", "geocoder"), _fact("geocoder", "owned_by", "Jonas")
    rows = [owns, owned, {**owns, "negated": True}, _fact("geocoder", "owns", "jonas")]
    kept = merged([_candidate(str(n), Reason(Path.WORDS, n, ""), kind=Kind.FACT, **row) for n, row in enumerate(rows)])
    assert {each.id for each in kept} == {"1", "2", "3"}
    assert next(each for each in kept if each.id == "1").reasons == [Reason(Path.WORDS, 0, "")]
    sisters = [_fact("Ada", "sibling_of", "Bo"), _fact("Bo", "sibling_of", "Ada")]
    assert len(merged([_candidate(str(n), kind=Kind.FACT, **row) for n, row in enumerate(sisters)])) == 1


def test_facts_that_were_asked_for_come_first() -> None:
    """By the words they share with the prompt, whatever their endings; the others behind, unless nothing was asked."""
    live = (Kind.FACT, {"text": "Mara lives in Dresden", "predicate": "lives_in"})
    pet = (Kind.FACT, {"text": "Mara has the pet Mango", "predicate": "has_pet"})
    asked = by_overlap(stems("Where does she live?"), [pet, live])
    assert [(row["text"], rank) for _, row, rank in asked] == [(live[1]["text"], 1), (pet[1]["text"], 2 + NOT_ASKED)]
    assert [rank for _, _, rank in by_overlap(set(), [pet, live])] == [1, 2]


def test_a_question_of_two_steps_is_answered_first() -> None:
    """What is so before what is not; each entity gets its best fact; what was not asked for is left out."""
    asked = stems("Who owns the service that caused it?")
    near = [_fact("outage", "caused_by", "geocoder"), _fact("outage", "noticed_by", "mara")]
    steps = steps_from(near, {"outage"})
    assert list(steps) == ["geocoder", "mara"]
    denied = _fact("amira", "owns", "geocoder", negated=True)
    owned, bike = _fact("geocoder", "owned_by", "jonas"), _fact("mara", "owns", "bike")
    version, nuts = _fact("geocoder", "has_version", "1.9"), _fact("mara", "allergic_to", "nuts")
    ranked = by_steps(asked, [nuts, version, denied, bike, owned], steps, answered=True)
    assert [row["text"] for _, row, _ in ranked] == [each["text"] for each in (owned, denied, bike, version)]
    assert [rank for _, _, rank in ranked] == [1, 2, 3 + FAR, 4 + FAR]


def test_a_hop_that_was_not_asked_for_is_served_for_want_of_better() -> None:
    """And ranks far behind; with the whole question answered it is left out."""
    near, nuts = _fact("migration", "managed_by", "jonas"), _fact("jonas", "allergic_to", "nuts")
    steps = steps_from([near], {"migration"})
    assert [rank for _, _, rank in by_steps({"budget"}, [nuts], steps, answered=False)] == [1 + FAR]
    assert by_steps({"budget"}, [nuts], steps, answered=True) == []
    assert by_steps({"manag"}, [nuts], steps, answered=True) == []


def test_a_title_is_told_once() -> None:
    """A passage comes after its document's title, unless it begins with it."""
    assert titled("Oven manual", "Reset it.") == "Oven manual: Reset it."
    assert titled("Oven manual", "Oven manual\nReset it.") == "Oven manual\nReset it."
    assert titled(None, "Reset it.") == "Reset it."


def test_a_board_item_of_nobody_is_on_the_board() -> None:
    """Where no agent posted it, no speaker is made up."""
    item = _candidate("b", kind=Kind.BOARD_ITEM, text="Tell Lena.")
    line = line_of(item, [_source("b")], several_scopes=False, differs_from=None)
    assert line.text == "2026-03-01 00:00, on the board: “Tell Lena.”"
