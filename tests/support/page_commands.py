"""The commands of a page of the docs, run one after another as a person would."""

from __future__ import annotations

import re
import shlex

from typer.testing import CliRunner

from memstream.cli.main import app


def shown_by(section: str) -> list[str]:
    """What each `memstream` command of a section prints; each must end well."""
    shown = []
    for command in re.findall(r"^memstream (.+)$", section, flags=re.M):
        done = CliRunner().invoke(app, shlex.split(command), prog_name="memstream", env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output + str(done.exception or "")
        shown.append(done.output)
    return shown
