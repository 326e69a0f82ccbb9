"""`memstream replay`: the graph built again from the log, beside what runs."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from memstream.cli.console import err, out, print_json
from memstream.cli.graphs import progress, sources
from memstream.cli.second import second
from memstream.cli.verify import DIFFERENT
from memstream.deploy.ports import any_free
from memstream.schemas.errors import InvalidInput, UsageError
from memstream.settings import Settings, load
from memstream.sinks.export.compare import PRECISION, VECTORS, Tolerance
from memstream.sinks.export.verify import GraphSource
from memstream.sinks.export.verify import verify as compare
from memstream.sinks.stores import Stores
from memstream.streams.collector import search_seldom
from memstream.streams.logs import configure_logs
from memstream.streams.replay.plan import Plan, Source
from memstream.streams.replay.progress import Meter, State
from memstream.streams.replay.run import Outcome, Replay
from memstream.streams.replay.window import Window

app = typer.Typer(add_completion=False)

_STOPPED = 130  # as of a command that Ctrl-C ended
_WORDS = {"wipe": "Emptying the graph", "extract": "Events to patches", "apply": "Patches to the graph"}


@app.command()
def replay(  # noqa: PLR0917 - options of a command
    source: Annotated[
        Source, typer.Option("--from", help="patches: no extraction, the sink alone. events: all of it again.")
    ],
    scope: Annotated[list[str] | None, typer.Option(help="Only this scope and all below it; may come again.")] = None,
    until: Annotated[str | None, typer.Option(help="Only what was recorded up to then: the graph as it was.")] = None,
    since: Annotated[str | None, typer.Option(help="Only what was recorded from then on.")] = None,
    extractor: Annotated[str | None, typer.Option(help="With another extractor; else the one that is set.")] = None,
    into: Annotated[
        str | None, typer.Option(help="Into another Neo4j, an empty one: bolt://… or a stack's folder.")
    ] = None,
    wipe: Annotated[bool, typer.Option("--wipe", help="Empty the graph first, in batches.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask before emptying.")] = False,
    name: Annotated[str | None, typer.Option(help="Names its lineage; else that follows from all of this.")] = None,
    processes: Annotated[int, typer.Option(min=0, max=256, help="Extraction processes; 0: as set.")] = 0,
    verify: Annotated[
        str | None,
        typer.Option(help="Compare with another graph (bolt://…) or an export in the end; exit code 3: differs."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs: the summary as JSON.")] = False,
) -> None:
    """Build the graph again from the log, in topics and consumer groups of its own, while all else goes on.

    Ctrl-C stops it cleanly, and the same command goes on where it was. Without --into and --wipe the patches of a newer
    extractor go into the running graph, where they replace the older ones.

    Example: memstream replay --from events --extractor better --into bolt://127.0.0.1:7688
    """
    settings = load()
    if into is not None:
        settings, into = second(settings, into)
    plan = Plan(source, Window.of(tuple(scope or ()), since, until), into, wipe, extractor, name)
    plan.check()
    if verify is not None and plan.live:
        raise InvalidInput("--verify compares a graph of its own: --into another Neo4j (bolt://…), or --wipe this one")
    log = settings.data_dir / "logs" / f"{plan.lineage(settings)}.log"
    meter = Meter()
    search_seldom()
    one = Replay(plan, settings, meter, log, any_free(), processes)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as told:
        configure_logs(settings, to=told, stage="replay")
        outcome = asyncio.run(_run(one, yes))
    differences = _compared(plan, settings, verify) if verify is not None and outcome.finished else None
    _tell(plan, settings, one, outcome, differences, as_json)
    if not outcome.finished:
        raise typer.Exit(_STOPPED)
    if differences:
        raise typer.Exit(DIFFERENT)


def _compared(plan: Plan, settings: Settings, name: str) -> list[str]:
    """What differs first between the graph that was rebuilt and another one, in each scope that was."""
    target = plan.target(settings)
    with Stores.connect(target) as stores, sources(name) as (other,), progress("Comparing") as advance:
        rebuilt = GraphSource(target.neo4j_uri, stores.all()[0])
        tolerance = Tolerance(PRECISION, VECTORS)
        verdicts = [
            compare(rebuilt, other, scope, tolerance=tolerance, advance=advance)
            for scope in plan.window.scopes or (None,)
        ]
    return [str(one) for verdict in verdicts for one in verdict.differences]


async def _run(one: Replay, yes: bool) -> Outcome:
    if await one.wants_wipe() and not yes:
        _ask(one)
    stop = asyncio.Event()
    for sign in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(sign, stop.set)
    with _shown(one.meter):
        return await one.run(stop)


def _ask(one: Replay) -> None:
    graph = one.plan.into or one.settings.neo4j_uri
    if not sys.stdin.isatty():
        raise UsageError(f"This would empty the graph at {graph}: add --yes where that is what you want")
    err.print(f"This empties the graph at {escape(graph)} before it is built again.")
    typer.confirm("Go on?", abort=True, err=True)


@contextmanager
def _shown(meter: Meter) -> Iterator[None]:
    """The steps as bars, with a rate and an estimate, to standard error."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=False) as bars:
        shown: dict[str, TaskID] = {}

        def tell(state: State) -> None:
            if state.step not in shown:
                shown[state.step] = bars.add_task(_WORDS[state.step], total=None, rate="")
            rate = meter.rate(state.step)
            text = f"{rate:,.0f}/s" if rate else ""
            bars.update(shown[state.step], completed=state.done, total=state.total or None, rate=text)

        meter.report = tell
        yield


