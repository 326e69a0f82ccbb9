"""Ranked candidates with their sources, and with what differs between scopes."""

from __future__ import annotations

import asyncio
from typing import Final

from memstream.query.graph import Reader, Row
from memstream.query.models import Source, SourceKind
from memstream.query.recall_context import Line, line_of, own_source, titled
from memstream.query.recall_rank import Candidate, Kind
from memstream.query.sources import quoted, sources_of
from memstream.query.statements import scoped
from memstream.schemas.catalogue import catalogue
from memstream.schemas.names import normalise_name

# Document by its unique key (scope, id).
DOCUMENTS = scoped(
    "documents of passages",
    """
    UNWIND $ids AS id MATCH (d:Document {scope: $scope, id: id}) WHERE d.at <= $position
    RETURN d.id AS id, d.event_id AS event_id, d.session_id AS session_id, d.title AS title, d.time AS time,
      coalesce(d.speaker, d.agent_id, d.user_id) AS speaker
    """,
)

_STATED: Final = (Kind.FACT, Kind.PREFERENCE)


async def lines_of(ranked: list[Candidate], readers: dict[str, Reader]) -> list[Line]:
    """Each candidate as a line, in the order of their ranks; what has no source that resolves is left out."""
    by_scope: dict[str, list[Candidate]] = {scope: [] for scope in readers}
    for candidate in ranked:
        by_scope[candidate.scope].append(candidate)
    found = await asyncio.gather(*(_sources(readers[scope], each) for scope, each in by_scope.items()))
    sources = dict(zip(by_scope, found, strict=True))
    differs = differing(ranked)
    lines = []
    for candidate in ranked:
        own = sources[candidate.scope].get((candidate.kind, candidate.id), [])
        if own:
            key = (candidate.scope, candidate.id)
            lines.append(line_of(candidate, own, several_scopes=len(readers) > 1, differs_from=differs.get(key)))
    return lines


def differing(ranked: list[Candidate]) -> dict[tuple[str, str], str]:
    """Facts of single-valued predicates that a nearer scope has with another value: (scope, id) to its claim."""
    nearest: dict[tuple[str, str], Candidate] = {}
    for candidate in sorted(ranked, key=lambda each: each.place):
        if _slot(candidate) is not None:
            nearest.setdefault(_slot(candidate) or ("", ""), candidate)
    differs = {}
    for candidate in ranked:
        slot = _slot(candidate)
        first = nearest.get(slot) if slot else None
        if first is not None and first.scope != candidate.scope and _value(first) != _value(candidate):
            differs[candidate.scope, candidate.id] = str(first.row["claim"])
    return differs


def _slot(candidate: Candidate) -> tuple[str, str] | None:
    row = candidate.row
    if candidate.kind is not Kind.FACT or not row.get("holds", True) or row.get("negated"):
        return None
    if not catalogue().is_single(row["predicate"]):
        return None
    return normalise_name(row["subject_name"] or ""), row["predicate"]


def _value(candidate: Candidate) -> str:
    return normalise_name(candidate.row.get("object_name") or candidate.row.get("value") or "")


async def _sources(reader: Reader, candidates: list[Candidate]) -> dict[tuple[Kind, str], list[Source]]:
    facts = [each.row for each in candidates if each.kind is Kind.FACT]
    tastes = [each.row for each in candidates if each.kind is Kind.PREFERENCE]
    passages = [each for each in candidates if each.kind is Kind.PASSAGE]
    of_facts, of_tastes, documents = await asyncio.gather(
        sources_of(reader, facts), sources_of(reader, tastes, preferences=True), _documents(reader, passages)
    )
    found = {(Kind.FACT, id_): sources for id_, sources in of_facts.items()}
    found |= {(Kind.PREFERENCE, id_): sources for id_, sources in of_tastes.items()}
    for each in passages:
        document = documents.get(each.row["document"])
        if document is not None:
            each.row = each.row | {"title": document["title"]}
            found[each.kind, each.id] = [_document_source(document, each)]
    for each in candidates:
        if each.kind in (Kind.MESSAGE, Kind.BOARD_ITEM):
            found[each.kind, each.id] = [own_source(each)]
    return found


async def _documents(reader: Reader, passages: list[Candidate]) -> dict[str, Row]:
    ids = sorted({each.row["document"] for each in passages if each.row["document"]})
    if not ids:
        return {}
    return {row["id"]: row for row in await reader.rows(DOCUMENTS, ids=ids)}


def _document_source(document: Row, passage: Candidate) -> Source:
    return Source(
        kind=SourceKind.DOCUMENT,
        id=document["id"],
        event_id=document["event_id"],
        session_id=document["session_id"],
        speaker=document["speaker"],
        time=document["time"],
        quote=quoted(titled(document["title"], passage.row["text"])),
    )
