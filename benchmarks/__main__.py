"""`python -m benchmarks [NAME …] [--json FILE] [--quick]`: measures against the running Kafka and Neo4j."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import orjson
from rich.console import Console

from benchmarks import extract, growth, replay, resolution, sealing, sink, whole
from benchmarks.figures import Section, as_json, show
from memstream.deploy.health import kafka_health, neo4j_health
from memstream.schemas.errors import MemstreamError, StackError
from memstream.settings import Settings, load

NAMES = (
    extract.NAME, sink.NAME, sealing.NAME, growth.GROWTH, replay.REPLAY, replay.DUPLICATES, whole.PIPELINE,
    whole.LATENCY, whole.MEMORY, resolution.NAME,
)  # fmt: skip
BY_NAME = (growth.MILLION,)  # take too long to be run with the others
ALONE = {resolution.NAME}  # need neither Kafka nor Neo4j


def main() -> int:
    """Run the benchmarks named, all without names. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"{', '.join(NAMES)}; all of these where none is given; {', '.join(BY_NAME)}",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything to a file as well")
    parser.add_argument("--quick", action="store_true", help="less of everything: a few minutes, rough figures")
    told = parser.parse_args()
    unknown = sorted(set(told.names) - {*NAMES, *BY_NAME})
    if unknown:
        parser.error(f"no benchmark named {', '.join(unknown)}; there are {', '.join((*NAMES, *BY_NAME))}")
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it logs each retry; what fails in the end is raised
    console = Console(highlight=False)
    try:
        return asyncio.run(_run(told.names or NAMES, told.json, quick=told.quick, console=console))
    except MemstreamError as error:
        Console(stderr=True).print(f"[red]{error}[/]")
        return 1


async def _run(names: Sequence[str], file: Path | None, *, quick: bool, console: Console) -> int:
    begun = time.monotonic()
    stack = load()
    if set(names) - ALONE:
        await _check(stack)
    sections: list[Section] = []
    async for section in _sections(stack, names, quick=quick):
        show(section, console)
        sections.append(section)
    if file is not None:
        found = orjson.dumps(as_json(sections, time.monotonic() - begun), option=orjson.OPT_INDENT_2)
        await asyncio.to_thread(file.write_bytes, found)
    return 0


async def _sections(stack: Settings, names: Sequence[str], *, quick: bool) -> AsyncIterator[Section]:
    if extract.NAME in names:
        yield await extract.run(stack, quick=quick)
    if sink.NAME in names:
        yield await sink.run(stack, quick=quick)
    if sealing.NAME in names:
        yield await sealing.run(stack, quick=quick)
    if growth.GROWTH in names:
        yield await growth.run(stack, quick=quick)
    if growth.MILLION in names:
        yield await growth.run_million(stack, quick=quick)
    if replay.REPLAY in names:
        yield await replay.run_replay(stack, quick=quick)
    if replay.DUPLICATES in names:
        yield await replay.run_duplicates(stack, quick=quick)
    if wanted := {whole.PIPELINE, whole.LATENCY, whole.MEMORY} & set(names):
        for section in await whole.run(stack, wanted, quick=quick):
            yield section
    if resolution.NAME in names:
        yield resolution.section()


async def _check(stack: Settings) -> None:
    reasons = [reason for reason in (await kafka_health(stack), await neo4j_health(stack)) if reason]
    if reasons:
        raise StackError(f"Kafka and Neo4j are needed, but {'; '.join(reasons)}. Run `memstream up` first.")


if __name__ == "__main__":
    sys.exit(main())
