"""Graphs as commands name them: an address, the folder of a local stack, or an export in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from memstream.cli.console import err
from memstream.schemas.errors import InvalidInput
from memstream.settings import Settings, load
from memstream.settings.model import STACK_FILE
from memstream.sinks.export.verify import FileSource, GraphSource, Source
from memstream.sinks.stores import Stores


def settings_of(name: str | None) -> Settings:
    """The settings that lead to a graph: None is the one that is set. Raises InvalidInput where it names none."""
    if name is None:
        return load()
    if "://" in name:
        return load(neo4j_uri=name)
    if (Path(name) / STACK_FILE).is_file():
        return load(data_dir=Path(name))
    raise InvalidInput(f"{name!r} names no graph: give bolt://… or the folder of a local stack, in which stack.env is")


@contextmanager
def graph(name: str | None) -> Iterator[GraphSource]:
    """A graph in a Neo4j. Its driver is closed at the end."""
    settings = settings_of(name)
    with Stores.connect(settings) as stores:
        yield GraphSource(settings.neo4j_uri, stores.all()[0])


@contextmanager
def sources(*names: str | None) -> Iterator[list[Source]]:
    """Graphs and exports, in their order. Raises InvalidInput where a name leads to neither."""
    with ExitStack() as stack:
        yield [_source(name, stack) for name in names]


def _source(name: str | None, stack: ExitStack) -> Source:
    if name is None or "://" in name or Path(name).is_dir():
        return stack.enter_context(graph(name))
    return FileSource(Path(name))


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, with a rate; gives the function that is told how many lines there are more."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        *((BarColumn(), MofNCompleteColumn()) if total is not None else (TextColumn("{task.completed:,.0f} lines"),)),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bars:
        task = bars.add_task(what, total=total, rate="")

        def advance(count: int) -> None:
            bars.advance(task, count)
            speed = bars.tasks[0].speed
            bars.update(task, rate=f"{speed:,.0f}/s" if speed else "")

        yield advance
