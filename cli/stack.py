"""`memstream up | down | status | logs`: the local stack."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from memstream.cli.console import err, out, print_json, table_of
from memstream.deploy.places import BOLT, HTTP, KAFKA
from memstream.deploy.stack import PartStatus, Stack
from memstream.schemas.errors import StackError
from memstream.settings import Settings, load

_NOT_ALL_WELL = 3  # the exit code that `systemctl status` has for a thing that doesn't run

Port = Annotated[
    int | None, typer.Option(min=1, max=65535, help="Exactly this port; else the usual one or a free one.")
]


def up(
    kafka_port: Port = None,
    bolt_port: Port = None,
    http_port: Port = None,
    workers: Annotated[
        bool, typer.Option("--workers/--no-workers", help="Start the workers and the query service too.")
    ] = False,
) -> None:
    """Start Kafka and Neo4j here and wait until they answer; what runs already is left alone.

    By Docker where its engine answers, else as child processes on Java. Where MEMSTREAM_KAFKA_BOOTSTRAP or
    MEMSTREAM_NEO4J_URI is set, that service is checked and used, and none is started.

    Example: memstream up --workers
    """
    wanted = {name: port for name, port in ((KAFKA, kafka_port), (BOLT, bolt_port), (HTTP, http_port)) if port}
    with progress() as say:
        settings = Stack(load(), say).up(wanted, workers)
    out.print(f"Kafka  {settings.kafka_bootstrap}")
    out.print(f"Neo4j  {settings.neo4j_uri}  (user and password: {_shown(settings)})", soft_wrap=True)
    if workers:
        out.print(f"Query  {settings.query_url}")
    out.print("Stop it with `memstream down`.")


def down(
    wipe: Annotated[bool, typer.Option("--wipe", help="Remove the data too: topics, graph, logs.")] = False,
) -> None:
    """Stop all that `memstream up` started. The data stays, unless it is wiped.

    Example: memstream down --wipe
    """
    with progress() as say:
        stopped = Stack(load(), say).down(wipe)
    out.print(f"Stopped: {', '.join(stopped)}." if stopped else "Nothing was running.")
    if wipe:
        out.print("The data is removed.")


def status(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """Show each part: whether it runs and answers, where, and its memory. Exit code 3 unless all is well.

    Example: memstream status --json
    """
    found = Stack(load(), _say_nothing).status()
    if as_json:
        print_json(found)
    else:
        _print_status(found)
    if not all(part.healthy for part in found):
        raise typer.Exit(_NOT_ALL_WELL)


def logs(
    part: Annotated[str | None, typer.Argument(help="kafka, neo4j, extract, sink or query; else all.")] = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many from the end.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as they come; end with Ctrl-C.")] = False,
) -> None:
    """Show the end of what the parts said.

    Example: memstream logs neo4j -n 100
    """
    stack = Stack(load(), _say_nothing)
    compose = stack.compose()
    if compose is not None and part in (None, "kafka", "neo4j"):
        raise typer.Exit(compose.compose().logs([part] if part else [], lines, follow))
    logged = stack.table.logged()  # logs stay when their parts are stopped: then they are wanted most
    files = [(name, stack.table.log_of(name)) for name in logged if part in (None, name)]
    if not files:
        there = f"There are those of {', '.join(logged)}." if logged else "`memstream up` starts what writes them."
        raise StackError(f"There is no log of {part or 'any part'}. {there}")
    for name, _ in files:
        _print_lines(name, stack.table.tail(name, lines), len(files) > 1)
    if follow:
        _follow(files)


def _shown(settings: Settings) -> str:
    if settings.neo4j_password is None:
        return "none"
    return f"{settings.neo4j_user}, in {settings.stack_file}" if settings.stack_file.exists() else settings.neo4j_user


def _say_nothing(part: str, text: str) -> None:
    del part, text


@contextmanager
def progress() -> Iterator[Callable[[str, str], None]]:
    """A function that shows news of a part: in a line that is rewritten on a terminal, in a new line elsewhere."""
    if not err.is_terminal:
        yield lambda part, text: err.print(f"{part:<8}{text}", markup=False, soft_wrap=True)
        return
    news: dict[str, tuple[str, float]] = {}

    def render() -> Table:
        grid = Table.grid(padding=(0, 1))
        for part, (text, since) in news.items():
            ready = text.startswith("ready")
            mark = Text("✓", style="green") if ready else spinner
            grid.add_row(mark, part, text if ready else f"{text} ({time.monotonic() - since:.0f} s)")
        return grid

    spinner = Spinner("dots")
    with Live(get_renderable=render, console=err, refresh_per_second=8):

        def say(part: str, text: str) -> None:
            news[part] = (text, time.monotonic())

        yield say


def _print_status(found: list[PartStatus]) -> None:
    table = table_of("Part", "State", "Answers", "Address", "Pid", "Ports", "Memory")
    for part in found:
        ports = ", ".join(f"{name} {port}" for name, port in part.ports.items())
        memory = f"{part.memory_mb} MB" if part.memory_mb else ""
        answers = "[green]yes[/]" if part.healthy else "[red]no[/]"
        table.add_row(part.name, part.state, answers, part.address, str(part.pid or ""), ports, memory)
    out.print(table)
    for part in found:
        if not part.healthy and part.state != "stopped":
            err.print(f"[bold]{part.name}[/] {escape(part.reason)}", soft_wrap=True)


def _print_lines(name: str, text: str, named: bool) -> None:
    for line in text.splitlines():
        sys.stdout.write(f"{name:<8}{line}\n" if named else f"{line}\n")


def _follow(files: list[tuple[str, Path]]) -> None:
    positions = {name: path.stat().st_size for name, path in files}
    while True:
        for name, path in files:
            size = path.stat().st_size if path.exists() else 0
            if size < positions[name]:
                positions[name] = 0  # the part was started anew, with a new log
            if size > positions[name]:
                with path.open("rb") as file:
                    file.seek(positions[name])
                    text = file.read(size - positions[name]).decode("utf-8", errors="replace")
                positions[name] = size
                _print_lines(name, text, len(files) > 1)
                sys.stdout.flush()
        time.sleep(0.5)
