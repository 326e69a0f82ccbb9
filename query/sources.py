"""From a fact or a preference to what it was taken from."""

from __future__ import annotations

from typing import Final

from memstream.query.graph import Reader, Row
from memstream.query.models import Source, SourceKind
from memstream.query.statements import scoped
from memstream.schemas.patch import Label

QUOTE_CHARS = 280

_SOURCE_FIELDS: Final = """
    labels(s) AS labels, s.id AS id, s.event_id AS event_id, s.session_id AS session_id,
    coalesce(s.speaker, s.name, s.agent_id, s.role) AS speaker, s.time AS time,
    CASE
      WHEN s:ToolCall THEN s.tool + ' (' + coalesce(s.status, 'pending') + '): '
        + left(coalesce(s.error, s.result, s.arguments, ''), 300)
      WHEN s:Document THEN coalesce(s.title + ': ', '') + left(coalesce(s.text, ''), 300)
      ELSE left(coalesce(s.text, ''), 300)
    END AS quote
"""

# A version by its unique key (scope, id), then the edges to its sources.
FACT_SOURCES = scoped(
    "fact sources",
    "UNWIND $versions AS version "
    "MATCH (f:Fact {scope: $scope, id: version})-[r:SOURCED_FROM]->(s:Source) "
    "WHERE r.at <= $position AND s.at <= $position "
    "RETURN DISTINCT version, " + _SOURCE_FIELDS + " ORDER BY version, time, id",
)
PREFERENCE_SOURCES = scoped(
    "preference sources",
    "UNWIND $versions AS version "
    "MATCH (f:Preference {scope: $scope, id: version})-[r:SOURCED_FROM]->(s:Source) "
    "WHERE r.at <= $position AND s.at <= $position "
    "RETURN DISTINCT version, " + _SOURCE_FIELDS + " ORDER BY version, time, id",
)

# What was stated outright has no source but its event: assertions by (scope, slot), events by (scope, id).
STATED = scoped(
    "stated outright",
    """
    UNWIND $claims AS c
    MATCH (a:Assertion {scope: $scope, slot: c.slot})
    WHERE a.key IS NOT NULL AND a.claim = c.claim AND a.at <= $position AND a.source_id IS NULL
      AND NOT EXISTS { MATCH (r:Retraction {scope: $scope, assertion: a.id}) WHERE r.at <= $position }
      AND NOT EXISTS {
        MATCH (r:Retraction {scope: $scope, slot: c.slot})
        WHERE r.at <= $position AND r.claim = c.claim AND (r.said_before IS NULL OR a.said_at < r.said_before)
      }
    MATCH (e:Event {scope: $scope, id: a.event})
    RETURN DISTINCT c.claim AS claim, ['Statement'] AS labels, e.id AS id, e.event_id AS event_id,
      e.session_id AS session_id, coalesce(e.agent_id, e.source) AS speaker, a.said_at AS time, a.text AS quote
    ORDER BY claim, time, id LIMIT 1000
    """,
)

_KINDS: Final = {
    Label.MESSAGE.value: SourceKind.MESSAGE,
    Label.TOOL_CALL.value: SourceKind.TOOL_CALL,
    Label.DOCUMENT.value: SourceKind.DOCUMENT,
    Label.BOARD_ITEM.value: SourceKind.BOARD_ITEM,
    "Statement": SourceKind.STATEMENT,
}


async def sources_of(reader: Reader, rows: list[Row], *, preferences: bool = False) -> dict[str, list[Source]]:
    """The sources of each version (rows with id, claim and slot), by its id, in the order they were said."""
    if not rows:
        return {}
    statement = PREFERENCE_SOURCES if preferences else FACT_SOURCES
    found: dict[str, list[Source]] = {row["id"]: [] for row in rows}
    for row in await reader.rows(statement, versions=sorted(found)):
        found[row["version"]].append(source_of(row))
    bare = [row for row in rows if not found[row["id"]]]
    if bare:
        claims = [{"slot": row["slot"], "claim": row["claim"]} for row in bare]
        stated: dict[str, list[Source]] = {}
        for row in await reader.rows(STATED, claims=claims):
            stated.setdefault(row["claim"], []).append(source_of(row))
        for row in bare:
            found[row["id"]] = stated.get(row["claim"], [])
    return found


def source_of(row: Row) -> Source:
    """A source from a row with `labels` and the fields of a source."""
    kind = next(kind for label, kind in _KINDS.items() if label in row["labels"])
    return Source(
        kind=kind,
        id=row["id"],
        event_id=row["event_id"],
        session_id=row["session_id"],
        speaker=row["speaker"],
        time=row["time"],
        quote=quoted(row["quote"] or ""),
    )


def quoted(text: str, limit: int = QUOTE_CHARS) -> str:
    """A text on one line, cut at a word where it is longer than `limit`."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    return line[: limit - 1].rsplit(" ", 1)[0] + "…"
