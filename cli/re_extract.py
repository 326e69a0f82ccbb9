"""`memstream re-extract`: events that lack an extractor which did not answer, sent through extraction again."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Collection
from typing import Annotated

import typer
from rich.markup import escape

from memstream.cli.console import out, print_json
from memstream.extractors.options import parts_of
from memstream.schemas.errors import InvalidInput
from memstream.settings import Settings, load
from memstream.streams.marked import Marked, find_marked
from memstream.streams.re_extract import Done, ReExtraction
from memstream.streams.replay.window import Window

SOME_ARE_LEFT = 3


def re_extract(  # noqa: PLR0917 - options of a command
    scope: Annotated[list[str] | None, typer.Option("--scope", "-s", help="Only this scope and below; again.")] = None,
    since: Annotated[str | None, typer.Option(help="Only what was recorded from then on.")] = None,
    missing: Annotated[list[str] | None, typer.Option(help="Only what lacks this extractor; again.")] = None,
    processes: Annotated[int, typer.Option(min=0, max=256, help="Extraction processes; 0: as set.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what lacks what, and send nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Send events through again that were read without one of their extractors, because it did not answer.

    What comes of them is a newer generation, which replaces what they said before. Ends with exit code 3 where some are
    left: the extractor still does not answer. Run it by a timer, if you like; what is complete is not sent again.

    Example: memstream re-extract --missing openai --dry-run
    """
    settings = load(**({"extract_processes": processes} if processes else {}))
    window = Window.of(tuple(scope or ()), since)
    found = asyncio.run(find_marked(settings, window, missing or ()))
    if not dry_run:
        _check(settings, found)
    done = asyncio.run(_run(settings, found)) if found and not dry_run else Done()
    _tell(found, done, dry_run, as_json)
    if not dry_run and done.answered + done.gone < len(found):
        raise typer.Exit(SOME_ARE_LEFT)


def _check(settings: Settings, found: Collection[Marked]) -> None:
    lacking = sorted({name for one in found for name in one.missing} - set(parts_of(settings.extractor)))
    if lacking:
        raise InvalidInput(
            f"What was found lacks {', '.join(lacking)}, and MEMSTREAM_EXTRACTOR is {settings.extractor}: set it to "
            "what the workers have, or narrow this with --missing"
        )


async def _run(settings: Settings, found: Collection[Marked]) -> Done:
    stop = asyncio.Event()
    for sign in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(sign, stop.set)
    return await ReExtraction(settings, found, stop).run()


def _tell(found: Collection[Marked], done: Done, dry_run: bool, as_json: bool) -> None:
    names = dict(sorted(Counter(name for one in found for name in one.missing).items()))
    scopes = dict(sorted(Counter(one.scope for one in found).items()))
    left = len(found) - done.answered - done.gone
    if as_json:
        told = {"found": len(found), "missing": names, "scopes": scopes, "dry_run": dry_run}
        print_json({**told, "answered": done.answered, "gone": done.gone, "left": left})
        return
    if not found:
        out.print("Every event was read by all of its extractors.")
        return
    lacks = ", ".join(f"{count:,} lack {escape(name)}" for name, count in names.items())
    out.print(f"{len(found):,} events in {len(scopes):,} scopes: {lacks}.")
    if dry_run:
        for name, count in scopes.items():
            out.print(f"  {escape(name)}: {count:,}", soft_wrap=True)
        return
    out.print(f"{done.answered:,} are read by all now. The running sink takes them in, in the place of what was there.")
    if done.gone:
        out.print(f"{done.gone:,} can't be read again: they are not in the log any more, or refused today.")
    if left:
        out.print(f"{left:,} are left as they were: run it again when the extractor answers.")
