"""A small world in the real graph, and the query service over it."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from memstream.extractors.vectors.embedders import Embedder, create_embedder
from memstream.query.app import create_app
from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import EntityType
from memstream.schemas.ids import entity_id, event_key, hash_of, named_id, order_key
from memstream.schemas.names import normalise_name
from memstream.schemas.patch import (
    AssertionKind,
    AssertionRow,
    Edge,
    EdgeRow,
    Label,
    LinkRow,
    NodeRow,
    Origin,
    Patch,
    RetractionRow,
    Vector,
    Verdict,
)
from memstream.schemas.topics import Topic, record_key
from memstream.settings import Settings
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.migrations import migrate
from memstream.sinks.records import PatchRecord
from memstream.sinks.stores import Store, Stores

SOURCE = "tests"


def at(day: int, hour: int = 9) -> str:
    """A time in March 2026, as the graph has it."""
    return f"2026-03-{day:02d}T{hour:02d}:00:00.000000Z"


@dataclass(frozen=True)
class Thing:
    """An entity by type and name."""

    type: EntityType
    name: str


def person(name: str) -> Thing:
    """A person."""
    return Thing(EntityType.PERSON, name)


def org(name: str) -> Thing:
    """An organization."""
    return Thing(EntityType.ORGANIZATION, name)


def place(name: str) -> Thing:
    """A location."""
    return Thing(EntityType.LOCATION, name)


@dataclass
class Say:
    """The rows of one event of a scope, built step by step."""

    scope: str
    event_id: str
    time: str
    type: str = "message"
    embed: Callable[[str], Vector | None] | None = None
    nodes: list[NodeRow] = field(default_factory=list)
    edges: list[EdgeRow] = field(default_factory=list)
    assertions: list[AssertionRow] = field(default_factory=list)
    retractions: list[RetractionRow] = field(default_factory=list)
    links: list[LinkRow] = field(default_factory=list)
    source: tuple[Label, str] | None = None
    session_id: str | None = None
    verdict: Verdict = Verdict.APPLIED
    reason: str | None = None
    recorded_at: str | None = None

    @property
    def key(self) -> str:
        """The event's key."""
        return event_key(self.scope, SOURCE, self.event_id)

    @property
    def order(self) -> str:
        """The event's place."""
        return order_key(self.time, None, SOURCE, self.event_id)

    def share(self, label: Label, node: str, part: str, props: dict[str, Any], **more: Any) -> Say:
        """A say into a part of a shared node."""
        props = {name: value for name, value in props.items() if value is not None}
        self.nodes.append(
            NodeRow(label=label, id=node, part=part, key=more.pop("key", self.order), props=props, **more)
        )
        return self

    def session(self, session_id: str, **started: Any) -> Say:
        """The event belongs to a session, and may start it."""
        self.session_id = session_id
        node = named_id("session", self.scope, session_id)
        self.share(Label.CONVERSATION, node, "seen", {"session_id": session_id, "first_time": self.time}, first=True)
        if started:
            self.share(Label.CONVERSATION, node, "started", {"session_id": session_id, **started})
        return self

    def message(self, session_id: str, speaker: str, text: str, role: str = "user", **props: Any) -> Say:
        """The event is a message."""
        self.session(session_id)
        own: dict[str, Any] = {
            "event_id": self.event_id,
            "source": SOURCE,
            "session_id": session_id,
            "role": role,
            "text": text,
        }
        own |= {"time": self.time, "order": self.order, "speaker": speaker, "recalled": False, **props}
        vector = self.embed(text) if self.embed else None
        self.nodes.append(NodeRow(label=Label.MESSAGE, id=self.key, owned=True, props=own, vector=vector))
        self.edge(
            Edge.HAS_MESSAGE, Label.CONVERSATION, named_id("session", self.scope, session_id), Label.MESSAGE, self.key
        )
        self.source = (Label.MESSAGE, self.key)
        return self

    def document(self, document_id: str, title: str, *passages: str) -> Say:
        """The event is a document."""
        own: dict[str, Any] = {"event_id": self.event_id, "source": SOURCE, "document_id": document_id, "title": title}
        own |= {"text": "\n\n".join(passages), "time": self.time, "order": self.order}
        self.nodes.append(NodeRow(label=Label.DOCUMENT, id=self.key, owned=True, props=own))
        for number, text in enumerate(passages):
            node = hash_of("passage", self.key, str(number))
            vector = self.embed(text) if self.embed else None
            props = {"document": self.key, "number": number, "text": text, "start": 0}
            self.nodes.append(NodeRow(label=Label.PASSAGE, id=node, owned=True, props=props, vector=vector))
            self.edge(Edge.HAS_PASSAGE, Label.DOCUMENT, self.key, Label.PASSAGE, node)
        self.source = (Label.DOCUMENT, self.key)
        return self

    def edge(self, kind: Edge, from_label: Label, from_id: str, to_label: Label, to_id: str, **props: Any) -> Say:
        """An edge."""
        self.edges.append(
            EdgeRow(type=kind, from_label=from_label, from_id=from_id, to_label=to_label, to_id=to_id, props=props)
        )
        return self

    def entity(self, thing: Thing, **described: Any) -> str:
        """The entity, mentioned by the event's source; its id."""
        node = entity_id(self.scope, thing.type, thing.name)
        props = {"name": thing.name, "type": thing.type.value, "norm": normalise_name(thing.name)}
        self.share(Label.ENTITY, node, "named", props, first=True, labels=(thing.type.value,))
        if described:
            self.share(Label.ENTITY, node, "described", described)
        return node

    def mentions(self, *things: Thing) -> Say:
        """The source mentions these."""
        assert self.source is not None
        for thing in things:
            self.edge(Edge.MENTIONS, *self.source, Label.ENTITY, self.entity(thing), text=thing.name, start=0, end=1)
        return self

    def fact(self, subject: Thing, predicate: str, value: Thing | str, **more: Any) -> Say:
        """The event asserts a triple."""
        single = catalogue().is_single(predicate)
        start = self.entity(subject)
        end = None if isinstance(value, str) else self.entity(value)
        value_key = end or normalise_name(str(value))
        slot = hash_of("slot", self.scope, start, predicate, "" if single else value_key)
        shown = value if isinstance(value, str) else value.name
        self.assertions.append(
            AssertionRow(
                id=hash_of("assertion", self.key, str(len(self.assertions))),
                ordinal=len(self.assertions),
                slot=slot,
                claim=hash_of("claim", self.scope, slot, value_key),
                subject=start,
                subject_name=subject.name,
                subject_type=subject.type,
                predicate=predicate,
                single=single,
                object=end,
                object_name=None if isinstance(value, str) else value.name,
                object_type=None if isinstance(value, str) else value.type,
                value=value if isinstance(value, str) else None,
                value_key=value_key,
                said_at=self.time,
                key=order_key(self.time, None, SOURCE, self.event_id, len(self.assertions)),
                text=f"{subject.name} {predicate.replace('_', ' ')} {shown}",
                source_label=self.source[0] if self.source else None,
                source_id=self.source[1] if self.source else None,
                **more,
            )
        )
        return self

    def likes(self, holder: Thing, what: str) -> Say:
        """The event says that somebody likes something."""
        node = self.entity(holder)
        slot = hash_of("slot", self.scope, node, "preference", what)
        self.assertions.append(
            AssertionRow(
                id=hash_of("assertion", self.key, str(len(self.assertions))),
                ordinal=len(self.assertions),
                kind=AssertionKind.PREFERENCE,
                slot=slot,
                claim=hash_of("claim", self.scope, slot, "like"),
                subject=node,
                subject_name=holder.name,
                subject_type=holder.type,
                predicate="preference",
                single=True,
                value=what,
                value_key="like",
                said_at=self.time,
                key=order_key(self.time, None, SOURCE, self.event_id, len(self.assertions)),
                text=f"{holder.name} likes {what}",
                source_label=self.source[0] if self.source else None,
                source_id=self.source[1] if self.source else None,
                props={"polarity": "like"},
            )
        )
        return self

    def retract(self, say: Say, ordinal: int = 0) -> Say:
        """Take back an assertion of another event."""
        node = hash_of("retraction", self.key, str(len(self.retractions)))
        self.retractions.append(RetractionRow(id=node, assertion=say.assertions[ordinal].id))
        return self

    def same(self, a: Thing, b: Thing) -> Say:
        """Two entities are one."""
        low, high = sorted((self.entity(a), self.entity(b)))
        self.links.append(LinkRow(a=low, b=high, same=True, key=self.order, reason="said so"))
        return self

    def patch(self, partition: int, offset: int) -> Patch:
        """The patch, at its place in the log."""
        origin = Origin(
            scope=self.scope,
            source=SOURCE,
            id=self.event_id,
            key=self.key,
            type=self.type,
            topic="events",
            partition=partition,
            offset=offset,
            time=self.time,
            recorded_at=self.recorded_at or self.time,
            order=self.order,
            session_id=self.session_id,
        )
        return Patch(
            generation=1,
            extractor="tests",
            origin=origin,
            verdict=self.verdict,
            reason=self.reason,
            nodes=tuple(self.nodes),
            edges=tuple(self.edges),
            assertions=tuple(self.assertions),
            retractions=tuple(self.retractions),
            links=tuple(self.links),
        )


