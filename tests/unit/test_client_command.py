"""`memstream publish` called wrongly: a sentence that helps, before anything is connected to."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from memstream.cli.publish import app
from memstream.schemas.errors import MemstreamError

DATA = Path(__file__).parents[1] / "data"


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
        ((str(Path(__file__).parent),), "is a folder"),
        ((str(DATA / "talk.jsonl"),), "give --scope: 3 lines have none of their own. Nothing was sent."),
    ],
)
def test_what_is_missing_or_wrong_is_said(words: tuple[str, ...], says: str) -> None:
    """Each wrong call ends with an error of ours."""
    done = CliRunner().invoke(app, list(words))
    assert isinstance(done.exception, MemstreamError)
    assert says in str(done.exception)


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_is_published_and_said_to_be_empty(content: bytes, tmp_path: Path) -> None:
    """It is no error, and needs no broker; but whoever expected something is told."""
    file = tmp_path / "none.jsonl"
    file.write_bytes(content)
    done = CliRunner().invoke(app, [str(file), "-s", "a"])
    assert done.exit_code == 0, done.output
    assert "none.jsonl is empty." in done.stderr
    assert "0 events" in done.stdout
