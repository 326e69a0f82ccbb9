"""docs/export.md: its commands are run, and what it says of the form is so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sink_world import World, world
from typer.testing import CliRunner

from memstream.cli.main import app
from memstream.cli.verify import DIFFERENT
from memstream.settings import Settings
from memstream.sinks.export import compare, form

PAGE = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^memstream (.+)$", PAGE, flags=re.M)
ANOTHER = "bolt://127.0.0.1:7688"


@pytest.fixture
def acme(stack: Settings, scope: str) -> Iterator[World]:
    """A scope with something in it."""
    with world(stack, scope) as made:
        made.apply(made.say("m1", 1).message("I live in Paris").lives("Ann", "Paris"))
        yield made


def run(command: str, acme: World, folder: Path, uri: str) -> tuple[int, str]:
    """A command of the page, with the test's scope, file and graph in their places."""
    words = command.replace("acme.jsonl", str(folder / "acme.jsonl")).replace("bolt://127.0.0.1:7687", uri)
    words = words.replace(ANOTHER, uri).replace("--scope acme", f"--scope {acme.scope}")
    done = CliRunner().invoke(app, words.split(), prog_name="memstream")
    return done.exit_code, done.output + str(done.exception or "")


def test_the_commands_of_the_page_run(acme: World, stack: Settings, tmp_path: Path) -> None:
    """One after another, as a person would; an import into a graph that is not empty is refused, as the page says."""
    codes = {command: run(command, acme, tmp_path, stack.neo4j_uri) for command in COMMANDS}
    assert len(codes) == 6
    for command, (code, output) in codes.items():
        assert code == (1 if command.startswith("import") else 0), output
        assert "not empty" in output or not command.startswith("import")


def test_the_page_says_what_the_code_does() -> None:
    """Digits, precision, tolerance and exit code."""
    assert form.DIGITS == 9
    assert "with nine digits" in PAGE
    assert (compare.PRECISION, compare.VECTORS) == (1e-8, 0.01)
    assert "within 10⁻⁸ of its size; a vector within a hundredth of its length" in PAGE
    assert f"with {DIFFERENT} where they differ" in PAGE
