"""The query service in a test's own process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from memstream.extractors.vectors.embedders import create_embedder
from memstream.query.app import create_app
from memstream.settings import Settings


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the service, which reads without vectors."""
    app = create_app(settings, create_embedder("none"))
    transport = httpx.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://query") as one:
        yield one
