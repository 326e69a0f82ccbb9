"""What every command prints with: results to standard output, all else to standard error."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from memstream.schemas.errors import InvalidInput

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Print a value as JSON for programs: keys in their order, indented, dataclasses and pydantic models included."""
    sys.stdout.buffer.write(orjson.dumps(value, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


def table_of(*columns: str, **how: Any) -> Table:
    """An empty table in our style: long cells go on in the next line, and nothing is cut off."""
    table = Table(**{"header_style": "bold", "pad_edge": False, **how})
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def read_bytes(file: str) -> bytes:
    """What a file has, or standard input for `-`. Raises InvalidInput where it can't be read."""
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InvalidInput(f"{file} can't be read: {error.strerror}") from error


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return str(value)
