"""What JSON can say of a Python value, so that an event reads back as it was written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from memstream.schemas.limits import MAX_DEPTH

MAX_INT, MIN_INT = 2**64 - 1, -(2**63)
_BIG = "has more than 64 bits: send it as text"


def as_json(value: Any, depth: int = 1) -> Any:
    """The value as reading its JSON would give it: tuples as lists, everything else unchanged.

    Raises ValueError for what JSON has no word for: NaN, bytes, sets, objects, keys that are not text, integers of
    more than 64 bits, text that is not valid Unicode, and what is nested too deep.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return small_int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"holds {value}, which JSON has no word for: send null")
        return float(value)
    return _container(value, depth)


def small_int(value: int | str) -> int:
    """An integer that fits into 64 bits. Raises ValueError for a larger one."""
    if isinstance(value, str) and len(value) > 20:
        raise ValueError(f"holds the integer {value[:24]}…, which {_BIG}")
    number = int(value)
    if not MIN_INT <= number <= MAX_INT:
        raise ValueError(f"holds the integer {number}, which {_BIG}")
    return number


def _container(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError(f"is nested deeper than {MAX_DEPTH} levels: flatten it")
    if isinstance(value, Mapping):
        stranger = next((key for key in value if not isinstance(key, str)), None)
        if stranger is not None:
            raise ValueError(f"has the key {stranger!r}: keys are text")
        return {_text(key): as_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item, depth + 1) for item in value]
    raise ValueError(f"holds a {type(value).__name__}, which JSON has no word for: convert it first")


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError("holds a lone surrogate, which is not valid Unicode: remove it") from error
    return str(value)
