"""docs/predicates.md: its file is right, its commands are run, and what it says of the file is so."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from page_commands import shown_by
from typer.testing import CliRunner

from memstream.cli.main import app
from memstream.extractors.rules.conditions import CONDITIONS
from memstream.extractors.rules.pattern_file import SLOTS, VALUES
from memstream.schemas.catalogue import OWN_FILE, catalogue
from memstream.schemas.predicate_file import MAX_VERSION, TYPES

PAGE = (Path(__file__).parents[2] / "docs" / "predicates.md").read_text(encoding="utf-8")
FILE = re.findall(r"```toml\n# predicates.toml\n(.*?)```", PAGE, flags=re.S)[0]
COMMANDS = re.findall(r"^memstream (.+)$", re.findall(r"```sh\n(.*?)```", PAGE, flags=re.S)[0], flags=re.M)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "predicates.toml").write_text(FILE, encoding="utf-8")
    return tmp_path


def test_the_commands_of_the_page_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after another, as a person would, and each shows what the page is about."""
    shown = {}
    for command in COMMANDS:
        if "--file" not in command and not command.startswith("predicates check"):
            monkeypatch.setenv(OWN_FILE, str(folder / "predicates.toml"))
        done = CliRunner().invoke(app, shlex.split(command), prog_name="memstream", env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output + str(done.exception or "")
        shown[" ".join(command.split()[:2])] = done.output
    assert len(COMMANDS) == 5
    assert "All is well" in shown["predicates check"]
    assert "search-db | mirrors | orders-db" in shown["predicates try"]
    assert "mirrors *" in shown["predicates list"]
    assert "Keeps a copy of its data" in shown["predicates show"]
    told = shown['explain-extraction "search-db']
    assert "relay service | depends_on | redis-7" in told
    assert "search-db | mirrors | orders-db" in told.split("Not said")[1]


def test_the_page_says_what_the_code_does() -> None:
    """Numbers, types, places, conditions, name and generation."""
    assert f"ships {len(catalogue().predicates)} " in PAGE
    assert f"(1 to {MAX_VERSION})" in PAGE
    for word in (*TYPES, *SLOTS, *VALUES):
        assert f"`{word}`" in PAGE
    named = re.findall(r"`(\w+)`", PAGE.split("conditions that must all hold")[1].split("and those that")[0])
    assert set(named) - {"obj"} <= {*CONDITIONS, *TYPES}


EXTRACTION = (Path(__file__).parents[2] / "docs" / "extraction.md").read_text(encoding="utf-8")
WHY_NOT = EXTRACTION.split("## Why, and why not")[1].split("\n## ")[0]


LANGUAGES = EXTRACTION.split("## Languages")[1].split("\n## ")[0]


def test_the_page_says_how_another_language_is_read(folder: Path) -> None:
    """Its command shows the rules at work, and its words are those of the patch."""
    [command] = re.findall(r"^memstream (.+)$", LANGUAGES, flags=re.M)
    done = CliRunner().invoke(app, shlex.split(command), prog_name="memstream", env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    told = "language 'de': no model is set for it; names by rule, no facts"
    assert told in done.output
    assert f"`{told}`" in LANGUAGES
    assert folder


def test_the_commands_that_explain_run(folder: Path) -> None:
    """Those of docs/extraction.md: reasons in the terminal, a page, JSON."""
    shown = shown_by(WHY_NOT)
    assert len(shown) == 3
    assert "a modal verb" in shown[0]
    assert "Ana | works_at | Kestrel Freight" in shown[0]
    assert "<svg" in (folder / "explained.html").read_text(encoding="utf-8")
    assert '"rule": "answer"' in shown[2]
