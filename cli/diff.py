"""`memstream diff`: what another graph knows otherwise, with what was said."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Annotated, Any

import orjson
import typer
from rich.markup import escape

from memstream.cli.console import out
from memstream.cli.graphs import progress, sources
from memstream.sinks.export.diff import Change, How, Said
from memstream.sinks.export.diff import diff as compare
from memstream.sinks.export.verify import Source

app = typer.Typer(add_completion=False)

_SIGNS = {How.GAINED: "[green]+[/]", How.LOST: "[red]-[/]", How.CHANGED: "[yellow]~[/]"}


@app.command()
def diff(
    a: Annotated[str, typer.Argument(help="bolt://…, the folder of a local stack, or an export.")],
    b: Annotated[str | None, typer.Argument(help="The same; without it, the graph that is set.")] = None,
    scope: Annotated[str | None, typer.Option(help="Only this scope and all below it.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Show at most this many; all are counted.")] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="For programs: a line of JSON for each change, all.")] = False,
) -> None:
    """Show which entities, facts and preferences B has gained, lost or changed against A, and what they come from.

    For a change of the extractor: rebuild into a second graph, and see what it would change.

    Example: memstream diff bolt://127.0.0.1:7687 bolt://127.0.0.1:7688 --scope acme
    """
    counts: Counter[tuple[str, How]] = Counter()
    with sources(a, b) as (one, other), _compared(one, other, scope) as changes:
        if as_json:
            _print_lines(changes)
            return
        for change in changes:
            counts[change.what, change.how] += 1
            if counts.total() <= limit:
                _print(change)
    if counts.total() > limit:
        out.print(f"… and {counts.total() - limit:,} more: see --limit")
    _print_counts(counts)


@contextmanager
def _compared(a: Source, b: Source, scope: str | None) -> Iterator[Iterator[Change]]:
    """The changes; the bar goes when both are read."""
    with ExitStack() as stack:
        with progress("Reading") as advance:
            changes = stack.enter_context(compare(a, b, scope, advance))
        yield changes


def _print_lines(changes: Iterator[Change]) -> None:
    for change in changes:
        sys.stdout.buffer.write(orjson.dumps(asdict(change), option=orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


def _print(change: Change) -> None:
    out.print(
        f"{_SIGNS[change.how]} {change.what} {escape(change.text)}  [dim]{escape(change.scope)}[/]", soft_wrap=True
    )
    if change.how is How.CHANGED:
        for line in _changed(change):
            out.print(f"    {escape(line)}", soft_wrap=True)
    for said in _of_both(change):
        words = f"  {said.words}" if said.words else ""
        out.print(f"    [dim]{escape(said.source)} {escape(said.id)}[/]{escape(words)}", soft_wrap=True)


def _of_both(change: Change) -> tuple[Said, ...]:
    """The sources of what there is now, else of what there was."""
    return change.sources_after if change.how is not How.LOST else change.sources_before


def _changed(change: Change) -> Iterator[str]:
    """Which properties changed; where there are several states, those that only one side has."""
    if len(change.before) == len(change.after) == 1:
        before, after = change.before[0], change.after[0]
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                yield f"{name}: {_shown(before.get(name))} → {_shown(after.get(name))}"
        return
    yield from (f"no more: {_shown(state)}" for state in change.before if state not in change.after)
    yield from (f"now: {_shown(state)}" for state in change.after if state not in change.before)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(one)}" for name, one in value.items())
    return "nothing" if value is None else str(value)


def _print_counts(counts: Counter[tuple[str, How]]) -> None:
    if not counts:
        out.print("They know the same.")
        return
    for what, words in (("entity", "entities"), ("fact", "facts"), ("preference", "preferences")):
        told = ", ".join(f"{counts[what, how]:,} {how}" for how in How)
        out.print(f"{words}: {told}")
