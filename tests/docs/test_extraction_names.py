"""docs/extraction.md, names and the field's own matter: its commands are run, and show what the page says."""

from __future__ import annotations

from pathlib import Path

from page_commands import shown_by

PAGE = (Path(__file__).parents[2] / "docs" / "extraction.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## Names, and the field's own matter")[1].split("\n## ")[0]


def test_the_commands_of_the_section_run() -> None:
    """A remedy of the incident of the message before, and names in small letters."""
    shown = shown_by(SECTION)
    assert len(shown) == 2
    assert "checkout outage | fixed_by | rolling back relay-api to 2.4.1" in shown[0]
    assert "user | lives_in | berlin" in shown[1]
    assert "anna (Person)" in shown[1]
