"""What a prompt may name: its runs of words in the normal form of names."""

from __future__ import annotations

from memstream.query.lucene import STOPWORDS
from memstream.schemas.names import normalise_name

MAX_RUN = 5
MAX_TOKENS = 200
MAX_NAMES = 600


def names_in(prompt: str) -> list[str]:
    """Every run of up to five words as a normalised name, longer runs first; lone stop words left out."""
    tokens = prompt.split()[:MAX_TOKENS]
    found: dict[str, None] = {}
    for length in range(min(MAX_RUN, len(tokens)), 0, -1):
        for start in range(len(tokens) - length + 1):
            name = normalise_name(" ".join(tokens[start : start + length]))
            if name and name not in STOPWORDS:
                found.setdefault(name)
    return list(found)[:MAX_NAMES]
