"""`memstream export` and `memstream import`: a graph as a file, and back."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from memstream.cli.console import err, out, print_json
from memstream.cli.graphs import graph, progress, settings_of
from memstream.extractors.vectors.dims import dimensions_of
from memstream.sinks.export import file as files
from memstream.sinks.export.file import ExportFile, Totals
from memstream.sinks.export.load import load
from memstream.sinks.export.verify import GraphSource

export_app = typer.Typer(add_completion=False)
import_app = typer.Typer(add_completion=False)

_STDOUT = "-"


@export_app.command("export")
def export(
    scope: Annotated[str | None, typer.Option(help="Only this scope and all below it.")] = None,
    to: Annotated[str, typer.Option("--out", metavar="FILE", help="Write here; - is standard output.")] = _STDOUT,
    of: Annotated[
        str | None, typer.Option("--graph", help="Of another graph: bolt://… or the folder of a local stack.")
    ] = None,
) -> None:
    """Write a graph as lines of JSON, sorted: all that was said and what is current, with no internal ids.

    Equal graphs have equal lines. The graph must take no patches meanwhile: stop the sink, what is published waits.

    Example: memstream export --scope acme --out acme.jsonl
    """
    with graph(of) as source, progress(f"Reading {escape(source.name)}") as advance:
        if to == _STDOUT:
            totals = files.write(sys.stdout.buffer, *source.export(scope), advance)
        else:
            totals = _to_file(source, scope, Path(to), advance)
    err.print(f"{_words(totals)} {escape(to) if to != _STDOUT else 'written'}, digest {totals.digest}", soft_wrap=True)


def _to_file(source: GraphSource, scope: str | None, path: Path, advance: files.Advance) -> Totals:
    with files.replacing(path) as file:
        return files.write(file, *source.export(scope), advance)


@import_app.command("import")
def load_export(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="What `memstream export` wrote.")],
    into: Annotated[
        str | None, typer.Option(help="Into another graph: bolt://… or the folder of a local stack.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Load an export into an empty graph, for reading and comparing. Sinks refuse that graph.

    All of the file is checked before anything is written. Where it was stopped, the same command goes on.

    Example: memstream import acme.jsonl --into bolt://127.0.0.1:7688
    """
    file = ExportFile(path)
    settings = settings_of(into)
    with graph(into) as target:
        with progress(f"Checking {escape(str(path))}") as advance:
            totals = file.check(advance)
        with progress(f"Loading into {escape(target.name)}", totals.lines) as advance:
            done = load(target.store, file, totals, dimensions_of(settings.embedder), advance)
    if as_json:
        print_json({"graph": target.name, **asdict(totals), "loaded_before": done.before})
        return
    if done.before == totals.lines:
        out.print(f"{escape(target.name)} has all of it already.", soft_wrap=True)
        return
    out.print(f"{_words(totals)} {escape(target.name)}, digest {totals.digest}", soft_wrap=True)
    out.print("It is for reading and comparing: sinks refuse it.")


def _words(totals: Totals) -> str:
    return f"{totals.nodes:,} nodes and {totals.edges:,} edges:"
