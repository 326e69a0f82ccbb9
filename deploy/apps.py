"""Memstream's own processes beside the stack: the two workers and the query service."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial

from memstream.deploy.health import http_health
from memstream.deploy.processes import PartSpec
from memstream.settings import Settings

EXTRACT, SINK, QUERY = "extract", "sink", "query"
APP_PARTS = (EXTRACT, SINK, QUERY)
PORT_VARIABLES = {
    EXTRACT: "MEMSTREAM_METRICS_PORT_EXTRACT",
    SINK: "MEMSTREAM_METRICS_PORT_SINK",
    QUERY: "MEMSTREAM_QUERY_PORT",
}
_WORDS = {EXTRACT: ("worker", "--stage", "extract"), SINK: ("worker", "--stage", "sink"), QUERY: ("serve",)}


def usual_port(part: str, settings: Settings) -> int:
    """The port that the settings give a part."""
    ports = {EXTRACT: settings.metrics_port_extract, SINK: settings.metrics_port_sink, QUERY: settings.query_port}
    return ports[part]


def app_parts(settings: Settings, ports: Mapping[str, int]) -> list[PartSpec]:
    """The three parts, each run by this same Python on the ports given by part name."""
    return [
        PartSpec(
            name=part,
            argv=(sys.executable, "-m", "memstream.cli", *_WORDS[part]),
            health=partial(http_health, f"http://127.0.0.1:{ports[part]}/ready"),
            env={"MEMSTREAM_DATA_DIR": str(settings.data_dir), PORT_VARIABLES[part]: str(ports[part])},
            ports={"http": ports[part]},
            start_timeout=120,
        )
        for part in APP_PARTS
    ]
