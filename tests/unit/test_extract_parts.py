"""The parts of extraction: dates, masks, identifiers, tool results, the command."""

from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from memstream.cli.extract import dialogue_row, extract, read_dialogues
from memstream.extractors.dialogue import extract_dialogues
from memstream.extractors.registry import create_extractor
from memstream.extractors.rules.tool_results import normalise_error, read_result, symptom, text_records
from memstream.extractors.rules.ways import patterns, surfaces
from memstream.extractors.text.identifiers import identify
from memstream.extractors.text.textprep import parse_json, prepare
from memstream.extractors.text.times import find_times
from memstream.extractors.text.values import first_money, first_phone, first_version
from memstream.schemas.catalogue import catalogue
from memstream.schemas.errors import InvalidInput
from memstream.schemas.extraction import EntityName

NOW = datetime(2026, 1, 14, 10, 0, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "past", "future"),
    [
        ("the day before yesterday", "2026-01-12", "2026-01-12"),
        ("since Q3", "2025-07", "2026-07"),
        ("until the end of Q3", "2025-09", "2026-09"),
        ("in H1 2025", "2025-01", "2025-01"),
        ("last quarter", "2025-10", "2025-10"),
        ("by FY26", "2026", "2026"),
        ("since New Year's Day", "2026-01-01", "2027-01-01"),
        ("on Christmas Eve 2019", "2019-12-24", "2019-12-24"),
        ("since Christmas", "2025-12-25", "2026-12-25"),
        ("as of 09:40", "2026-01-14T09:40", "2026-01-14T09:40"),
        ("exactly three weeks ago", "2025-12-24", "2025-12-24"),
        ("on Monday", "2026-01-12", "2026-01-19"),
        ("since May", "2025-05", "2026-05"),
        ("two years ago", "2024", "2024"),
        ("last month", "2025-12", "2025-12"),
        ("in spring", "2025", "2026"),
        ("a fortnight from today", "2026-01-28", "2026-01-28"),
        ("on the 18th", "2025-12-18", "2026-01-18"),
        ("due 17 Nov at noon", "2025-11-17T12:00", "2026-11-17T12:00"),
        ("06:00 today", "2026-01-14T06:00", "2026-01-14T06:00"),
        ("December last year", "2025-12", "2025-12"),
        ("2026-03-06T14:00", "2026-03-06T14:00", "2026-03-06T14:00"),
        ("six weeks ago today", "2025-12-03", "2025-12-03"),
        ("on 29 February 2024", "2024-02-29", "2024-02-29"),
        ("since the autumn", "2025", "2026"),
        ("for the last six years", "2020", "2020"),
        ("since 02:36", "2026-01-14T02:36", "2026-01-14T02:36"),
        ("since 22:15", "2026-01-13T22:15", "2026-01-13T22:15"),
        ("an hour ago", "2026-01-14", "2026-01-14"),
        ("since the first of the month", "2026-01-01", "2026-01-01"),
        ("since the first of May", "2025-05-01", "2026-05-01"),
        ("in early 2019", "2019", "2019"),
        ("in '61", "1961", "1961"),
        ("since ’99", "1999", "1999"),
        ("founded 2015", "2015", "2015"),
        ("in 1871", "1871", "1871"),
        ("the last week of February", "2025-02", "2026-02"),
        ("in jan", "2026-01", "2026-01"),
    ],
)
def test_dates_have_the_precision_of_the_text(text: str, past: str, future: str) -> None:
    """Relative dates count from the message's time: backwards in past talk, forwards in future talk."""
    (found,) = find_times(text, NOW)
    assert (found.past, found.future) == (past, future)


@pytest.mark.parametrize(
    "text",
    [
        "it may work",
        "on 31 February 2024",
        "version 3.2",
        "room 2019b",
        "march on!",
        "sat down",
        "the Christmas party",
        "Christmas pudding",
        "Q2 roadmap",
        "every Tuesday",
    ],
)
def test_what_only_looks_like_a_date_is_none(text: str) -> None:
    """Modal verbs, impossible days, versions."""
    assert find_times(text, NOW) == []


