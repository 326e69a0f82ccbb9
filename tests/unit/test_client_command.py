"""`memstream publish` called wrongly: a sentence that helps, before anything is connected to."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from memstream.cli.publish import app
from memstream.schemas.errors import MemstreamError


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "give a file"),
        (("runs.json",), "--format"),
        (("runs.json", "-f", "csv"), "no format 'csv'"),
        (("runs.json", "-f", "openai"), "give --scope"),
        (("no-such-file.json", "-f", "openai", "-s", "a"), "can't be read: No such file"),
        (("-m", "x"), "--scope"),
        (("-m", "x", "-s", "a//b"), "segment 2"),
        (("-m", "x", "-s", "a", "--role", "usr"), "none of user"),
        (("x.jsonl", "--raw", "-s", "a"), "--raw goes with"),
    ],
)
def test_what_is_missing_or_wrong_is_said(words: tuple[str, ...], says: str) -> None:
    """Each wrong call ends with an error of ours."""
    done = CliRunner().invoke(app, list(words))
    assert isinstance(done.exception, MemstreamError)
    assert says in str(done.exception)
