"""Cuts a large tool result down to what memory needs; the whole goes to the offload store by its hash.

JSON keeps counts, field names and their types, the first rows, and errors whole. Text keeps head and tail. Both keep
size and SHA-256 of the whole. Pure: the same value gives the same cut.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import orjson

_ERROR = re.compile(r"error|exception|traceback|stderr|failure|fault", re.IGNORECASE)
_FIELDS_LOOKED_AT = 200  # rows whose fields are listed
_ERRORS_KEPT = 10
_ERROR_ROOM = 8_000  # characters of each text inside an error that has structure
_HEAD_SHARE = 0.75
_LEVELS = 16  # JSON inside a text may be nested deeper than an event may


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A value as memory keeps it. `whole` is what to offload: None where nothing was cut."""

    value: Any
    size: int
    sha256: str | None = None
    whole: bytes | None = None

    @property
    def text(self) -> str:
        """The kept value as text: a text as it is, anything else as JSON."""
        return self.value if isinstance(self.value, str) else orjson.dumps(self.value).decode()


@dataclass(frozen=True, slots=True)
class _Measure:
    """How much is kept of rows, of a text and of an object's fields. Errors are whole while that fits."""

    rows: int
    chars: int
    keys: int
    error_chars: int | None = None


_MEASURES = (
    _Measure(5, 800, 100),
    _Measure(3, 300, 50),
    _Measure(2, 120, 25),
    _Measure(1, 60, 10),
    _Measure(1, 60, 10, error_chars=1_500),
    _Measure(1, 30, 5, error_chars=200),
)


def shrink(value: Any, limit: int) -> Shrunk:
    """`value` itself if its JSON (its UTF-8 where it is a text) has at most `limit` bytes, else what memory needs."""
    whole = value.encode() if isinstance(value, str) else orjson.dumps(value)
    if len(whole) <= limit:
        return Shrunk(value, len(whole))
    sha256 = hashlib.sha256(whole).hexdigest()
    structure = inner_json(value) if isinstance(value, str) else value
    cut: Any = None if structure is None else _fitting(structure, len(whole), sha256, limit)
    if cut is None:
        cut = head_and_tail(whole, sha256, limit // 2)
    return Shrunk(cut, len(whole), sha256, whole)


def head_and_tail(whole: bytes, sha256: str, room: int) -> str:
    """The beginning and the end of a text, and between them how much is missing."""
    head = int(room * _HEAD_SHARE)
    tail = room - head
    note = f"\n[… {len(whole) - room:,} of {len(whole):,} bytes cut, sha256 {sha256} …]\n"
    return whole[:head].decode(errors="ignore") + note + whole[-tail:].decode(errors="ignore")


def inner_json(text: str) -> Any:
    """The JSON object or list that a text is; None where it is none."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _fitting(value: Any, size: int, sha256: str, limit: int) -> dict[str, Any] | None:
    for measure in _MEASURES:
        cut = {"cut": {"bytes": size, "sha256": sha256}, "kept": _summary(value, measure)}
        if len(orjson.dumps(cut)) <= limit:
            return cut
    return None


def _summary(value: Any, measure: _Measure, level: int = 0) -> Any:
    if isinstance(value, dict | list) and level >= _LEVELS:
        return f"[… {_type(value)} of {len(value):,} …]"
    if isinstance(value, dict):
        return _object(value, measure, level + 1)
    if isinstance(value, list):
        return _rows(value, measure, level + 1)
    return _cut_text(value, measure.chars) if isinstance(value, str) else value


def _cut_text(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    head = int(room * _HEAD_SHARE)
    return f"{text[:head]}[… {len(text) - room:,} characters cut …]{text[head - room :]}"


def _object(value: dict[str, Any], measure: _Measure, level: int) -> dict[str, Any]:
    kept = {key: _field(key, inner, measure, level) for key, inner in islice(value.items(), measure.keys)}
    if len(value) > measure.keys:
        rest = list(islice(value.items(), measure.keys, None))
        wrong = islice(((key, inner) for key, inner in rest if _is_error(key, inner)), _ERRORS_KEPT)
        kept |= {key: _field(key, inner, measure, level) for key, inner in wrong}
        kept["… more fields"] = {"count": len(rest), "types": _types(inner for _, inner in rest)}
    return kept


def _field(key: str, value: Any, measure: _Measure, level: int) -> Any:
    if not _is_error(key, value):
        return _summary(value, measure, level)
    if measure.error_chars is None and isinstance(value, str):
        return value
    room = max(measure.chars, measure.error_chars or _ERROR_ROOM)
    return _summary(value, replace(measure, chars=room, rows=max(measure.rows, _ERRORS_KEPT)), level)


def _rows(rows: list[Any], measure: _Measure, level: int) -> Any:
    if len(rows) <= measure.rows:
        return [_summary(row, measure, level) for row in rows]
    kept: dict[str, Any] = {"count": len(rows)}
    if fields := _fields(rows):
        kept["fields"] = dict(islice(fields.items(), measure.keys))
    else:
        kept["types"] = _types(rows)
    kept["first"] = [_summary(row, measure, level) for row in rows[: measure.rows]]
    wrong = (row for row in rows[measure.rows :] if isinstance(row, dict) and any(map(_is_error, row, row.values())))
    if errors := list(islice(wrong, _ERRORS_KEPT)):
        kept["errors"] = [_object(row, measure, level) for row in errors]
    return kept


def _fields(rows: list[Any]) -> dict[str, str]:
    types: dict[str, set[str]] = {}
    for row in rows[:_FIELDS_LOOKED_AT]:
        if isinstance(row, dict):
            for key, value in row.items():
                types.setdefault(key, set()).add(_type(value))
    return {key: "|".join(sorted(names)) for key, names in types.items()}


def _types(values: Iterable[Any]) -> str:
    return "|".join(sorted({_type(value) for value in values}))


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names = {int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "unknown")


def _is_error(key: str, value: Any) -> bool:
    """A field that tells of a failure: named like one, and not empty."""
    return bool(value) and isinstance(value, str | dict | list) and _ERROR.search(key) is not None
