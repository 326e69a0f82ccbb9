"""The mark that a replay leaves in the graph that it fills: what it is, how far it is, and whether it may go on live.

It stands on SchemaVersion, the one node that outlives a wipe. A graph of a part of the log (some scopes, up to a time)
is not a graph that a sink can go on with: behind its positions there are gaps. So sinks refuse it, and every graph that
is being emptied.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

import orjson
from neo4j import Driver, ManagedTransaction

from memstream.schemas.errors import LogMismatch
from memstream.sinks.failures import told_as_ours
from memstream.sinks.statements import Runs, run, statement

NAME = "memstream"

# Index: the unique key name, in both.
READ = statement("replay mark", "MATCH (v:SchemaVersion {name: $name}) RETURN v.replay AS replay")
WRITE = statement("mark replay", "MATCH (v:SchemaVersion {name: $name}) SET v.replay = $mark")


class Phase(StrEnum):
    """How far a replay is with its graph."""

    WIPING = "wiping"
    FILLING = "filling"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Mark:
    """A replay by its `run` (the same for the same command), in words, and how far it is."""

    run: str
    told: str
    partial: bool
    phase: Phase


def read(driver: Driver, database: str) -> Mark | None:
    """The mark of a graph; None where no replay filled it. Raises GraphUnavailable, TransientError."""
    with told_as_ours(), driver.session(database=database) as session:
        return session.execute_read(of)


def write(driver: Driver, database: str, mark: Mark | None) -> None:
    """Set or remove the mark. The graph must have been migrated. Raises GraphUnavailable, TransientError."""
    text = orjson.dumps(asdict(mark)).decode() if mark is not None else None

    def set_it(tx: ManagedTransaction) -> None:
        run(tx, WRITE, name=NAME, mark=text)

    with told_as_ours(), driver.session(database=database) as session:
        session.execute_write(set_it)


def of(tx: Runs) -> Mark | None:
    """The mark, inside a transaction."""
    rows = run(tx, READ, name=NAME)
    if not rows or rows[0]["replay"] is None:
        return None
    told = orjson.loads(rows[0]["replay"])
    return Mark(told["run"], told["told"], told["partial"], Phase(told["phase"]))


def check(tx: Runs, replay: str | None) -> None:
    """Raise LogMismatch where the graph is not for this sink: `replay` is the run that it works for, None if live."""
    mark = of(tx)
    if mark is None or mark.run == replay:
        return
    if mark.phase is Phase.WIPING:
        raise LogMismatch(
            f"the graph is being emptied by a replay ({mark.told}): let that run to its end, by the same command again"
        )
    if mark.partial:
        raise LogMismatch(
            f"the graph holds a part of the log ({mark.told}): a sink would go on behind a gap. Point it to another "
            "graph, or rebuild this one whole: memstream replay --from patches --wipe"
        )