def test_a_range_is_a_start_and_an_end() -> None:
    """As in "(2012-2015)" says both."""
    a, b = find_times("Kivu FM (2012-2015)", NOW)
    assert (a.past, a.is_start, b.past, b.is_end) == ("2012", True, "2015", True)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("from May to July", "2025-05", "2025-07"),
        ("between 2019 and 2021", "2019", "2021"),
        ("between 3 May and 7 June", "2025-05-03", "2025-06-07"),
        ("from 2019 until 2021", "2019", "2021"),
    ],
)
def test_an_interval_is_a_start_and_an_end(text: str, start: str, end: str) -> None:
    """Whatever words hold its two dates together."""
    a, b = find_times(text, NOW)
    assert (a.past, a.is_start, b.past, b.is_end) == (start, True, end, True)


def test_code_and_addresses_are_masked_in_place() -> None:
    """Offsets stay: what is left of the text stands where it stood."""
    text = "see `build-arm` at https://x.example/a\n```\nowner: Bo\n```\nRL-77 is open"
    for window in prepare(text).windows:
        for i, c in enumerate(window.text):
            assert c in (" ", text[window.start + i])
    joined = "".join(w.text for w in prepare(text).windows)
    assert "build-arm" in joined
    assert "RL-77" in joined
    assert "Bo" not in joined
    assert "https" not in joined


def test_a_monstrous_text_is_cut_in_words() -> None:
    """Head and tail are read, and the cut is told."""
    prepared = prepare("word " * 40_000)
    assert sum(len(w.text) for w in prepared.windows) <= 5_000
    assert "of 200000 were not read" in prepared.cut[0]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("payments-gw", "Object"), ("RL-77", "Object"), ("eu-west-1", "Location"), ("src/app.py", "Object"),
        ("e41d7aa", "Object"), ("@harrow/forms", "Object"), ("#640", "Object"), ("TimeoutError", "Object"),
    ],
)  # fmt: skip
def test_technical_names_are_known_by_their_form(text: str, kind: str) -> None:
    """Services, tickets, regions, files, commits, packages, error classes."""
    found = identify(text)
    assert found is not None
    assert found.type == kind


@pytest.mark.parametrize("text", ["well-known", "follow-up", "twenty-one", "stand-up", "hello", "2024"])
def test_common_compounds_are_no_names(text: str) -> None:
    """A hyphen alone makes no service."""
    assert identify(text) is None


def test_values_are_found_as_written() -> None:
    """Money with its period, versions without v, whole telephone numbers."""
    assert first_money("it costs 61 dollars a month, I think") == "61 dollars a month"
    assert first_version("v3.2 went live") == "3.2"
    assert first_phone("call +254 700 555 384, or not") == "+254 700 555 384"
    assert first_phone("on 3 May 2024") is None


def as_text(value: object) -> set[str]:
    """The facts of a result."""
    return {
        f"{a.subject.name} | {a.predicate} | {a.object.name if isinstance(a.object, EntityName) else a.object}"
        for a in read_result(value).assertions
    }


