"""`memstream migrate`: the graph's constraints, indexes, and changes of what is in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape
from rich.status import Status

from memstream.cli.console import err, out, print_json
from memstream.extractors.vectors.dims import dimensions_of
from memstream.settings import load
from memstream.sinks.migrating import Walked
from memstream.sinks.migrations import migrate as bring_up
from memstream.sinks.stores import Stores

app = typer.Typer(add_completion=False)


@app.command()
def migrate(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """Make the constraints and indexes that this version needs, change what it has another form for, and wait.

    Safe to run at any time, also while sinks run. Stopped, it goes on where it was when it is run again.

    Example: memstream migrate
    """
    settings = load()
    dimensions = dimensions_of(settings.embedder)
    with Stores.connect(settings) as stores:
        for store in stores.all():
            with err.status(f"Migrating {escape(settings.neo4j_uri)}, and waiting for its indexes …") as status:

                def tell(what: str, walked: Walked, status: Status = status) -> None:
                    status.update(f"{escape(what)}: {walked.seen:,} nodes seen, {walked.changed:,} changed …")

                done = bring_up(store.driver, store.database, dimensions, tell=tell)
            if as_json:
                print_json({"uri": settings.neo4j_uri, "database": store.database, **asdict(done)})
                continue
            for step in done.ran:
                out.print(f"ran {escape(step)}")
            vectors = f"vectors of {done.dimensions} dimensions" if done.dimensions else "no vectors"
            what = "is up to date at" if done.before == done.after else "was brought to"
            out.print(f"The graph at {escape(settings.neo4j_uri)} {what} schema version {done.after}, with {vectors}.")
