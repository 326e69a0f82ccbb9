"""Logs of the stage processes: one event name and its keys a line, for people or as JSON."""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO

import orjson
import structlog

from memstream.settings import Settings

_QUIET = {
    # what they tell at these levels is told by our own lines; their tracebacks of lost connections say no more
    "aiokafka": logging.CRITICAL,
    "faust": logging.ERROR,
    "mode": logging.ERROR,
    "neo4j": logging.ERROR,
}


def configure_logs(settings: Settings, to: TextIO | None = None, **always: Any) -> None:
    """Send structlog's and the libraries' logs to standard error, or `to` a file.

    `always` are keys on every line of this process.
    """
    stream = to or sys.stderr

    def add_always(_logger: Any, _method: str, event: Any) -> Any:
        return {**always, **event}

    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        add_always,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: Any = structlog.dev.ConsoleRenderer(colors=stream.isatty())
    if settings.log_json:
        renderer = structlog.processors.JSONRenderer(
            serializer=lambda value, **_: orjson.dumps(value, default=str).decode()
        )
        shared.append(structlog.processors.format_exc_info)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(settings.log_level.upper())),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    if settings.log_level != "debug":
        for name, level in _QUIET.items():
            logging.getLogger(name).setLevel(level)