def _tell(  # noqa: PLR0917 - all that there is to say
    plan: Plan, settings: Settings, one: Replay, outcome: Outcome, differences: list[str] | None, as_json: bool
) -> None:
    rates = {step: round(one.meter.rate(step), 1) for step in one.meter.seconds}
    seconds = {step: round(took, 2) for step, took in one.meter.seconds.items()}
    if as_json:
        told = {"plan": str(plan), **asdict(outcome), "log": str(one.log), "seconds": seconds, "rates": rates}
        print_json({**told, "differences": differences})
        return
    out.print(f"Replayed {escape(str(plan))}:")
    for line in _lines(plan, outcome, rates):
        out.print(f"  {escape(line)}", soft_wrap=True)
    if differences is not None:
        out.print(f"  Differs first: {escape(differences[0])}" if differences else "  The same.", soft_wrap=True)
    if not outcome.finished:
        out.print("Stopped. The same command goes on here.")
        return
    for line in _what_next(plan, settings, outcome):
        out.print(line, markup=False, soft_wrap=True)


def _lines(plan: Plan, outcome: Outcome, rates: dict[str, float]) -> Iterator[str]:
    if plan.source is Source.EVENTS:
        yield f"{outcome.extracted:,} events to patches of {outcome.lineage}, {rates.get('extract', 0):,.0f} a second"
    if not plan.live:
        yield f"{outcome.patches:,} patches into {outcome.graph}, {rates.get('apply', 0):,.0f} a second"
    if outcome.passed_over:
        yield f"{outcome.passed_over:,} patches passed over: not in the window"
    if outcome.unreadable:
        yield f"{outcome.unreadable:,} passed over: they are sealed, and their keys are destroyed"
    if outcome.cut:
        yield f"{outcome.cut:,} without the part that was read with the help of what is erased"
    if outcome.refused:
        yield f"{outcome.refused:,} patches that no graph takes"


def _what_next(plan: Plan, settings: Settings, outcome: Outcome) -> Iterator[str]:
    if outcome.nothing_new:
        yield "All of it was done before. To do it again, give it another --name."
    elif plan.live:
        yield "The running sink takes them in; where they are of a higher generation they replace the older ones."
    elif not plan.window.whole:
        yield "The graph holds a part of the log: it is for reading, and sinks refuse it."
    elif plan.source is Source.EVENTS:
        own = {"TOPIC_PREFIX": outcome.lineage, "EVENTS_PREFIX": settings.events_prefix or settings.topic_prefix}
        if plan.extractor:
            own["EXTRACTOR"] = plan.extractor
        words = " ".join(f"MEMSTREAM_{name}={value}" for name, value in {**own, "NEO4J_URI": outcome.graph}.items())
        yield f"To keep it up to date:  {words} memstream worker --stage all"
    else:
        yield f"To keep it up to date:  MEMSTREAM_NEO4J_URI={outcome.graph} memstream worker --stage sink"
