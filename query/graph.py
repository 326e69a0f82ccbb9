"""The one way to Neo4j: a Graph finds positions, a Reader reads one scope as of one position.

A Reader gives every statement its scope and its position; nobody else holds the driver. Reads run as auto-commit
transactions in read mode, so Neo4j itself refuses a write, with a time limit on the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

import structlog
from neo4j import READ_ACCESS, AsyncDriver, AsyncGraphDatabase, NotificationMinimumSeverity, Query
from neo4j.exceptions import AuthError, ClientError, DriverError, Neo4jError

from memstream.query.hiding import ERASING, OF_ENTITIES, hidden_by, hiding
from memstream.query.problems import Kind, Problem, unknown_scope
from memstream.query.statements import Statement, service
from memstream.schemas.errors import GraphUnavailable
from memstream.schemas.topics import Topic
from memstream.settings import Settings

log = structlog.get_logger(__name__)

Row = dict[str, Any]

READ_TIMEOUT_SECONDS = 15.0
PING_TIMEOUT_SECONDS = 3.0
_CONNECT_SECONDS = 3.0
_POOL_WAIT_SECONDS = 5.0
_POOL_SIZE = 64

# Scope by its unique key, StreamOffset by its unique key (topic, partition), ErasureWork by its index (pending).
POSITION = service(
    "position",
    """
    MATCH (s:Scope {scope: $scope})
    OPTIONAL MATCH (o:StreamOffset {topic: s.topic, partition: s.partition})
    RETURN s.partition AS partition, o.sealed AS sealed, """
    + ERASING
    + " AS erasing",
)

PING = service("ping", "RETURN 1 AS one")

# StreamOffset by the index of its key, SchemaVersion by its name.
OFFSETS = service(
    "offsets",
    """
    MATCH (o:StreamOffset {topic: $topic}) WHERE o.partition IS NOT NULL
    RETURN o.partition AS partition, o.offset AS applied, o.sealed AS sealed
    ORDER BY partition
    """,
)
SCHEMA = service(
    "schema",
    """
    MATCH (v:SchemaVersion) WHERE v.name IS NOT NULL
    RETURN v.version AS version, v.dimensions AS dimensions ORDER BY version DESC LIMIT 1
    """,
)


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the log: the partition of the patches topic that holds a scope, and an offset in it.

    `erasing` are the erasures of the scope that the sink still works on.
    """

    partition: int
    offset: int
    erasing: tuple[Mapping[str, str], ...] = field(default=(), compare=False)


class Graph:
    """A connection pool to Neo4j, for reading. `topic` is the patches topic whose progress `offsets` tells."""

    def __init__(self, driver: AsyncDriver, database: str, topic: str) -> None:
        self._driver = driver
        self._database = database
        self._topic = topic

    @classmethod
    def connect(cls, settings: Settings) -> Self:
        """A pool for the settings' Neo4j; nothing is sent before the first read."""
        return cls.at(settings.neo4j_uri, settings.neo4j_auth, settings.neo4j_database, settings.topic(Topic.PATCHES))

    @classmethod
    def at(cls, uri: str, auth: tuple[str, str] | None, database: str, topic: str) -> Self:
        """A pool for a Neo4j; nothing is sent before the first read."""
        driver = AsyncGraphDatabase.driver(
            uri,
            auth=auth,
            connection_timeout=_CONNECT_SECONDS,
            connection_acquisition_timeout=_POOL_WAIT_SECONDS,
            max_connection_pool_size=_POOL_SIZE,
            notifications_min_severity=NotificationMinimumSeverity.OFF,
        )
        return cls(driver, database, topic)

    @property
    def topic(self) -> str:
        """The patches topic whose positions its answers are of."""
        return self._topic

    async def close(self) -> None:
        """Close every connection."""
        await self._driver.close()

    async def sealed(self, scope: str) -> Position:
        """The last sealed position of a scope: -1 where nothing is sealed yet. Raises Problem for an unknown scope."""
        parts = scope.split("/")
        scopes = ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]
        rows = await self._run(POSITION, {"scope": scope, "scopes": scopes})
        if not rows:
            raise unknown_scope(scope)
        sealed = rows[0]["sealed"]
        return Position(rows[0]["partition"], -1 if sealed is None else sealed, tuple(rows[0]["erasing"]))

    async def hidden(self, scope: str, position: Position) -> dict[str, dict[str, str]]:
        """What the unfinished erasures of a scope reach, by the ways in which they name it (hiding.hidden_by)."""
        entities = [one["named"] for one in position.erasing if one["kind"] == "entity"]
        rows = await self._run(OF_ENTITIES, {"scope": scope, "ids": entities}) if entities else []
        return hidden_by(position.erasing, [row["key"] for row in rows])

    def reader(self, scope: str, as_of: int | None = None) -> Reader:
        """A reader of the scope as of its last sealed position, or as of an earlier one; nothing is sent yet."""
        return Reader(self, scope, as_of)

    async def ping(self) -> None:
        """Return if Neo4j answers. Raises GraphUnavailable if it does not."""
        await self._run(PING, {}, PING_TIMEOUT_SECONDS)

    async def offsets(self) -> list[Row]:
        """Partition, applied and sealed offset, for every partition that a sink has begun."""
        return await self._run(OFFSETS, {"topic": self._topic})

    async def check_ready(self, dimensions: int) -> None:
        """Return if this graph can be read: it answers, was migrated, its vectors fit, and all applied is sealed.

        Raises GraphUnavailable with what is missing.
        """
        await self.ping()
        rows = await self._run(SCHEMA, {})
        if not rows:
            raise GraphUnavailable("Neo4j answers, but the graph was never migrated: no sink or replay has filled it")
        stored = rows[0]["dimensions"] or 0
        if stored and dimensions and stored != dimensions:
            raise GraphUnavailable(f"its vectors have {stored} dimensions, the embedder of this service {dimensions}")
        offsets = await self.offsets()
        if not any(row["applied"] is not None for row in offsets):
            raise GraphUnavailable(f"nothing of {self._topic} was applied to it")
        if behind := [row["partition"] for row in offsets if row["applied"] != row["sealed"]]:
            raise GraphUnavailable(f"partition {behind[0]} has a batch that is not sealed yet")

    async def schema_version(self) -> int | None:
        """The version that the graph was migrated to; None for a graph that never was."""
        rows = await self._run(SCHEMA, {})
        return cast(int, rows[0]["version"]) if rows else None

    async def _run(self, statement: Statement, parameters: Row, seconds: float = READ_TIMEOUT_SECONDS) -> list[Row]:
        try:
            return await self._attempt(statement, parameters, seconds)
        except (DriverError, Neo4jError) as error:
            if not error.is_retryable():
                raise _told(statement, error, seconds) from error
        # Once more: the pool may have held a connection that a restart of Neo4j has broken.
        try:
            return await self._attempt(statement, parameters, seconds)
        except (DriverError, Neo4jError) as error:
            raise _told(statement, error, seconds) from error

    async def _attempt(self, statement: Statement, parameters: Row, seconds: float) -> list[Row]:
        query = Query(cast(Any, statement.text), timeout=seconds, metadata={"statement": statement.name})
        async with self._driver.session(database=self._database, default_access_mode=READ_ACCESS) as session:
            result = await session.run(query, parameters)
            return [dict(record) async for record in result]


