"""Each promise names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_promise_names_a_test_that_exists() -> None:
    """docs/guarantees.md names a test for each number, and each is defined where it says."""
    text = (ROOT / "docs" / "guarantees.md").read_text()
    promises = re.split(r"\n(?=\d+\. )", text.split("## Under which settings")[0])[1:]
    assert len(promises) >= 13
    for promise in promises:
        named = NAMED.findall(promise)
        assert named, f"no test holds: {promise[:60]}"
    for file, test in NAMED.findall(text):  # those of the known cases as well
        assert re.search(rf"^(async )?def {test}\(", (ROOT / file).read_text(), re.M), f"{file} has no {test}"
