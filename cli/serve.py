"""`memstream serve`: the query service."""

from __future__ import annotations

from typing import Annotated

import typer

from memstream.query.server import serve as run
from memstream.settings import load

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command("serve")
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; else MEMSTREAM_QUERY_HOST.")] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port to listen on; else MEMSTREAM_QUERY_PORT.")
    ] = None,
) -> None:
    """Serve reads of the graph over HTTP until stopped. /docs describes them, /ready tells whether Neo4j answers.

    Example: memstream serve --port 8080
    """
    chosen = {"query_host": host, "query_port": port}
    run(load(**{name: value for name, value in chosen.items() if value is not None}))
