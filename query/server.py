"""Run the service under uvicorn."""

from __future__ import annotations

import logging
import sys

import structlog
import uvicorn

from memstream.query.app import create_app
from memstream.settings import Settings

_SHUTDOWN_SECONDS = 10


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT: what is in flight is answered first."""
    _configure_logs(settings)
    uvicorn.run(
        create_app(settings),
        host=settings.query_host,
        port=settings.query_port,
        log_level=settings.log_level,
        access_log=settings.log_level == "debug",
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )


def _configure_logs(settings: Settings) -> None:
    """Our own lines to standard error: one event name and its keys, for people or as JSON."""
    renderers: dict[bool, structlog.typing.Processor] = {
        True: structlog.processors.JSONRenderer(),
        False: structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
    }
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderers[settings.log_json],
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(settings.log_level.upper())),
    )
