"""GET /v1/recall: what memory has for a prompt, within a budget, each item with its sources and why it is there."""

from __future__ import annotations

import asyncio
from typing import Annotated, cast

import structlog
from fastapi import APIRouter, Query, Request

from memstream.extractors.errors import EmbedderUnavailable
from memstream.extractors.vectors.embedders import Embedder
from memstream.query.entities import entity_fields
from memstream.query.facts import fact_fields
from memstream.query.graph import Row
from memstream.query.params import SeveralReaders
from memstream.query.problems import RESPONSES
from memstream.query.recall_context import Block, Line, compose, tokens_of
from memstream.query.recall_find import find
from memstream.query.recall_lines import lines_of
from memstream.query.recall_models import Citation, Item, NamedEntity, RecallAnswer, RecalledFact, ScopePosition, Why
from memstream.query.recall_rank import Kind, fuse, merged
from memstream.query.vectors import Neighbours

log = structlog.get_logger(__name__)

router = APIRouter(prefix="/v1", tags=["recall"], responses=RESPONSES)

DEFAULT_BUDGET = 1_500
MAX_BUDGET = 32_000
MAX_PROMPT = 8_000
MAX_CANDIDATES = 400


@router.get("/recall", summary="What memory has for a prompt")
async def recall(
    *,
    request: Request,
    readers: SeveralReaders,
    prompt: Annotated[
        str, Query(min_length=1, max_length=MAX_PROMPT, examples=["When is the launch, and who leads it?"])
    ],
    budget: Annotated[
        int, Query(ge=16, le=MAX_BUDGET, description="Tokens of `context` at most; a token counts four characters.")
    ] = DEFAULT_BUDGET,
    limit: Annotated[int, Query(ge=1, le=200, description="Items at most.")] = 50,
    include_superseded: Annotated[bool, Query(description="Also facts that no longer hold, marked so.")] = False,
) -> RecallAnswer:
    """A block of text with numbered citations, and the same as data.

    Found by the entities that the prompt names and one hop further, by words and by meaning; fused by rank. Several
    scopes are read each by itself: the nearest wins where one value can hold, the others are shown as differing.
    """
    await asyncio.gather(*(reader.open() for reader in readers))
    vector, notes = await _embedded(request, prompt)
    neighbours = cast(Neighbours, request.app.state.neighbours)
    found = await asyncio.gather(
        *(
            find(reader, place, prompt, vector, neighbours, superseded=include_superseded)
            for place, reader in enumerate(readers)
        )
    )
    ranked = fuse(merged([candidate for candidates, _ in found for candidate in candidates]))[:MAX_CANDIDATES]
    block = compose(await lines_of(ranked, {reader.scope: reader for reader in readers}), budget, limit)
    return RecallAnswer(
        positions=[
            ScopePosition(scope=each.scope, partition=each.position.partition, offset=each.position.offset)
            for each in readers
        ],
        context=block.text,
        tokens=tokens_of(block.text),
        citations=[
            Citation(number=number, scope=scope, **source.model_dump())
            for number, (scope, source) in enumerate(block.cited, start=1)
        ],
        items=[_item(line, block) for line in block.lines],
        facts=[_fact(line) for line in block.lines if line.candidate.kind is Kind.FACT],
        entities=[_entity(row, each.scope) for each, (_, rows) in zip(readers, found, strict=True) for row in rows],
        notes=notes,
    )


async def _embedded(request: Request, prompt: str) -> tuple[list[float] | None, list[str]]:
    """The prompt's vector; none, and a note, where there is no model or it does not answer."""
    embedder = cast(Embedder, request.app.state.embedder)
    if not embedder.dims:
        return None, ["read without vectors: the embedder is switched off"]
    try:
        vectors = await asyncio.to_thread(embedder.embed, [prompt])
    except EmbedderUnavailable as error:
        log.warning("embedder_unavailable", error=str(error))
        return None, ["read without vectors: the embedder does not answer"]
    return [float(value) for value in vectors[0]], []


def _item(line: Line, block: Block) -> Item:
    candidate = line.candidate
    return Item(
        kind=candidate.kind,
        id=candidate.id,
        scope=candidate.scope,
        text=line.text,
        time=candidate.time or None,
        score=round(candidate.score, 6),
        why=[Why(path=reason.path, rank=reason.rank, detail=reason.detail) for reason in candidate.reasons],
        citations=block.numbers_of(line),
        holds=bool(candidate.row.get("holds", True)),
        differs_from=line.differs_from,
    )


def _fact(line: Line) -> RecalledFact:
    row = line.candidate.row
    fields = {name: value for name, value in fact_fields(row).items() if name in RecalledFact.model_fields}
    sources = list(line.sources)
    return RecalledFact(**fields, sources=sources, scope=line.candidate.scope, differs_from=line.differs_from)


def _entity(row: Row, scope: str) -> NamedEntity:
    return NamedEntity(**entity_fields(row), scope=scope)
