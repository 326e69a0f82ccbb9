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
from memstream.query.recall_context import compose, line_of, tokens_of
from memstream.query.recall_find import NOT_ASKED, by_overlap, stems
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
    """The same fact about two entities of one name is one item with the paths of both; messages stay apart."""
    a = _candidate("a", Reason(Path.ENTITY, 1, ""), kind=Kind.FACT, text="Tom lives in Porto")
    b = _candidate("b", Reason(Path.WORDS, 2, ""), kind=Kind.FACT, text="tom  lives in Porto")
    said = [_candidate(name, Reason(Path.WORDS, 1, ""), text="hello") for name in ("c", "d")]
    kept = merged([a, b, *said])
    assert [each.id for each in kept] == ["a", "c", "d"]
    assert [reason.path for reason in kept[0].reasons] == [Path.ENTITY, Path.WORDS]


def test_facts_that_were_asked_for_come_first() -> None:
    """By the words they share with the prompt, whatever their endings; the others behind, unless nothing was asked."""
    live = (Kind.FACT, {"text": "Mara lives in Dresden", "predicate": "lives_in"})
    pet = (Kind.FACT, {"text": "Mara has the pet Mango", "predicate": "has_pet"})
    asked = by_overlap(stems("Where does she live?"), [pet, live])
    assert [(row["text"], rank) for _, row, rank in asked] == [(live[1]["text"], 1), (pet[1]["text"], 2 + NOT_ASKED)]
    assert [rank for _, _, rank in by_overlap(set(), [pet, live])] == [1, 2]
