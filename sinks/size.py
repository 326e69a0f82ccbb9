"""How large the graph is: Neo4j keeps both counts, so asking costs nothing."""

from __future__ import annotations

from dataclasses import dataclass

from neo4j import READ_ACCESS, AsyncGraphDatabase
from neo4j.exceptions import DriverError, Neo4jError

from memstream.schemas.errors import GraphUnavailable
from memstream.settings import Settings

# Both are answered from the count store.
NODES = "MATCH (n) RETURN count(n) AS count"
RELATIONSHIPS = "MATCH ()-[r]->() RETURN count(r) AS count"


@dataclass(frozen=True, slots=True)
class GraphSize:
    """How many nodes and relationships a graph has, of all scopes together."""

    nodes: int
    relationships: int

    def __str__(self) -> str:
        return f"{self.nodes:,} nodes and {self.relationships:,} relationships"


async def graph_size(settings: Settings) -> GraphSize:
    """The size of the settings' graph. Raises GraphUnavailable."""
    driver = AsyncGraphDatabase.driver(settings.neo4j_uri, auth=settings.neo4j_auth)
    try:
        async with driver.session(database=settings.neo4j_database, default_access_mode=READ_ACCESS) as session:
            counts = []
            for query in (NODES, RELATIONSHIPS):
                result = await session.run(query)
                counts.append((await result.single(strict=True))["count"])
    except (DriverError, Neo4jError) as error:
        raise GraphUnavailable(f"Neo4j at {settings.neo4j_uri} does not answer: {error}") from error
    finally:
        await driver.close()
    return GraphSize(*counts)
