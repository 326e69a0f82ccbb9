"""Predicates of one's own: what is wrong in a file is told with its line, and what is right is read."""

from __future__ import annotations

import functools
import itertools
import json
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from memstream.cli.main import app
from memstream.extractors.pattern_check import read_text
from memstream.extractors.rules.ways import patterns, surfaces
from memstream.extractors.spacy_extractor import GENERATION, OWN_VERSIONS, SpacyExtractor, create
from memstream.schemas.catalogue import OWN_FILE, catalogue, own_predicates
from memstream.schemas.errors import SettingsError
from memstream.schemas.extraction import SessionTurns, Turn
from memstream.settings import load
from memstream.sinks.export.form import Basis, Digest

GOOD = """
version = 4
[predicate.mirrors]
meaning = "Keeps a copy of its data"
cardinality = "multi"
subject = ["Object"]
object = ["Object"]
inverse = "mirrored_by"
examples = ["search-db is mirroring orders-db."]
[[pattern]]
predicate = "mirrors"
verbs = ["mirror"]
subject = "subj"
object = "obj"
"""


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a file of predicates, each under a name of its own: a process reads a file once."""
    numbers = itertools.count()

    def write(text: str) -> Path:
        path = tmp_path / f"own{next(numbers)}.toml"
        path.write_text(textwrap.dedent(text).strip() + "\n", encoding="utf-8")
        return path

    return write


@functools.cache
def plain() -> SpacyExtractor:
    """The extractor without a file."""
    return create()


def run(*words: str) -> Result:
    """A command as a person gives it."""
    return CliRunner().invoke(app, ["predicates", *words], prog_name="memstream", env={"COLUMNS": "200"})


def test_every_example_that_ships_is_read_or_marked() -> None:
    """`memstream predicates check` finds nothing wrong with the catalogue and its patterns."""
    done = run("check", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert [problem for problem in told["problems"] if not problem["note"]] == []
    assert {row["predicate"] for row in told["examples"]} == set(catalogue().predicates)
    assert sum(row["found"] for row in told["examples"]) >= len(catalogue().predicates)


FORMS = [
    ('version = 4', "version = 0", "line 1: write `version = 1`"),
    ('cardinality = "multi"', 'cardinality = "some"', "line 4: predicate mirrors: cardinality 'some': write 'single'"),
    ('subject = ["Object"]', 'subject = ["Thing"]', "line 5: predicate mirrors: unknown type 'Thing': known are Event"),
    ('subject = ["Object"]', 'subject = ["Objekt"]',
     "line 5: predicate mirrors: unknown type 'Objekt': did you mean 'Object'?"),
    ('object = ["Object"]', "object = []", "line 6: predicate mirrors: nothing can be its value"),
    ('object = ["Object"]', "", "line 2: predicate mirrors: 'object' is missing (it may be [])"),
    ('inverse = "mirrored_by"', 'inverse = "owns"', "line 7: predicate mirrors: its inverse 'owns' is a predicate too"),
    ('inverse = "mirrored_by"', 'inverse = "employs"',
     "line 7: predicate mirrors: 'employs' is the inverse of 'works_at' already"),
    ('inverse = "mirrored_by"', 'inverse = "mirrors"', "line 7: predicate mirrors: it is its own inverse"),
    ('inverse = "mirrored_by"', 'invers = "x"',
     "line 7: predicate mirrors: unknown key 'invers': did you mean 'inverse'?"),
    ('inverse = "mirrored_by"', "symmetric = 1", "line 7: predicate mirrors: symmetric is true or false"),
    ('meaning = "Keeps a copy of its data"', 'meaning = " "', "line 3: predicate mirrors: say in words"),
    ("[predicate.mirrors]", "[predicate.owns]", "line 2: predicate owns: it ships with Memstream"),
    ("[predicate.mirrors]", "[predicate.mentions]", "line 2: predicate mentions: the graph has edges of that name"),
    ("[predicate.mirrors]", '[predicate."Mirrors it"]', "a name has 2 to 48 of a-z"),
    ("[predicate.mirrors]", "[predicat.mirrors]", "line 2: unknown table or key 'predicat': did you mean 'predicate'?"),
    ('examples = ["search', 'examples = [3, "search', "line 8: predicate mirrors: give sentences that say it"),
    ('predicate = "mirrors"', 'predicate = "mirors"',
     "line 10: pattern 1: 'mirors' is not in the catalogue: did you mean 'mirrors'?"),
    ('verbs = ["mirror"]', 'verbs = ["Mirror"]', "line 11: pattern 1: give lemmas in small letters"),
    ('subject = "subj"', 'subject = "prep:"', "line 12: pattern 1: 'prep:' is no place in a clause"),
    ('object = "obj"', 'object = "dates"', "line 13: pattern 1: 'dates' is no place in a clause"),
    ('object = "obj"', 'object = "obj"\nwith = ["activ"]',
     "line 14: pattern 1: unknown condition 'activ': did you mean 'active'?"),
    ('object = "obj"', 'object = "obj"\nwith = ["obj:Place"]', "line 14: pattern 1: 'obj:Place': unknown type 'Place'"),
    ('object = "obj"', 'object = "obj"\nnegated = "no"', "line 14: pattern 1: negated is true or false"),
    ('object = "obj"', "objects = 1", "line 9: pattern 1: 'object' is missing"),
    ('version = 4', "version = 4\nversion = 5", "this is no TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong", "told"), FORMS)
def test_a_slip_is_told_with_its_line(written: Callable[[str], Path], right: str, wrong: str, told: str) -> None:
    """`check` says where and what, ends with 1, and no process takes the file."""
    path = written(GOOD.replace(right, wrong, 1))
    done = run("check", str(path))
    assert done.exit_code == 1
    assert told in done.output
    assert str(path) in done.output
    with own_predicates(path), pytest.raises(SettingsError, match="predicates are not valid"):
        (catalogue(), patterns(), surfaces())


SURFACES = [
    ("(?:a", "this is no regular expression"),
    ("(?:a+)+", "a repeat inside a repeat"),
    ("Mirrors", "the text is lower-cased before it is compared: a capital never matches"),
]


@pytest.mark.parametrize(("between", "told"), SURFACES)
def test_an_expression_that_can_not_work_is_told(written: Callable[[str], Path], between: str, told: str) -> None:
    """One that is none, one that could run for ever, one that never matches."""
    row = f'[[surface]]\npredicate = "mirrors"\nbetween = "{between}"\nleft = ["Object"]\nright = ["Object"]\n'
    done = run("check", str(written(GOOD + row)))
    assert done.exit_code == 1
    assert f"line 16: surface 1: {told}" in done.output


def test_examples_that_are_not_read_are_told_with_the_reason(written: Callable[[str], Path]) -> None:
    """What stood in the way: a doubt, a condition, no pattern; and what must not be read but is."""
    said = "search-db is mirroring orders-db."
    text = GOOD.replace(
        f'examples = ["{said}"]',
        f'examples = ["search-db might be mirroring orders-db.", "orders-db sleeps.", "{said}"]\nagainst = ["{said}"]',
    )
    done = run("check", str(written(text)))
    assert done.exit_code == 1
    doubted = "example 'search-db might be mirroring orders-db.' is not read as mirrors: it may"
    assert f"line 8: predicate mirrors: {doubted}" in done.output
    assert "'orders-db sleeps.' is not read as mirrors: no pattern fits (verbs:" in done.output
    assert f"line 9: predicate mirrors: {said!r} must not be read as it, and is" in done.output


def test_a_pattern_that_matches_no_example_is_told(written: Callable[[str], Path]) -> None:
    """By its predicate's examples, or by its own; for predicates that ship, too."""
    silent = GOOD.replace('verbs = ["mirror"]', 'verbs = ["mirror"]\nwith = ["passive"]')
    done = run("check", str(written(silent)))
    assert "line 9: pattern 1: it matches no example of its predicate" in done.output
    added = '[[pattern]]\npredicate = "depends_on"\nverbs = ["lean"]\nsubject = "subj"\nobject = "prep:on"\n'
    done = run("check", str(written(GOOD + added + 'examples = ["The relay service leans to redis-7."]')))
    assert done.exit_code == 1
    assert "line 19: pattern 2: its example 'The relay service leans to redis-7.' is not read by it" in done.output
    done = run("check", str(written(GOOD + added + 'examples = ["The relay service leans on redis-7."]')))
    assert done.exit_code == 0, done.output


