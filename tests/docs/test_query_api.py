"""docs/api.md names every route of the service, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from memstream.extractors.vectors.embedders import NoEmbedder
from memstream.query.app import create_app
from memstream.query.params import DEFAULT_LIMIT, MAX_LIMIT
from memstream.query.recall import DEFAULT_BUDGET, MAX_PROMPT
from memstream.query.recall_rank import Path as FoundBy
from memstream.query.vectors import EXACT_LIMIT
from memstream.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")


def test_every_route_is_documented() -> None:
    """The table of routes is the OpenAPI document's list of paths."""
    documented = set(re.findall(r"^\| `GET ([^`]+)` \|", PAGE, re.MULTILINE))
    assert documented == set(create_app(Settings(), NoEmbedder()).openapi()["paths"])


def test_figures_are_those_of_the_code() -> None:
    """Limits and defaults that the page states."""
    assert f"`limit` is {DEFAULT_LIMIT} by default and {MAX_LIMIT} at most" in PAGE
    assert f"{DEFAULT_BUDGET:,} by default" in PAGE
    assert f"up to {MAX_PROMPT:,} characters" in PAGE
    assert f"up to {EXACT_LIMIT:,} texts" in PAGE
    assert {path.value for path in FoundBy} == set(
        re.findall(r"^\| `(\w+)` \| (?:current facts|messages)", PAGE, re.MULTILINE)
    )
