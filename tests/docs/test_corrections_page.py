"""docs/extraction.md, corrections: its commands are run, and show what the page says."""

from __future__ import annotations

import re
from pathlib import Path

from page_commands import shown_by

PAGE = (Path(__file__).parents[2] / "docs" / "extraction.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## Corrections")[1].split("\n## ")[0]


def test_the_commands_of_the_section_run() -> None:
    """The fact with the right name and what is taken back; a joke is not said, with its reason."""
    shown = shown_by(SECTION)
    assert len(shown) == 2
    assert "checkout squad | managed_by | Lena" in shown[0]
    assert "checkout squad | managed_by | Lina" in shown[0]
    assert "it is said as a joke" in shown[1]


def test_every_number_of_the_tables_is_that_of_the_tests() -> None:
    """The page says how many sentences and sessions the tests hold."""
    unit = Path(__file__).parents[1] / "unit"
    for name, kinds in (("test_assertion_status", "sentences"), ("test_coreference", "sessions")):
        text = (unit / f"{name}.py").read_text(encoding="utf-8").split("TABLE:")[1].split("\n]\n")[0]
        rows = len(re.findall(r"^    \(", text, flags=re.M))
        assert f"{rows} {kinds}" in PAGE, f"{name} has {rows} {kinds}"