def test_a_file_of_ones_own_is_read_beside_what_ships(written: Callable[[str], Path]) -> None:
    """Its predicates in the catalogue, its patterns in the messages; without it nothing of it is left."""
    path = written(GOOD)
    with own_predicates(path):
        assert catalogue().predicates["mirrors"].own
        assert catalogue().inverse_of("mirrored_by") == "mirrors"
        found = read_text(create(), "search-db is mirroring orders-db, and it depends on redis-7.")
        assert (found.facts[0].predicate, found.facts[0].pattern) == ("mirrors", f"{path}:9")
        assert "depends_on" in {f.predicate for f in found.facts}
    assert "mirrors" not in catalogue()
    assert not read_text(plain(), "search-db is mirroring orders-db.").facts


def test_the_file_is_part_of_what_the_extractor_is(written: Callable[[str], Path]) -> None:
    """Its digest of the name, its version of the generation: a better file's patches win."""
    assert (plain().name, plain().generation) == ("spacy", GENERATION * OWN_VERSIONS)
    with own_predicates(written(GOOD)):
        own = create()
    assert own.generation == plain().generation + 4
    assert own.name.startswith("spacy~")
    turn = Turn("e", "user", "user", "search-db is mirroring orders-db.", datetime(2026, 3, 2, tzinfo=UTC))
    assert plain().extract([SessionTurns(b"", [turn])])[0].extractions[0].assertions == ()


