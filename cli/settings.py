"""`memstream settings`: every variable, its default, its value now, and where that comes from."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from memstream.cli.console import err, out, print_json
from memstream.settings import load
from memstream.settings.table import describe, unknown_variables


def settings(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """Show every setting, its default, its value now (secrets hidden) and where that comes from.

    Example: MEMSTREAM_PARTITIONS=3 memstream settings
    """
    rows = describe(load())
    if as_json:
        print_json(rows)
        return
    table = Table(show_lines=False, header_style="bold", pad_edge=False)
    for column in ("Variable", "Default", "Now", "From", "What it is"):
        table.add_column(column, overflow="fold")
    for row in rows:
        style = "" if row.source == "default" else "green"
        cells = (row.variable, row.default, row.value, row.source, row.description)
        table.add_row(*map(escape, cells), style=style)
    out.print(table)
    for name, meant in unknown_variables().items():
        hint = f"; did you mean {meant}?" if meant else ""
        err.print(f"[yellow]{name} is set, but nothing reads it{hint}[/]")