class Reader:
    """Reads one scope as of one position: the only way to the content of the graph.

    The position is found once, before the first statement, and holds for all of them.
    """

    def __init__(self, graph: Graph, scope: str, as_of: int | None = None) -> None:
        self._graph = graph
        self._as_of = as_of
        self._position: Position | None = None
        self._hidden: dict[str, dict[str, str]] = {}
        self._opening = asyncio.Lock()
        self.scope = scope

    @property
    def position(self) -> Position:
        """The position that is read; it is known once the reader was opened."""
        if self._position is None:
            raise RuntimeError(f"the reader of scope {self.scope!r} has no position yet: open it first")
        return self._position

    async def open(self) -> Position:
        """Find the position, once. Raises Problem for an unknown scope and for a position that is not sealed yet."""
        async with self._opening:
            if self._position is None:
                sealed = await self._graph.sealed(self.scope)
                if sealed.erasing:
                    self._hidden = await self._graph.hidden(self.scope, sealed)
                self._position = sealed if self._as_of is None else _earlier(sealed, self._as_of)
        return self._position

    async def rows(self, statement: Statement, **parameters: Any) -> list[Row]:
        """The rows of a scoped statement. Raises GraphUnavailable, or Problem as `open` does or where it takes long."""
        if not statement.scoped:
            raise ValueError(f"statement {statement.name!r} is not scoped: a Reader does not run it")
        if reserved := parameters.keys() & {"scope", "position"}:
            raise ValueError(f"{', '.join(sorted(reserved))} of statement {statement.name!r} is given by the Reader")
        position = await self.open()
        bound = parameters | {"scope": self.scope, "position": position.offset}
        if position.erasing:
            return await self._graph._run(hiding(statement), bound | {"hidden": self._hidden})
        return await self._graph._run(statement, bound)


def _earlier(sealed: Position, offset: int) -> Position:
    if offset > sealed.offset:
        raise Problem(
            Kind.BAD_POSITION,
            f"position {offset} of partition {sealed.partition} is not sealed yet, the last one is {sealed.offset}",
        )
    return replace(sealed, offset=offset)


def _told(statement: Statement, error: DriverError | Neo4jError, seconds: float) -> Exception:
    """What went wrong, in our words; a fault of the statement itself stays what it is."""
    code = getattr(error, "code", None) or ""
    if "TransactionTimedOut" in code or "Terminated" in code:
        return Problem(Kind.TIMEOUT, f"the read {statement.name!r} took longer than {seconds:g} s: ask for less")
    if isinstance(error, AuthError):
        return GraphUnavailable("Neo4j refuses the user and password of this service")
    if isinstance(error, ClientError):
        return error
    log.warning("graph_unavailable", statement=statement.name, error=str(error))
    return GraphUnavailable("Neo4j does not answer")
