"""The service put together: routes, errors, metrics, and the connections it holds while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata
from typing import Any

from fastapi import Depends, FastAPI

from memstream.extractors.vectors.embedders import Embedder, create_embedder
from memstream.query import (
    boards,
    entities,
    events,
    facts,
    problems,
    provenance,
    recall,
    sames,
    sessions,
    status,
    traces,
)
from memstream.query.metrics import MeasureRequests, Metrics
from memstream.query.params import only_known_parameters
from memstream.query.switch import Choice, GraphOfRequest, Switchboard, read_choice
from memstream.query.vectors import Neighbours
from memstream.settings import Settings

_DESCRIPTION = """
Reads of the memory graph. Every data route needs `scope` and answers as of a sealed position of the log, which it
states.
Errors are problem details (RFC 9457). Listings go on by `next_cursor`, all pages as of the position of the first.
"""


def create_app(settings: Settings, embedder: Embedder | None = None) -> FastAPI:
    """The ASGI app of the read service. Connections open when it starts and close when it stops.

    `embedder` is the one that the settings name unless it is given.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.embedder = embedder or await asyncio.to_thread(_embedder_of, settings)
        board = app.state.board = Switchboard(_choice_of(settings))
        following = asyncio.create_task(board.follow(settings, app.state.embedder.dims))
        try:
            yield
        finally:
            following.cancel()
            await board.close()

    app = FastAPI(
        title="Memstream query service",
        version=metadata.version("memstream"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        redoc_url=None,
    )
    app.state.metrics = Metrics()
    app.state.neighbours = Neighbours()
    problems.install(app)
    app.add_middleware(GraphOfRequest)
    app.add_middleware(MeasureRequests, metrics=app.state.metrics)
    app.include_router(status.router)
    for module in (recall, sessions, entities, sames, facts, provenance, traces, boards, events):
        app.include_router(module.router, dependencies=[Depends(only_known_parameters)])
    app.state.parameters = _parameters(app.openapi())
    return app


def _embedder_of(settings: Settings) -> Embedder:
    key = settings.embedder_api_key
    return create_embedder(settings.embedder, api_key=key.get_secret_value() if key else None)


def _choice_of(settings: Settings) -> Choice:
    """The graph to begin with: the one that `memstream switch` chose last, else that of the settings."""
    return read_choice(settings) or Choice.of(settings)


def _parameters(document: dict[str, Any]) -> dict[str, set[str]]:
    """The query parameters of each path, as the OpenAPI document states them."""
    return {
        path: {each["name"] for each in methods["get"].get("parameters", []) if each["in"] == "query"}
        for path, methods in document["paths"].items()
        if "get" in methods
    }