def test_graphs_of_other_predicates_have_other_digests(written: Callable[[str], Path]) -> None:
    """A digest rests on the own predicates, and is what it was where there are none."""
    plainly = Digest().hex
    assert Digest(Basis.here()).hex == plainly
    with own_predicates(written(GOOD)):
        assert Digest().hex != plainly
        assert Basis.here().own == catalogue().own != ""


def test_the_setting_is_checked_and_taken_from_the_environment(
    written: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is not right stops every process at its start, with the reason."""
    path = written(GOOD)
    with pytest.raises(SettingsError, match="only taken from the environment"):
        load(predicates=path)
    monkeypatch.setenv(OWN_FILE, str(path))
    assert load().predicates == path
    monkeypatch.setenv(OWN_FILE, str(path.with_name("other.toml")))
    with pytest.raises(SettingsError, match="can't be read"):
        load()


def test_list_and_show_tell_what_there_is(written: Callable[[str], Path]) -> None:
    """For people and for programs; an unknown name is answered with the nearest."""
    path = str(written(GOOD))
    rows = {row["name"]: row for row in json.loads(run("list", "--file", path, "--json").stdout)}
    assert set(rows) == {*catalogue().predicates, "mirrors"}
    assert (rows["mirrors"]["own"], rows["mirrors"]["patterns"], rows["owns"]["inverse"]) == (True, 1, "owned_by")
    assert "mirror: subj → obj" in run("show", "mirrors", "--file", path).output
    shown = json.loads(run("show", "managed_by", "--json").stdout)
    assert {one["kind"] for one in shown["patterns"]} == {"pattern", "surface"}
    done = run("show", "manged_by")
    assert done.exit_code == 1
    assert "did you mean 'managed_by'?" in str(done.exception)


def test_try_shows_what_matched(written: Callable[[str], Path]) -> None:
    """The fact and the line of the pattern that gave it."""
    path = written(GOOD)
    told = json.loads(run("try", "search-db is mirroring orders-db.", "--file", str(path), "--json").stdout)
    assert [(f["predicate"], f["pattern"]) for f in told["facts"]] == [("mirrors", f"{path}:9")]
    assert "No fact was read." in run("try", "search-db might be mirroring orders-db.", "--file", str(path)).output