class World:
    """Scopes of one test in a log of its own: `tell` makes what was said part of the graph, as the sink does."""

    def __init__(self, sink: GraphSink, store: Store, topic: str, embedder: Embedder) -> None:
        self._sink = sink
        self._store = store
        self._topic = topic
        self._embedder = embedder
        self._events = 0
        self.offset = -1
        self.scopes: set[str] = set()
        sink.resume(topic, 0, 1)

    def say(self, scope: str, day: int = 1, hour: int = 9, event_id: str | None = None, **more: Any) -> Say:
        """A new event of a scope."""
        self._events += 1
        self.scopes.add(scope)
        return Say(scope, event_id or f"event-{self._events:05d}", at(day, hour), embed=self._vector, **more)

    def tell(self, *says: Say, seal: bool = True) -> None:
        """Apply events in the order given, each in a batch of its own; without `seal` as if the sink died before it."""
        for say in says:
            before = self.offset
            self.offset += 1
            value = say.patch(0, self.offset).encode()
            self._sink.apply(self._topic, 0, [PatchRecord(self.offset, record_key(say.scope), value)])
            if not seal:
                self._run("MATCH (o:StreamOffset {topic: $topic}) SET o.sealed = $sealed", sealed=before)

    def seal(self) -> None:
        """Seal what was applied, as a sink does that comes back."""
        self._sink.resume(self._topic, 0, 1)

    def wipe(self) -> None:
        """Remove all of it."""
        for scope in self.scopes:
            self._run("MATCH (n {scope: $scope}) DETACH DELETE n", scope=scope)
        self._run("MATCH (o:StreamOffset {topic: $topic}) DELETE o")

    def _run(self, text: str, **parameters: Any) -> None:
        database = self._store.database
        self._store.driver.execute_query(text, parameters | {"topic": self._topic}, database_=database)

    def _vector(self, text: str) -> Vector | None:
        return Vector.of(self._embedder.name, [float(x) for x in self._embedder.embed([text])[0]]) if text else None


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The offline model."""
    return create_embedder("minilm")


@pytest.fixture
def prefix() -> str:
    """A topic prefix, so that the positions of this test are its own."""
    return f"t{secrets.token_hex(5)}"


@pytest.fixture(scope="session")
def store(stack: Settings, embedder: Embedder) -> Iterator[Store]:
    """The real graph, migrated."""
    with Stores.connect(stack) as stores:
        found = stores.of("tests")
        migrate(found.driver, found.database, embedder.dims)
        yield found


@pytest.fixture
def world(store: Store, prefix: str, embedder: Embedder) -> Iterator[World]:
    """An empty world; its scopes are removed afterwards."""
    sink = GraphSink(store.driver, store.database, "tests", announce=False)
    found = World(sink, store, Topic.PATCHES.named(prefix), embedder)
    yield found
    found.wipe()


@asynccontextmanager
async def running(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """The service in this process, and a client of it."""
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://query") as client:
            yield client


@pytest.fixture(scope="session")
def app(stack: Settings, embedder: Embedder) -> FastAPI:
    """The service; it is made once and started for each test."""
    return create_app(stack, embedder)


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the service."""
    async with running(app) as found:
        yield found


@pytest.fixture
def serving() -> Any:
    """The service in this process with other settings: an async context manager that gives a client."""
    return running


@pytest.fixture
def things() -> Any:
    """Makers of entities: person, org, place."""
    return person, org, place
