"""What is kept of a large tool result."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import pytest

from memstream.streams.shrink import shrink

LIMIT = 16_384


def kept(value: Any) -> Any:
    """What is kept of a large JSON value."""
    shrunk = shrink(value, LIMIT)
    assert shrunk.whole is not None
    assert len(orjson.dumps(shrunk.value)) <= LIMIT
    assert shrunk.value["cut"] == {"bytes": shrunk.size, "sha256": shrunk.sha256}
    return shrunk.value["kept"]


def test_a_small_result_stays_as_it_is() -> None:
    """Up to the limit nothing is cut, and there is nothing to offload."""
    for value in (None, "short", {"rows": [1, 2]}, "é" * (LIMIT // 2)):
        shrunk = shrink(value, LIMIT)
        assert (shrunk.value, shrunk.whole, shrunk.sha256) == (value, None, None)
    assert shrink("é" * (LIMIT // 2 + 1), LIMIT).whole is not None


def test_rows_keep_count_fields_and_the_first() -> None:
    """Of a thousand rows: how many, which fields of which types, and the first ones."""
    rows = [{"id": n, "name": f"n{n}", "price": None if n % 2 else 1.5, "ok": True} for n in range(1_000)]
    summary = kept(rows)
    assert summary["count"] == 1_000
    assert summary["fields"] == {"id": "integer", "name": "string", "price": "null|number", "ok": "boolean"}
    assert summary["first"] == rows[:5]
    assert kept(list(range(20_000)))["types"] == "integer"


def test_errors_are_kept_whole_wherever_they_stand() -> None:
    """A row with an error far down, and an error beside a huge list, are there in full."""
    trace = "Traceback …\n" * 100
    rows: list[dict[str, Any]] = [{"id": n, "error": None} for n in range(2_000)]
    rows[1_500]["error"] = trace
    summary = kept({"items": rows, "stderr": trace})
    assert summary["stderr"] == trace
    assert summary["items"]["errors"] == [{"id": 1_500, "error": trace}]
    many = {f"field{n}": "x" * 40 for n in range(1_000)} | {"error_message": "disk full"}
    assert kept(many)["error_message"] == "disk full"
    assert kept(many)["… more fields"] == {"count": 901, "types": "string"}


def test_an_error_larger_than_the_limit_keeps_head_and_tail() -> None:
    """Nothing is above the limit, not even an error."""
    summary = kept({"error": "first line " + "x" * 100_000 + " last line", "code": 7})
    assert summary["error"].startswith("first line")
    assert summary["error"].endswith("last line")
    assert summary["code"] == 7


def test_text_keeps_head_and_tail() -> None:
    """A log keeps its beginning and its end, and says how much is missing and what its whole hashes to."""
    text = "begin\n" + "line of log\n" * 10_000 + "end"
    shrunk = shrink(text, LIMIT)
    assert shrunk.whole == text.encode()
    assert shrunk.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert shrunk.text.startswith("begin\n")
    assert shrunk.text.endswith("end")
    assert f"of {len(text):,} bytes cut, sha256 {shrunk.sha256}" in shrunk.text
    assert len(shrunk.text.encode()) < LIMIT


def test_characters_are_not_cut_in_two() -> None:
    """Text of many bytes a character is cut between characters."""
    shrunk = shrink("🦊" * 20_000, LIMIT)
    assert "�" not in shrunk.text
    assert len(shrunk.text.encode()) < LIMIT


def test_json_inside_a_text_is_read_as_json() -> None:
    """A result that came as text but is JSON is summed up like JSON; what only looks like it is text."""
    summary = kept(orjson.dumps([{"id": n} for n in range(5_000)]).decode())
    assert summary["count"] == 5_000
    assert shrink("[" + "not json " * 5_000, LIMIT).text.startswith("[not json")


@pytest.mark.parametrize("value", [[[list(range(100))] * 100] * 5, {"a": {"b": {"c": ["y" * 500] * 400}}}])
def test_nested_values_fit(value: Any) -> None:
    """Nested lists are cut at each level until they fit."""
    assert kept(value)


def test_json_nested_beyond_all_measure_is_cut() -> None:
    """A text may hold JSON that is nested deeper than an event may be."""
    deep = '{"a":' * 900 + '"' + "x" * LIMIT + '"' + "}" * 900
    assert "object of 1" in shrink(deep, LIMIT).text
    assert len(shrink("[" * 5_000 + "x" * LIMIT, LIMIT).text) < LIMIT


def test_an_error_with_structure_keeps_it() -> None:
    """A list of errors and an error that is an object are there with their texts."""
    errors = [{"code": n, "message": "m" * 500} for n in range(8)]
    assert kept({"errors": errors, "data": ["x" * 100] * 1_000})["errors"] == errors


def test_the_same_value_gives_the_same_cut() -> None:
    """Patches are pure functions, so this is one."""
    rows = [{"id": n, "b": [n] * 50} for n in range(1_000)]
    assert shrink(rows, LIMIT) == shrink(orjson.loads(orjson.dumps(rows)), LIMIT)
