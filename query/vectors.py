"""Nearest texts by meaning inside one scope.

A shared vector index gives the nearest of all scopes, and a small scope's own texts are seldom among them. So scopes
up to some thousand texts are compared one by one, which is exact; larger ones ask the index for more than is wanted,
and for more again, until enough is theirs.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from memstream.query.graph import Reader, Row
from memstream.query.statements import Statement, scoped

EXACT_LIMIT = 2_000
MIN_SCORE = 0.6
"""(1 + cosine) / 2 below which two texts have nothing to do with each other, whatever the model."""

_FETCHES: Final = (200, 1_000, 5_000)
_LARGE_FOR_SECONDS = 600.0
_MAX_LARGE = 10_000

_FIELDS: Final = {
    "Message": """
    RETURN ['Message'] AS labels, n.id AS id, n.event_id AS event_id, n.session_id AS session_id, n.role AS role,
      coalesce(n.speaker, n.name, n.agent_id, n.role) AS speaker, n.text AS text, n.time AS time, score""",
    "Passage": """
    RETURN ['Passage'] AS labels, n.id AS id, n.text AS text, n.time AS time, n.document AS document, score""",
}

# By the unique key (scope, id): every node of the label in the scope, at most `most`.
_EXACT: Final = """
    MATCH (n:LABEL {scope: $scope})
    WHERE n.id IS NOT NULL AND n.at <= $position AND size(n.embedding) = $dims AND NOT coalesce(n.recalled, false)
    WITH n LIMIT $most
    WITH collect(n) AS texts UNWIND texts AS n
    WITH size(texts) AS scanned, n, vector.similarity.cosine(n.embedding, $vector) AS score
    ORDER BY score DESC LIMIT $limit
"""

# The vector index of the label, which all scopes share: filtered by the scope.
_INDEXED: Final = """
    CALL db.index.vector.queryNodes('INDEX', $fetch, $vector) YIELD node AS n, score
    WHERE n.scope = $scope AND n.at <= $position AND NOT coalesce(n.recalled, false)
    WITH n, score ORDER BY score DESC LIMIT $limit
"""

INDEXES: Final = {"Message": "memstream_message_vectors", "Passage": "memstream_passage_vectors"}


def _exact(label: str) -> Statement:
    return scoped(f"nearest {label}, exact", _EXACT.replace("LABEL", label) + _FIELDS[label] + ", scanned")


def _indexed(label: str) -> Statement:
    return scoped(f"nearest {label}, indexed", _INDEXED.replace("INDEX", INDEXES[label]) + _FIELDS[label])


EXACT: Final = {label: _exact(label) for label in INDEXES}
INDEXED: Final = {label: _indexed(label) for label in INDEXES}


class Neighbours:
    """Finds nearest texts, and remembers for a while which scopes are large."""

    def __init__(self) -> None:
        self._large: dict[tuple[str, str], float] = {}

    async def nearest(self, reader: Reader, vector: list[float], limit: int) -> list[Row]:
        """Messages and passages of the scope, the nearest first."""
        found = await asyncio.gather(*(self._of_label(reader, label, vector, limit) for label in INDEXES))
        rows = [row for rows in found for row in rows if row["score"] >= MIN_SCORE]
        return sorted(rows, key=lambda row: (-row["score"], row["id"]))[:limit]

    async def _of_label(self, reader: Reader, label: str, vector: list[float], limit: int) -> list[Row]:
        if not self._is_large(reader.scope, label):
            rows = await reader.rows(EXACT[label], vector=vector, dims=len(vector), limit=limit, most=EXACT_LIMIT + 1)
            if not rows or rows[0]["scanned"] <= EXACT_LIMIT:
                return rows
            self._remember(reader.scope, label)
        rows = []
        for fetch in _FETCHES:
            rows = await reader.rows(INDEXED[label], vector=vector, fetch=fetch, limit=limit)
            if len(rows) >= limit:
                break
        return rows

    def _is_large(self, scope: str, label: str) -> bool:
        seen = self._large.get((scope, label))
        return seen is not None and time.monotonic() - seen < _LARGE_FOR_SECONDS

    def _remember(self, scope: str, label: str) -> None:
        if len(self._large) >= _MAX_LARGE:
            self._large.clear()
        self._large[scope, label] = time.monotonic()
