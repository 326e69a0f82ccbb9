"""docs/resolution.md states what is measured, and the limits that the code has."""

from __future__ import annotations

from pathlib import Path

from benchmarks import resolution
from memstream.folds.sames import LIKELY, SURE

PAGE = (Path(__file__).parents[2] / "docs" / "resolution.md").read_text(encoding="utf-8")


def test_the_figures_are_those_that_are_measured() -> None:
    """The table is what `make resolution` prints."""
    for part, called in zip(resolution.PARTS, ("200, in sight", "100, kept aside"), strict=True):
        told = resolution.score(resolution.read_pairs(part))
        row = f"| {called} | {told.precision:.2f} | {told.recall:.2f} | {told.right}, {told.wrong} "
        assert row + f"| {told.review_right}, {told.review_wrong} |" in PAGE


def test_the_limits_are_those_of_the_code() -> None:
    """From where on a pair is joined, and from where on it is for review."""
    assert f"a score of {SURE} and more" in PAGE
    assert f"({LIKELY} and more)" in PAGE
