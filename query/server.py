"""Run the service under uvicorn."""

from __future__ import annotations

import uvicorn

from memstream.query.app import create_app
from memstream.settings import Settings

_SHUTDOWN_SECONDS = 10


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT: what is in flight is answered first."""
    uvicorn.run(
        create_app(settings),
        host=settings.query_host,
        port=settings.query_port,
        log_level=settings.log_level,
        access_log=settings.log_level == "debug",
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
