"""`memstream demo`: everything brought up, the sample story published, and what memory makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from memstream.cli import demo_show
from memstream.cli.console import err, out
from memstream.cli.demo_story import (
    Check,
    Contents,
    Line,
    Told,
    contents,
    is_known,
    letters_of,
    publish,
    story,
    until_visible,
    until_worked_off,
)
from memstream.cli.stack import progress
from memstream.client.reader import AsyncReader
from memstream.deploy.apps import APP_PARTS
from memstream.deploy.backends import died
from memstream.deploy.stack import PartStatus, Stack
from memstream.deploy.story import ROOT
from memstream.schemas.errors import StackError
from memstream.schemas.scope import parse_scope
from memstream.settings import Settings, load
from memstream.streams.extract_process import group_of
from memstream.streams.topics_admin import create_topics

_READ_SECONDS = 120.0  # the first reads plan their queries, on a machine that may be busy

app = typer.Typer(help="Tell the sample story and show what memory makes of it.")


@app.command()
def demo(
    root: Annotated[str, typer.Option("--root", hidden=True, help="First segment of the story's scopes.")] = ROOT,
) -> None:
    """Bring up all parts, publish six weeks of a courier service's life, and show what an agent gets of it.

    Run it as often as you like: publishing the story again changes nothing in the graph.

    Example: memstream demo
    """
    parse_scope(root)
    with progress() as say:
        settings = Stack(load(), say).up({}, workers=False)
        asyncio.run(create_topics(settings))
        settings = Stack(load(), say).up({}, workers=True)
    asyncio.run(_tell(settings, root, partial(_check_parts, Stack(load(), _say_nothing))))
    _print_addresses(Stack(load(), _say_nothing).status(), settings)


async def _tell(settings: Settings, root: str, check: Check) -> None:
    lines = story(root)
    async with AsyncReader(url=settings.query_url, timeout=_READ_SECONDS) as reader:
        before = await asyncio.to_thread(contents, settings, root) if await is_known(reader, lines) else None
        told, seconds = await _published(settings, reader, lines, check)
        after = await asyncio.to_thread(contents, settings, root)
        show = demo_show.Show(reader, root)
        await show.recalled()
        await show.corrected()
        await show.believed()
        demo_show.dead_letters(await letters_of(settings, told.invalid))
        demo_show.rates(_rates(told, seconds, before, after))
        show.more()


async def _published(settings: Settings, reader: AsyncReader, lines: list[Line], check: Check) -> tuple[Told, float]:
    """Publish the story and wait for the graph: what was published, and the seconds until all of it was visible."""
    out.print(f"\nThe story: six weeks at Speedwell Couriers, two people, three agents, {len(lines)} events.")
    with _bars(len(lines)) as (bars, publishing, arriving):
        told = await publish(settings, lines, lambda: bars.advance(publishing))
        bars.update(arriving, total=len(told.events))
        seconds = told.seconds + await until_visible(reader, told.events, lambda: bars.advance(arriving), check)
        await until_worked_off(settings, reader, told, group_of(settings), check)
    return told, seconds


@contextmanager
def _bars(count: int) -> Iterator[tuple[Progress, TaskID, TaskID]]:
    columns = (TextColumn("{task.description:<13}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err) as bars:
        yield bars, bars.add_task("published", total=count), bars.add_task("in the graph", total=count)


def _rates(told: Told, seconds: float, before: Contents | None, after: Contents) -> list[tuple[str, str]]:
    count = len(told.events) + len(told.invalid)
    rows = [("published and acked", f"{count} events in {told.seconds:.1f} s, {count / told.seconds:,.0f} a second")]
    if before is None:
        rate = len(told.events) / seconds
        rows.append(("published until visible", f"{len(told.events)} in {seconds:.1f} s, {rate:,.0f} a second"))
        rows.append(("the graph", str(after)))
    elif before == after:
        rows.append(("published again", f"nothing has changed in the graph: {after}, as before"))
    else:
        rows.append(("published again", f"the graph has changed: {after}; before: {before}"))
    return rows


def _print_addresses(parts: list[PartStatus], settings: Settings) -> None:
    demo_show.heading("What runs, and where")
    for part in parts:
        http = part.ports.get("http")
        more = {"neo4j": f"  http://127.0.0.1:{http} in a browser" if http else "", "query": "/docs"}
        out.print(f"  {part.name:<9}{escape(part.address + more.get(part.name, ''))}", soft_wrap=True)
    if settings.neo4j_password is not None and all(part.state != "external" for part in parts):
        out.print(f"  Neo4j's password is in {escape(str(settings.stack_file))}.", soft_wrap=True)
    out.print("\nStop all of it with [bold]make down[/] (or memstream down); the data stays.")


def _check_parts(stack: Stack) -> None:
    for part in APP_PARTS:
        if (why := died(stack.table, part)) is not None:
            raise StackError(f"{part} {why}")


def _say_nothing(part: str, text: str) -> None:
    del part, text
