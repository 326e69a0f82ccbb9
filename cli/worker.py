"""`memstream worker`: the stream workers, watched over."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from memstream.settings import load
from memstream.streams.supervisor import Supervisor


class Stage(StrEnum):
    """What to run."""

    EXTRACT = "extract"
    SINK = "sink"
    ALL = "all"


def worker(
    stage: Annotated[Stage, typer.Option(help="extract: events to patches. sink: patches to Neo4j. all: both.")],
    processes: Annotated[
        int, typer.Option(min=0, max=256, help="Extraction processes; 0: MEMSTREAM_EXTRACT_PROCESSES, or one a core.")
    ] = 0,
) -> None:
    """Run a stage, or both, until stopped. A process that fails is started again, where it left off.

    Ctrl-C or SIGTERM stops it cleanly: what is in flight is finished and committed.

    Example: memstream worker --stage all --processes 4
    """
    stages = ("extract", "sink") if stage is Stage.ALL else (stage.value,)
    sys.exit(Supervisor(load(), stages, processes).run())
