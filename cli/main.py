"""The `memstream` command: its frame, and how errors are told."""

from __future__ import annotations

import importlib.metadata
import logging
import os
import sys
from typing import Annotated

import typer
from rich.markup import escape

from memstream.cli.console import err, out
from memstream.cli.lazy import LazyGroup, missing_extra
from memstream.schemas.errors import MemstreamError

app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: memstream up --workers, then memstream publish talk.jsonl --scope acme/ana, "
    'then memstream recall "Where does Ana live?" --scope acme/ana',
)


def _show_version(asked: bool) -> None:
    if asked:
        out.print(f"memstream {importlib.metadata.version('memstream')}")
        raise typer.Exit


@app.callback()
def _root(
    debug: Annotated[
        bool, typer.Option("--debug", envvar="MEMSTREAM_DEBUG", help="Show where an error comes from.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Agents publish what they say and do to Kafka; one memory graph grows in Neo4j."""
    del version
    if debug:
        os.environ["MEMSTREAM_DEBUG"] = "1"  # child processes are told too
    _hear_libraries(debug)
    _point_out_strangers()


def _hear_libraries(debug: bool) -> None:
    """Show what the clients of Kafka and Neo4j log only where it is asked for: our own errors say it once, and better.

    Without a handler Python prints their warnings, one for every attempt. Services configure their logs themselves.
    """
    if debug:
        logging.basicConfig()
    else:
        for name in ("aiokafka", "neo4j"):
            logging.getLogger(name).addHandler(logging.NullHandler())


def _point_out_strangers() -> None:
    from memstream.settings.table import unknown_variables  # noqa: PLC0415 - pydantic would slow down --help

    for name, meant in unknown_variables().items():
        hint = f"; did you mean {meant}?" if meant else ""
        err.print(f"[yellow]Note:[/] {escape(name)} is set, but nothing reads it{hint}", soft_wrap=True)


def main() -> None:
    """Run the command line. Errors of ours are printed as a message and end with exit code 1."""
    try:
        typer.main.get_command(app)(prog_name="memstream")
    except MemstreamError as error:
        _tell(error)
    except ModuleNotFoundError as error:
        told = missing_extra(error, next((word for word in sys.argv[1:] if not word.startswith("-")), None))
        if told is error:
            raise
        _tell(told)


def _tell(error: Exception) -> None:
    if os.environ.get("MEMSTREAM_DEBUG"):
        err.print_exception()
    err.print(f"[bold red]Error:[/] {escape(str(error))}", soft_wrap=True)
    sys.exit(1)
