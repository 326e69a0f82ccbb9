"""Which Neo4j the service reads, and going over to another one without a request that fails.

`memstream switch` leaves a file in the data directory; the running service sees it, connects, looks whether that graph
is ready, and only then lets new requests read it. A request keeps the graph that it began with; the old connections
are closed when the last such request has its answer. The file stays, so that a restart reads the same graph.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import structlog
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError, field_serializer
from starlette.types import ASGIApp, Receive, Scope, Send

from memstream.query.graph import Graph
from memstream.schemas.errors import MemstreamError, SettingsError
from memstream.schemas.topics import Topic
from memstream.settings import Settings

log = structlog.get_logger(__name__)

STATE_KEY = "graph"
_LOOK_SECONDS = 0.5


class Choice(BaseModel):
    """A graph to read: the address with what logs in there, and the patches topic that it was built from."""

    model_config = ConfigDict(frozen=True)

    uri: str
    user: str
    password: SecretStr | None
    database: str
    topic: str

    @classmethod
    def of(cls, settings: Settings) -> Choice:
        """The graph of the settings."""
        return cls(
            uri=settings.neo4j_uri,
            user=settings.neo4j_user,
            password=settings.neo4j_password,
            database=settings.neo4j_database,
            topic=settings.topic(Topic.PATCHES),
        )

    @property
    def auth(self) -> tuple[str, str] | None:
        """As the driver takes it."""
        return (self.user, self.password.get_secret_value()) if self.password is not None else None

    @field_serializer("password", when_used="json")
    def _password(self, password: SecretStr | None) -> str | None:
        return password.get_secret_value() if password is not None else None


def choice_file(settings: Settings) -> Path:
    """Where the choice for the service of these settings lies: one for each port, since several may run here."""
    return settings.data_dir / f"query-{settings.query_port}.json"


def read_choice(settings: Settings) -> Choice | None:
    """The choice that was made; None for the settings' own graph. Raises SettingsError for a file that is none."""
    path = choice_file(settings)
    try:
        return Choice.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise SettingsError(
            f"{path} can't be read: make the choice again (memstream switch), or remove the file"
        ) from error


def write_choice(settings: Settings, choice: Choice | None) -> None:
    """Make a choice, or (None) go back to the settings' own graph. Only the owner can read the file."""
    path = choice_file(settings)
    if choice is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.touch(mode=0o600)
    draft.write_bytes(orjson.dumps(choice.model_dump(mode="json")))
    draft.replace(path)


@dataclass(slots=True)
class _Line:
    """A graph with the requests that read it; `idle` while there are none."""

    graph: Graph
    choice: Choice
    users: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    def enter(self) -> None:
        """A request begins."""
        self.users += 1
        self.idle.clear()

    def leave(self) -> None:
        """A request has its answer."""
        self.users -= 1
        if not self.users:
            self.idle.set()


class Switchboard:
    """The graph that new requests read, and those that older ones still do."""

    def __init__(self, choice: Choice) -> None:
        self._current = _Line(_connect(choice), choice)
        self._closing: dict[asyncio.Task[None], Graph] = {}
        self.refused: str | None = None

    @property
    def address(self) -> str:
        """The address of the graph that new requests read."""
        return self._current.choice.uri

    @contextmanager
    def taken(self) -> Iterator[Graph]:
        """The graph for one request, kept open until its end."""
        line = self._current
        line.enter()
        try:
            yield line.graph
        finally:
            line.leave()

    async def follow(self, settings: Settings, dimensions: int) -> None:
        """Go over whenever another choice is made, for as long as this runs."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                wanted = await asyncio.to_thread(read_choice, settings) or Choice.of(settings)
                if wanted != self._current.choice:
                    await self._switch(wanted, dimensions)
                self.refused = None
            except MemstreamError as error:
                if self.refused != str(error):
                    log.warning("switch_refused", why=str(error))
                self.refused = str(error)

    async def close(self) -> None:
        """Close all connections, also those that requests still read by."""
        for task, graph in list(self._closing.items()):
            task.cancel()
            await graph.close()
        await self._current.graph.close()

    async def _switch(self, choice: Choice, dimensions: int) -> None:
        graph = _connect(choice)
        try:
            await graph.check_ready(dimensions)
        except MemstreamError:
            await graph.close()
            raise
        old, self._current = self._current, _Line(graph, choice)
        log.info("switched", graph=choice.uri, topic=choice.topic, before=old.choice.uri)
        task = asyncio.create_task(_close_when_idle(old))
        self._closing[task] = old.graph
        task.add_done_callback(lambda done: self._closing.pop(done, None))


class GraphOfRequest:
    """ASGI middleware: a request reads one graph from its beginning to its end."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        board: Switchboard = scope["app"].state.board
        with board.taken() as graph:
            scope["state"] = {**scope.get("state", {}), STATE_KEY: graph}
            await self._app(scope, receive, send)


async def _close_when_idle(line: _Line) -> None:
    if line.users:
        await line.idle.wait()
    await line.graph.close()


def _connect(choice: Choice) -> Graph:
    return Graph.at(choice.uri, choice.auth, choice.database, choice.topic)
