"""`memstream verify`: whether two graphs are the same, and what the digest of one is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape

from memstream.cli.console import err, out, print_json
from memstream.cli.graphs import progress, sources
from memstream.schemas.errors import InvalidInput
from memstream.sinks.export.compare import PRECISION, VECTORS, Tolerance
from memstream.sinks.export.verify import Verdict, totals
from memstream.sinks.export.verify import verify as compare

app = typer.Typer(add_completion=False)

DIFFERENT = 3  # 1 is an error, 2 a wrong call


@app.command()
def verify(  # noqa: PLR0917 - options of a command
    a: Annotated[str | None, typer.Argument(help="bolt://…, the folder of a local stack, or an export.")] = None,
    b: Annotated[str | None, typer.Argument(help="The same; without it, the graph that is set.")] = None,
    scope: Annotated[str | None, typer.Option(help="Only this scope and all below it.")] = None,
    digest: Annotated[bool, typer.Option("--digest", help="Print the digest of A alone, and compare nothing.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Show more than the first difference.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="With --all: at most this many.")] = 100,
    vectors: Annotated[float, typer.Option(min=0, help="How far vectors may differ, for their length.")] = VECTORS,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Compare two graphs, or a graph and an export. Ends with 0 where they are the same, with 3 where they differ.

    Example: memstream verify acme.jsonl bolt://127.0.0.1:7688 --all

    Example: memstream verify --digest --scope acme
    """
    if digest:
        _digest(a, b, scope, as_json)
        return
    if a is None:
        raise InvalidInput("what is to be compared? Name one graph or export (or two), or ask for --digest")
    with sources(a, b) as (one, other), progress("Comparing") as advance:
        verdict = compare(
            one, other, scope, limit=limit if every else 1, tolerance=Tolerance(PRECISION, vectors), advance=advance
        )
        names = one.name, other.name
    if as_json:
        print_json({"equal": verdict.equal, **asdict(verdict)})
    else:
        _tell(verdict, names, every)
    if not verdict.equal:
        raise typer.Exit(DIFFERENT)


def _digest(a: str | None, b: str | None, scope: str | None, as_json: bool) -> None:
    if b is not None:
        raise InvalidInput("--digest is of one graph or export, not of two")
    with sources(a) as (one,), progress(f"Reading {escape(one.name)}") as advance:
        found = totals(one, scope, advance)
    if as_json:
        print_json(asdict(found))
        return
    out.print(found.digest)
    err.print(f"{found.nodes:,} nodes and {found.edges:,} edges")


def _tell(verdict: Verdict, names: tuple[str, str], every: bool) -> None:
    if verdict.equal and verdict.a is not None and verdict.b is not None:
        counts = f"{verdict.a.nodes:,} nodes and {verdict.a.edges:,} edges"
        out.print(f"The same: {counts}, digest {verdict.a.digest}", soft_wrap=True)
        if verdict.a.digest != verdict.b.digest:
            told = f"The digests differ, by what is the same within the tolerance: that of B is {verdict.b.digest}"
            out.print(told, soft_wrap=True)
        return
    for letter, name in zip("AB", names, strict=True):
        out.print(f"{letter} is {escape(name)}", soft_wrap=True)
    for one in verdict.differences:
        out.print(escape(str(one)), soft_wrap=True)
    if verdict.a is None:
        out.print("There may be more: --all shows them." if not every else "There may be more: see --limit.")
