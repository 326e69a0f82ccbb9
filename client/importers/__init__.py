"""Recorded conversations as events: one module a format, each a pure generator over the bytes of a file.

The same file gives the same events on every import, ids included, so importing it again changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from memstream.client.importers import anthropic, jsonl, openai, tau_bench
from memstream.client.importers.recording import Problem, Recording, Report
from memstream.schemas.errors import InvalidInput
from memstream.schemas.events import Event

Importer = Callable[[Recording, Report], Iterator[Event]]

FORMATS: dict[str, Importer] = {
    "openai": openai.events,
    "anthropic": anthropic.events,
    "jsonl": jsonl.events,
    "tau-bench": tau_bench.events,
    "events": jsonl.strict_events,
}

__all__ = ["FORMATS", "Importer", "Problem", "Recording", "Report", "importer"]


def importer(name: str) -> Importer:
    """The importer of a format. Raises InvalidInput with the formats there are."""
    try:
        return FORMATS[name]
    except KeyError:
        raise InvalidInput(f"no format {name!r}: there are {', '.join(FORMATS)}") from None
