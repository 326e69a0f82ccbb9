"""What the extractor that ships makes of a session, for the tests of its rules."""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta

from memstream.extractors.registry import create_extractor
from memstream.schemas.extraction import Extraction, Extractor, SessionTurns, Turn

NOW = datetime(2026, 1, 14, 10, 0, tzinfo=UTC)  # a Wednesday


@functools.cache
def extractor() -> Extractor:
    """One loaded extractor for all tests of a process."""
    return create_extractor("spacy")


def read_user(*texts: str) -> list[Extraction]:
    """What a session of these messages of a user says, message by message."""
    turns = [Turn(f"m{n}", "user", "user", text, NOW + timedelta(minutes=n)) for n, text in enumerate(texts)]
    return extractor().extract([SessionTurns(b"", turns)])[0].extractions
