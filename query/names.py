"""From names to entities: exact normalised names, and all that a SAME_AS link says is the same."""

from __future__ import annotations

import re
from typing import Final

from memstream.query.graph import Reader, Row
from memstream.query.statements import scoped
from memstream.schemas.names import normalise_name

MAX_CLUSTER = 200
_MAX_ROUNDS = 6
_NODE_ID: Final = re.compile(r"^[0-9a-f]{32}$")

ENTITY_FIELDS: Final = """
    e.id AS id, e.changed AS changed, e.type AS type, e.norm AS norm, e.name AS name, e.subtype AS subtype,
    e.description AS description, coalesce(e.aliases, []) AS aliases
"""

# Entity by the index (scope, norm).
ENTITIES_BY_NORM = scoped(
    "entities by norm",
    "UNWIND $norms AS norm MATCH (e:Entity {scope: $scope, norm: norm}) WHERE e.at <= $position "
    "RETURN " + ENTITY_FIELDS + " ORDER BY norm, type LIMIT 500",
)

# Entity by its unique key (scope, id).
ENTITIES_BY_ID = scoped(
    "entities by id",
    "UNWIND $ids AS id MATCH (e:Entity {scope: $scope, id: id}) WHERE e.at <= $position "
    "RETURN " + ENTITY_FIELDS + " ORDER BY norm, type",
)

# Entity by its unique key, then its own links.
SAME_AS = scoped(
    "same as",
    """
    UNWIND $ids AS id
    MATCH (e:Entity {scope: $scope, id: id})-[link:SAME_AS]-(o:Entity)
    WHERE link.at <= $position AND o.at <= $position AND coalesce(link.status, 'accepted') = 'accepted'
    RETURN DISTINCT id, o.id AS other LIMIT 1000
    """,
)


async def entities_named(reader: Reader, name: str) -> list[Row]:
    """The entities with this name (any type), or the one entity with this id."""
    rows = await reader.rows(ENTITIES_BY_NORM, norms=[normalise_name(name)])
    if not rows and _NODE_ID.match(name):
        rows = await reader.rows(ENTITIES_BY_ID, ids=[name])
    return rows


async def clusters_of(reader: Reader, ids: list[str]) -> dict[str, set[str]]:
    """For each entity all that is the same as it, itself included."""
    links: dict[str, set[str]] = {id_: set() for id_ in ids}
    edge = list(links)
    for _ in range(_MAX_ROUNDS):
        if not edge or len(links) > MAX_CLUSTER:
            break
        for row in await reader.rows(SAME_AS, ids=edge):
            links.setdefault(row["id"], set()).add(row["other"])
        edge = sorted({other for others in links.values() for other in others} - links.keys())
        for other in edge:
            links[other] = set()
    return {id_: _reach(links, id_) for id_ in ids}


async def cluster_ids(reader: Reader, name: str) -> list[str]:
    """The ids of all entities that a name stands for, links included; empty where nothing has the name."""
    ids = [row["id"] for row in await entities_named(reader, name)]
    clusters = await clusters_of(reader, ids)
    return sorted(set().union(*clusters.values())) if clusters else []


def _reach(links: dict[str, set[str]], start: str) -> set[str]:
    seen, edge = {start}, [start]
    while edge:
        for other in links.get(edge.pop(), set()) - seen:
            seen.add(other)
            edge.append(other)
    return seen
