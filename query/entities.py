"""Entities: by exact name with their facts, or by words of the name."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query

from memstream.query.facts import FACTS_ABOUT, counted, fact_of
from memstream.query.graph import Reader, Row
from memstream.query.lucene import names_query
from memstream.query.models import Entity, EntityAnswer, EntityDetail, EntityPage, PositionOut
from memstream.query.names import ENTITIES_BY_ID, ENTITY_FIELDS, clusters_of, entities_named
from memstream.query.params import Listing, OneListing, OneReader
from memstream.query.problems import RESPONSES, not_found
from memstream.query.shared import as_of
from memstream.query.sources import sources_of
from memstream.query.statements import scoped
from memstream.schemas.extraction import EntityType
from memstream.schemas.names import normalise_name
from memstream.schemas.patch import Label

router = APIRouter(prefix="/v1", tags=["entities"], responses=RESPONSES)

MAX_FACTS = 200

# Entity by the index (scope, norm), in the order of the names.
ENTITIES = scoped(
    "entities",
    "MATCH (e:Entity {scope: $scope}) WHERE e.norm >= $norm AND e.at <= $position AND (e.norm > $norm OR e.id > $id) "
    "AND ($type IS NULL OR e.type = $type) "
    "RETURN " + ENTITY_FIELDS + " ORDER BY e.norm, e.id LIMIT $limit",
)

# Entity by the index (scope, norm).
ENTITIES_BY_NORM_AND_TYPE = scoped(
    "entities by norm and type",
    "MATCH (e:Entity {scope: $scope, norm: $norm}) WHERE e.at <= $position AND ($type IS NULL OR e.type = $type) "
    "RETURN " + ENTITY_FIELDS + " ORDER BY e.type",
)

# The full-text index over names that all scopes share: the scope is a required term and is filtered again.
ENTITIES_BY_WORDS = scoped(
    "entities by words",
    "CALL db.index.fulltext.queryNodes('memstream_names', $query, {limit: $fetch}) YIELD node AS e, score "
    "WHERE e.scope = $scope AND e.at <= $position AND ($type IS NULL OR e.type = $type) "
    "RETURN " + ENTITY_FIELDS + ", score ORDER BY score DESC, id LIMIT $limit",
)

# Entity by its unique key, then its own edges, at most 1,000 of them.
MENTIONS = scoped(
    "mentions",
    """
    UNWIND $ids AS id
    CALL (id) {
      MATCH (e:Entity {scope: $scope, id: id})<-[m:MENTIONS]-(s:Source)
      WHERE m.at <= $position AND s.at <= $position
      WITH DISTINCT s LIMIT 1000
      RETURN count(s) AS mentions
    }
    RETURN id, mentions
    """,
)


@router.get("/entities", summary="The entities of a scope")
async def entities(
    page: OneListing,
    q: Annotated[str | None, Query(max_length=512, description="Words of a name or an alias; best first.")] = None,
    type: Annotated[EntityType | None, Query(description="Only entities of this type.")] = None,  # noqa: A002 - its name in the URL
) -> EntityPage:
    """In the order of their names; with `q` the best matches, on one page."""
    rows, more = await (_listed(page, type) if q is None else _found(page, q, type))
    shown = await as_of(page.reader, Label.ENTITY, rows)
    return EntityPage(
        position=PositionOut.of(page.reader.position),
        items=[Entity(**entity_fields(row)) for row in shown],
        next_cursor=page.next_cursor((rows[-1]["norm"], rows[-1]["id"])) if more else None,
    )


@router.get("/entities/{name:path}", summary="What is known of a name")
async def entity(reader: OneReader, name: Annotated[str, Path(examples=["Ines Duarte"])]) -> EntityAnswer:
    """Every entity with exactly this normalised name (or this id), its links, and the current facts about them all."""
    rows = await entities_named(reader, name)
    if not rows:
        raise not_found("entity", name, reader.scope)
    ids = [row["id"] for row in rows]
    clusters = await clusters_of(reader, ids)
    members = sorted(set().union(*clusters.values()))
    mentions, others, facts = await asyncio.gather(
        reader.rows(MENTIONS, ids=ids),
        reader.rows(ENTITIES_BY_ID, ids=sorted(set(members) - set(ids))),
        reader.rows(FACTS_ABOUT, ids=members, superseded=False, each=MAX_FACTS + 1, limit=MAX_FACTS + 1),
    )
    known = {row["id"]: row for row in await as_of(reader, Label.ENTITY, rows + others)}
    how_often = {row["id"]: row["mentions"] for row in mentions}
    shown = await counted(reader, facts[:MAX_FACTS])
    sources = await sources_of(reader, shown)
    return EntityAnswer(
        position=PositionOut.of(reader.position),
        name=known[ids[0]]["name"] or name,
        entities=[_detail(known, id_, how_often.get(id_, 0), clusters[id_]) for id_ in ids],
        facts=[fact_of(row, sources[row["id"]]) for row in shown],
        facts_cut=len(facts) > MAX_FACTS,
    )


def entity_fields(row: Row) -> Row:
    """The fields of an entity from its row."""
    fields = {name: value for name, value in row.items() if name not in {"changed", "score"}}
    return fields | {"name": fields["name"] or fields["norm"], "aliases": fields["aliases"] or []}


async def _listed(page: Listing, type_: EntityType | None) -> tuple[list[Row], bool]:
    norm, last = page.start("", "")
    rows = await page.reader.rows(ENTITIES, norm=norm, id=last, type=type_, limit=page.limit + 1)
    return rows[: page.limit], len(rows) > page.limit


async def _found(page: Listing, q: str, type_: EntityType | None) -> tuple[list[Row], bool]:
    exact = await page.reader.rows(ENTITIES_BY_NORM_AND_TYPE, norm=normalise_name(q), type=type_)
    query = names_query(page.reader.scope, q, prefix=True)
    found = await words_rows(page.reader, query, page.limit, type_) if query else []
    first = {row["id"] for row in exact}
    return (exact + [row for row in found if row["id"] not in first])[: page.limit], False


async def words_rows(reader: Reader, query: str, limit: int, type_: EntityType | None = None) -> list[Row]:
    """Entities by words of their names, best first."""
    return await reader.rows(ENTITIES_BY_WORDS, query=query, fetch=4 * limit, type=type_, limit=limit)


def _detail(known: dict[str, Row], id_: str, mentions: int, cluster: set[str]) -> EntityDetail:
    same = [Entity(**entity_fields(known[other])) for other in sorted(cluster - {id_}) if other in known]
    return EntityDetail(**entity_fields(known[id_]), mentions=mentions, same_as=same)
