"""`memstream dlq list | show | check | retry | drop`: the dead letters, and what is decided about them."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from memstream.cli.console import err, out, print_json
from memstream.cli.dlq_decide import drop, retry
from memstream.cli.dlq_options import Reason, Scope, Since, Until, name_of, wanted_of
from memstream.schemas.errors import InvalidInput, TopicMismatch
from memstream.sealing import is_sealed, open_keys
from memstream.sealing.patches import is_sealed_patch, open_patch
from memstream.settings import load
from memstream.streams.dead_letters import LetterTold
from memstream.streams.letter_book import Filed, Wanted, counted, read_letters
from memstream.streams.letter_return import as_document, opened

app = typer.Typer(
    no_args_is_help=True, help="Look at the dead letters, with their reasons; put them back or drop them."
)
app.command()(retry)
app.command()(drop)

_WIDTH = 400
THERE_ARE = 3
"""The exit code of `check` where dead letters wait: an alarm, and no failure of the command."""


@app.command("list")
def list_letters(  # noqa: PLR0917 - options of a command
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    reason: Reason = None,
    scope: Scope = None,
    since: Since = None,
    until: Until = None,
    done: Annotated[bool, typer.Option("--all", help="Also those that were retried or dropped.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most this many, the newest.")] = 100,
) -> None:
    """Show what was refused and waits: when, why, and where it lies in its own topic.

    Example: memstream dlq list --reason bad_time --scope acme/fleet-7
    """
    rows = asyncio.run(_rows(wanted_of(reason, scope, since, until, done=done), limit))
    if as_json:
        fields = LetterTold.__slots__
        print_json(
            [
                {"letter": name, **{field: getattr(told, field) for field in fields}, "done": decided or None}
                for name, told, decided in rows
            ]
        )
        return
    if not rows:
        out.print("No dead letters." if done else "No dead letters wait.")
        return
    table = Table(header_style="bold", pad_edge=False, show_lines=True)
    columns = ("Letter", "Time", "Origin", "Reason", "Message", *(["Done"] if done else []))
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in {"Letter", "Time"})
    for name, told, decided in rows:
        origin = f"{told.topic}-{told.partition} at {told.offset}"
        cells = (name, told.time[:19].replace("T", " "), origin, told.reason, told.message[:_WIDTH], decided)
        table.add_row(*map(escape, cells[: len(columns)]))
    out.print(table)
    out.print("One of them: memstream dlq show LETTER. Put it back: memstream dlq retry LETTER")


@app.command()
def show(
    letter: Annotated[str, typer.Argument(help="Partition and offset as `list` shows them, such as 3:17.")],
    headers: Annotated[bool, typer.Option("--headers", help="Print its headers too, to standard error.")] = False,
    event: Annotated[bool, typer.Option("--event", help="Envelope and data as one JSON document, to correct.")] = False,
) -> None:
    """Print the untouched bytes of a dead letter to standard output; what is sealed is opened.

    Example: memstream dlq show 3:17 > event.json
    """
    found = asyncio.run(_find(letter))
    if is_sealed(found.value):
        found = opened(found, open_keys(load()))
    elif found.value is not None and is_sealed_patch(found.value) and (keys := open_keys(load())) is not None:
        found = replace(found, value=open_patch(keys, found.value).value)
    if headers:
        err.print(f"key: {found.key!r}", markup=False)
        for name, value in found.headers:
            err.print(f"{name}: {value.decode('utf-8', 'replace')}", markup=False)
    if event:
        sys.stdout.buffer.write(as_document(found))
    elif found.value is None:
        err.print("The record had no value.")
    else:
        sys.stdout.buffer.write(found.value)
    sys.stdout.buffer.flush()


@app.command()
def check(  # noqa: PLR0917 - options of a command
    reason: Reason = None,
    scope: Scope = None,
    since: Since = None,
    until: Until = None,
    most: Annotated[int, typer.Option("--most", min=0, help="How many may wait without an alarm.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Count the dead letters that wait, by reason; end with exit code 3 where there are any, for alarms.

    Example: memstream dlq check --since 2026-03-06T00:00Z || page-somebody
    """
    counts = asyncio.run(_counts(wanted_of(reason, scope, since, until)))
    total = sum(counts.values())
    if as_json:
        print_json({"waiting": total, "reasons": counts})
    elif total:
        told = ", ".join(f"{count} {escape(name)}" for name, count in counts.items())
        out.print(f"{total} dead letters wait: {told}. See memstream dlq list", soft_wrap=True)
    else:
        out.print("No dead letters wait.")
    if total > most:
        raise typer.Exit(THERE_ARE)


async def _rows(wanted: Wanted, limit: int) -> list[tuple[str, LetterTold, str]]:
    """The newest letters, oldest first: name, what is told, and what was decided."""
    found = [
        (letter.name, letter.told, letter.mark.decision.value if letter.mark else "")
        async for letter in read_letters(load(), wanted)
    ]
    return sorted(found, key=lambda row: row[1].time)[-limit:]


async def _counts(wanted: Wanted) -> dict[str, int]:
    return counted([letter.told async for letter in read_letters(load(), wanted)])


async def _find(letter: str) -> Filed:
    wanted = Wanted(names=frozenset({name_of(letter)}), done=True)
    with suppress(TopicMismatch):
        async for found in read_letters(load(), wanted):
            return found
    raise InvalidInput(f"There is no dead letter {letter}: `memstream dlq list --all` shows which there are")
