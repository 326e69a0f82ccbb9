"""`memstream settings`: every variable, its default, its value now, and where that comes from."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from memstream.cli.console import out, print_json
from memstream.settings import load
from memstream.settings.table import SettingRow, describe


def settings(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """Show every setting, its default, its value now (secrets hidden) and where that comes from.

    Example: MEMSTREAM_PARTITIONS=3 memstream settings
    """
    rows = describe(load())
    if as_json:
        print_json(rows)
        return
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        about = Text(row.description, style="dim")
        grid.add_row(row.variable, Text.assemble(*_value(row), "\n", about))
    out.print(grid)


def _value(row: SettingRow) -> list[tuple[str, str]]:
    if row.source == "default":
        return [(row.value or "not set", "" if row.value else "dim"), ("  default", "dim")]
    return [(row.value, "green"), (f"  from {row.source}; default: {row.default or 'not set'}", "dim")]