def test_a_record_gives_facts_and_names_with_their_paths() -> None:
    """Fields with one meaning become facts; a name says where in the result it stands."""
    value = {
        "items": [{"service": "relay", "owner": "Team Ash", "version": "v5.5.1", "since": "2026-01-04", "cpu": 71}]
    }
    assert as_text(value) == {"relay | owned_by | Team Ash", "relay | has_version | 5.5.1"}
    assert {(n.entity.name, n.path) for n in read_result(value).names} == {
        ("relay", "$.items[0].service"), ("Team Ash", "$.items[0].owner"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [{}, [], {"a": [1, 2]}, {"host": "ember-2", "cpu": 71}, {"error": "x", "resource": "y", "owner": "z"}, None, 3],
)
def test_measurements_and_failures_are_no_facts(value: object) -> None:
    """What has no certain meaning stays out."""
    assert as_text(value) == set()


def test_tables_and_key_lines_are_records() -> None:
    """A Markdown table, aligned columns and key: value lines."""
    table = text_records("| service | version |\n|---|---|\n| quill | 2.0.1 |\n| pencil | 1.9 |")
    assert table == [{"service": "quill", "version": "2.0.1"}, {"service": "pencil", "version": "1.9"}]
    assert text_records("product: quotecraft\nversion: 12.1") == [{"product": "quotecraft", "version": "12.1"}]


def test_one_failure_has_one_signature() -> None:
    """Numbers, paths, ids, addresses and times are taken out; another error has another signature."""
    a = "2026-01-14T10:00:00Z ERROR /srv/a/b.py:17 connection to 10.0.0.7:5432 failed after 30s (id 7f3a9c2e1b)"
    b = "2026-02-01T23:59:01Z ERROR /opt/x.py:99 connection to 192.168.1.2:6432 failed after 5s (id 00ff9c2e1b)"
    assert symptom(a) == symptom(b)
    assert symptom(a).startswith("err:")
    assert symptom("permission denied") != symptom("connection refused")
    assert "10.0.0.7" not in normalise_error(a)


def test_the_pattern_file_names_only_what_the_catalogue_has() -> None:
    """Every verb and surface pattern belongs to a predicate of the catalogue."""
    assert {p.predicate for found in patterns().values() for p in found} <= set(catalogue().predicates)
    assert {s.predicate for s in surfaces()} <= set(catalogue().predicates)


def dialogue(*texts: str) -> bytes:
    """One line of a file."""
    messages = [
        {"id": f"m{i}", "role": "user", "time": f"2026-01-{14 + i}T10:00:00Z", "text": t} for i, t in enumerate(texts)
    ]
    return orjson.dumps({"id": "d1", "messages": messages})


def test_the_command_writes_one_line_for_each_dialogue(tmp_path: Path) -> None:
    """In the annotated form: entities, facts, preferences, and by the fold what holds and what no more."""
    source, target = tmp_path / "in.jsonl", tmp_path / "out" / "out.jsonl"
    source.write_bytes(dialogue("Usman lives in Karachi.", "Usman moved to Lahore in May.") + b"\n\n")
    extract(source, target)
    (row,) = [orjson.loads(line) for line in target.read_bytes().splitlines()]
    assert row["id"] == "d1"
    assert [f["object"] for f in row["current"]] == ["Lahore"]
    assert [f["object"] for f in row["superseded"]] == ["Karachi"]
    assert {e["name"] for e in row["entities"]} >= {"Usman", "Lahore"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{not json", "line 2: not JSON"),
        (b"[]", "line 2: a dialogue is a JSON object"),
        (b'{"id": "x"}', "line 2: a dialogue needs 'id'"),
        (b'{"id": "x", "messages": [{"id": "m1", "role": "user", "text": "hi"}]}', "line 2, message 1: 'time'"),
        (b'{"id": "x", "messages": [{"id": "m1", "role": "boss", "time": "2026-01-01", "text": "hi"}]}', "role 'boss'"),
        (b'{"id": "x", "messages": [{"id": "m1", "role": "user", "time": "soon", "text": "hi"}]}', "time 'soon'"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: bytes, why: str) -> None:
    """The error says which line and what is wrong with it."""
    source = tmp_path / "in.jsonl"
    source.write_bytes(dialogue("hi") + b"\n" + line + b"\n")
    with pytest.raises(InvalidInput, match=why.replace("'", ".")):
        read_dialogues(source)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """No traceback for a wrong path."""
    with pytest.raises(InvalidInput, match=r"none\.jsonl"):
        read_dialogues(tmp_path / "none.jsonl")


def test_the_two_lists_partition_the_facts(tmp_path: Path) -> None:
    """Current and superseded together are the facts."""
    source = tmp_path / "in.jsonl"
    source.write_bytes(
        dialogue("I live in Porto. relay-api is at 5.5.1.", "relay-api is at 5.6.0. I no longer live in Porto.")
    )
    ((name, turns),) = read_dialogues(source)
    (extractions,) = extract_dialogues(create_extractor("spacy"), [(name, turns)])
    row = dialogue_row(name, turns, extractions)
    assert len(row["current"]) + len(row["superseded"]) == len(row["facts"])
    assert (
        next(f["object"] for f in row["current"] if f["predicate"] == "has_version"),
        next(f["object"] for f in row["superseded"] if f["predicate"] == "has_version"),
    ) == ("5.6.0", "5.5.1")


def test_only_whole_json_is_a_result() -> None:
    """A text around it is prose."""
    assert parse_json('{"a": 1}') == {"a": 1}
    assert parse_json('see {"a": 1}') is None
    assert parse_json("[1, 2") is None
