"""docs/extraction.md, names and the field's own matter: its commands are run, and show what the page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from memstream.cli.main import app

PAGE = (Path(__file__).parents[2] / "docs" / "extraction.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## Names, and the field's own matter")[1].split("\n## ")[0]


def test_the_commands_of_the_section_run() -> None:
    """A remedy of the incident of the message before, and names in small letters."""
    shown = []
    for command in re.findall(r"^memstream (.+)$", SECTION, flags=re.M):
        done = CliRunner().invoke(app, shlex.split(command), prog_name="memstream", env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output + str(done.exception or "")
        shown.append(done.output)
    assert len(shown) == 2
    assert "checkout outage | fixed_by | rolling back relay-api to 2.4.1" in shown[0]
    assert "user | lives_in | berlin" in shown[1]
    assert "anna (Person)" in shown[1]
