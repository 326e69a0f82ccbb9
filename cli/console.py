"""What every command prints with: results to standard output, all else to standard error."""

from __future__ import annotations

import sys
from typing import Any

import orjson
from rich.console import Console

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Print a value as JSON for programs: keys in their order, indented, dataclasses and pydantic models included."""
    sys.stdout.buffer.write(orjson.dumps(value, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return str(value)
