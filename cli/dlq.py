"""`memstream dlq list | show`: the dead letters."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from memstream.cli.console import err, out, print_json
from memstream.schemas.errors import InvalidInput, TopicMismatch
from memstream.schemas.topics import Topic
from memstream.settings import load
from memstream.streams.dead_letters import LetterTold, read_letter
from memstream.streams.log_reader import read_to_end

app = typer.Typer(no_args_is_help=True, help="Look at the dead letters, with their reasons.")

_WIDTH = 400


@dataclass(frozen=True, slots=True)
class _Row:
    letter: str
    told: LetterTold


@app.command("list")
def list_letters(
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    reason: Annotated[str | None, typer.Option(help="Only those with this reason, such as bad_time.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most this many, the newest.")] = 100,
) -> None:
    """Show what was refused: when, why, and where it lies in its own topic.

    Example: memstream dlq list --reason bad_time
    """
    rows = asyncio.run(_rows(reason, limit))
    if as_json:
        fields = LetterTold.__slots__
        print_json([{"letter": row.letter, **{name: getattr(row.told, name) for name in fields}} for row in rows])
        return
    if not rows:
        out.print("No dead letters.")
        return
    table = Table(header_style="bold", pad_edge=False, show_lines=True)
    for column in ("Letter", "Time", "Origin", "Reason", "Message"):
        table.add_column(column, overflow="fold", no_wrap=column in ("Letter", "Time"))
    for row in rows:
        told = row.told
        origin = f"{told.topic}-{told.partition} at {told.offset}"
        cells = (row.letter, told.time[:19].replace("T", " "), origin, told.reason, told.message[:_WIDTH])
        table.add_row(*map(escape, cells))
    out.print(table)
    out.print("The bytes of one: memstream dlq show LETTER")


@app.command()
def show(
    letter: Annotated[str, typer.Argument(help="Partition and offset as `list` shows them, such as 3:17.")],
    headers: Annotated[bool, typer.Option("--headers", help="Print its headers too, to standard error.")] = False,
) -> None:
    """Print the untouched bytes of a dead letter to standard output.

    Example: memstream dlq show 3:17 > event.json
    """
    record = asyncio.run(_find(letter))
    if headers:
        err.print(f"key: {record.key!r}", markup=False)
        for name, value in record.headers:
            err.print(f"{name}: {(value or b'').decode('utf-8', 'replace')}", markup=False)
    if record.value is None:
        err.print("The record had no value.")
        return
    sys.stdout.buffer.write(record.value)
    sys.stdout.buffer.flush()


async def _rows(reason: str | None, limit: int) -> list[_Row]:
    """The newest letters, oldest first; a record that was refused twice across a restart is shown once."""
    found: dict[tuple[str, int, int], _Row] = {}
    async for record in _letters(last=None if reason else limit):
        told = read_letter(record.headers, record.value)
        if reason is None or told.reason == reason:
            found.setdefault(
                (told.topic, told.partition, told.offset), _Row(f"{record.partition}:{record.offset}", told)
            )
    return sorted(found.values(), key=lambda row: row.told.time)[-limit:]


async def _find(letter: str) -> Any:
    partition, _, offset = letter.partition(":")
    if not (partition.isdigit() and offset.isdigit()):
        raise InvalidInput(f"{letter!r} names no dead letter: write partition:offset, as `memstream dlq list` shows it")
    with suppress(TopicMismatch):
        async for record in _letters(int(partition)):
            if record.offset == int(offset):
                return record
    raise InvalidInput(f"There is no dead letter {letter}: `memstream dlq list` shows which there are")


async def _letters(partition: int | None = None, last: int | None = None) -> AsyncIterator[Any]:
    settings = load()
    topic = Topic.DEAD_LETTER.named(settings.topic_prefix)
    partitions = None if partition is None else (partition,)
    async for record in read_to_end(settings, topic, partitions, last):
        yield record
