"""`python -m chaos [--seed N …] [--faults N] [--json FILE]`: minutes of faults on a Kafka and a Neo4j of its own."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import orjson
from rich.console import Console
from rich.table import Table

from chaos.misfortune import KINDS
from chaos.own_stack import OwnStack
from chaos.run import Outcome, Plan, run
from memstream.schemas.errors import MemstreamError
from memstream.settings import load

PARTITIONS = 3


def main() -> int:
    """Run each seed, report, and return 1 where anything was lost or differs."""
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("--seed", type=int, action="append", help="run this seed; may be given several times")
    parser.add_argument("--runs", type=int, default=3, help="how many seeds to run where none is given")
    parser.add_argument("--faults", type=int, default=26, help="faults in each run")
    parser.add_argument("--rate", type=float, default=20.0, help="events published a second")
    parser.add_argument("--most", type=int, default=6_000, help="events after which they are published slowly")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report to a file as well")
    told = parser.parse_args()
    seeds = told.seed or [secrets.randbelow(10_000) for _ in range(told.runs)]
    console = Console(highlight=False)
    home = Path(tempfile.mkdtemp(prefix="memstream-chaos-"))
    try:
        outcomes = asyncio.run(
            _run([Plan(seed, KINDS, told.faults, told.rate, told.most) for seed in seeds], home, console)
        )
    except MemstreamError as error:
        Console(stderr=True).print(f"{error}\nLogs are in {home}", style="red", markup=False)
        return 1
    if told.json is not None:
        told.json.write_bytes(orjson.dumps([asdict(one) for one in outcomes], option=orjson.OPT_INDENT_2))
    bad = [outcome.seed for outcome in outcomes if outcome.wrong]
    if bad:
        console.print(f"[red]wrong with seed {', '.join(map(str, bad))}[/]; logs are in {home}")
        return 1
    shutil.rmtree(home, ignore_errors=True)
    return 0


async def _run(plans: Sequence[Plan], home: Path, console: Console) -> list[Outcome]:
    stack = OwnStack(home / "stack", load().jars_dir, PARTITIONS)
    try:
        console.print("starting a Kafka and a Neo4j to be killed")
        await stack.up()
        return [await _run_one(plan, stack, home / f"seed-{plan.seed}", console) for plan in plans]
    finally:
        await asyncio.to_thread(stack.close)


async def _run_one(plan: Plan, stack: OwnStack, folder: Path, console: Console) -> Outcome:
    """The outcome of a run, also where it came to no end, shown as soon as it is there."""
    try:
        outcome = await run(plan, stack, folder, console.print)
    except AssertionError as error:
        outcome = Outcome(plan.seed, wrong=[str(error)])
    _show(outcome, console)
    return outcome


def _show(outcome: Outcome, console: Console) -> None:
    table = Table(title=f"seed {outcome.seed}", title_justify="left")
    for name, justify in (("at", "right"), ("fault", "left"), ("hit", "left"), ("took", "right")):
        table.add_column(name, justify="right" if justify == "right" else "left")
    for struck in outcome.struck:
        table.add_row(f"{struck.at:.1f} s", struck.kind, struck.target, f"{struck.seconds:.1f} s")
    console.print(table)
    for name, count in outcome.counts.items():
        console.print(f"  {count:>7,} {name}")
    for name, seconds in outcome.seconds.items():
        console.print(f"  {seconds:>7.1f} s {name}")
    for name, digest in outcome.digests.items():
        console.print(f"  {digest[:16]} {name}")
    for wrong in outcome.wrong:
        console.print(f"  WRONG {wrong}", style="red", markup=False)
    if not outcome.wrong:
        console.print("  nothing acked was lost, and the three graphs are equal", style="green")


if __name__ == "__main__":
    sys.exit(main())
