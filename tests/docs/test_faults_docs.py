"""docs/faults.md: its command line is one that the harness takes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_options_of_chaos_are_those_of_the_docs() -> None:
    """`make chaos` runs what the Makefile says, with the options that the page names."""
    page, makefile = ((ROOT / name).read_text() for name in ("docs/faults.md", "Makefile"))
    assert "PYTHONPATH=tests/support:tests/faults $(BIN)/python -m chaos $(ARGS)" in makefile
    path = os.pathsep.join([str(ROOT / "tests" / "support"), str(ROOT / "tests" / "faults"), *sys.path])
    told = subprocess.run(
        [sys.executable, "-m", "chaos", "--help"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    [arguments] = re.findall(r'make chaos ARGS="([^"]+)"', page)
    options = re.findall(r"--\w+", arguments)
    assert options
    assert [option for option in options if option not in told] == []
