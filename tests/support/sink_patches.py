"""Patches to feed a sink with, built from a few words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from memstream.schemas.extraction import EntityType
from memstream.schemas.ids import entity_id, event_key, hash_of, named_id, order_key
from memstream.schemas.names import normalise_name
from memstream.schemas.patch import (
    AssertionKind,
    AssertionRow,
    Edge,
    EdgeRow,
    ErasureRow,
    Label,
    LinkRow,
    NodeRow,
    Origin,
    Patch,
    RetractionRow,
    Vector,
    Verdict,
)

SOURCE = "tests"


def moment(minute: int) -> str:
    """A time in March 2026, as patches have it."""
    return f"2026-03-{1 + minute // 1440:02d}T{minute // 60 % 24:02d}:{minute % 60:02d}:00.000000Z"


@dataclass
class Told:
    """One event of a scope, whose rows are added one by one. `minute` is when it was said and recorded."""

    scope: str
    event: str
    minute: int
    session: str | None = "s"
    generation: int = 1
    subject: str | None = None
    recorded: int | None = None
    offset: int | None = None
    nodes: list[NodeRow] = field(default_factory=list)
    edges: list[EdgeRow] = field(default_factory=list)
    assertions: list[AssertionRow] = field(default_factory=list)
    retractions: list[RetractionRow] = field(default_factory=list)
    links: list[LinkRow] = field(default_factory=list)
    erasures: list[ErasureRow] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The event's identity."""
        return event_key(self.scope, SOURCE, self.event)

    @property
    def order(self) -> str:
        """Its place among all that is said."""
        return order_key(moment(self.minute), None, SOURCE, self.event)

    def message(self, text: str = "hello", reply_to: str | None = None, vector: list[float] | None = None) -> Told:
        """A message in the session."""
        props: dict[str, Any] = {"event_id": self.event, "role": "user", "text": text, "order": self.order}
        props |= {"time": moment(self.minute)} | ({"session_id": self.session} if self.session else {})
        packed = Vector.of("tests", vector) if vector else None
        self.nodes.append(NodeRow(label=Label.MESSAGE, id=self.key, owned=True, props=props, vector=packed))
        if self.session is not None:
            chat = named_id("session", self.scope, self.session)
            seen = {"session_id": self.session, "first_time": moment(self.minute)}
            self.share(Label.CONVERSATION, chat, "seen", seen, first=True)
            self.edge(Edge.HAS_MESSAGE, (Label.CONVERSATION, chat), (Label.MESSAGE, self.key))
        if reply_to is not None:
            earlier = event_key(self.scope, SOURCE, reply_to)
            self.edge(Edge.REPLY_TO, (Label.MESSAGE, self.key), (Label.MESSAGE, earlier))
        return self

    def share(
        self,
        label: Label,
        node: str,
        part: str,
        props: dict[str, Any],
        *,
        first: bool = False,
        key: str | None = None,
        labels: tuple[str, ...] = (),
    ) -> Told:
        """A say into a part of a shared node."""
        row = NodeRow(label=label, id=node, part=part, key=key or self.order, first=first, labels=labels, props=props)
        self.nodes.append(row)
        return self

    def edge(self, kind: Edge, start: tuple[Label, str], end: tuple[Label, str], **props: Any) -> Told:
        """An edge of this event."""
        row = EdgeRow(type=kind, from_label=start[0], from_id=start[1], to_label=end[0], to_id=end[1], props=props)
        self.edges.append(row)
        return self

    def entity(self, name: str, kind: EntityType = EntityType.PERSON) -> str:
        """An entity, named by this event. Returns its id."""
        node = entity_id(self.scope, kind, name)
        if not any(row.id == node for row in self.nodes):
            props = {"name": name, "type": kind.value, "norm": normalise_name(name)}
            self.share(Label.ENTITY, node, "named", props, first=True, labels=(kind.value,))
        return node

    def mention(self, name: str, text: str | None = None, used: Sequence[str] = ()) -> Told:
        """The message names a person: by this text, which the session's earlier events of these ids explain."""
        row = EdgeRow(
            type=Edge.MENTIONS,
            from_label=Label.MESSAGE,
            from_id=self.key,
            to_label=Label.ENTITY,
            to_id=self.entity(name),
            props={"text": text or name},
            used=self.keys(used),
        )
        self.edges.append(row)
        return self

    def keys(self, events: Sequence[str]) -> tuple[str, ...]:
        """The keys of events of the scope."""
        return tuple(event_key(self.scope, SOURCE, event) for event in events)

    def lives(self, who: str, where: str, *, single: bool = True, **more: Any) -> Told:
        """Someone lives somewhere; `more` are fields of the row."""
        subject, place = self.entity(who), self.entity(where, EntityType.LOCATION)
        predicate = "lives_in" if single else "visited"
        slot = slot_of(self.scope, who, predicate, None if single else where)
        ordinal = len(self.assertions)
        row: dict[str, Any] = {
            "id": hash_of("assertion", self.key, str(ordinal)),
            "ordinal": ordinal,
            "slot": slot,
            "claim": hash_of("claim", self.scope, slot, place),
            "subject": subject,
            "subject_name": who,
            "subject_type": EntityType.PERSON,
            "predicate": predicate,
            "single": single,
            "object": place,
            "object_name": where,
            "object_type": EntityType.LOCATION,
            "value_key": place,
            "said_at": moment(self.minute),
            "key": f"{self.order}{ordinal:06d}",
            "text": f"{who} lives in {where}",
            "source_label": Label.MESSAGE,
            "source_id": self.key,
        }
        self.assertions.append(AssertionRow(**(row | more)))
        return self

    def likes(self, who: str, what: str, polarity: str = "like") -> Told:
        """Someone's taste."""
        holder = self.entity(who)
        slot = hash_of("slot", self.scope, holder, "preference", what)
        ordinal = len(self.assertions)
        row = AssertionRow(
            id=hash_of("assertion", self.key, str(ordinal)),
            ordinal=ordinal,
            kind=AssertionKind.PREFERENCE,
            slot=slot,
            claim=hash_of("claim", self.scope, slot, polarity),
            subject=holder,
            subject_name=who,
            subject_type=EntityType.PERSON,
            predicate="preference",
            single=True,
            value=what,
            value_key=polarity,
            said_at=moment(self.minute),
            key=f"{self.order}{ordinal:06d}",
            text=f"{who} {polarity}s {what}",
            source_label=Label.MESSAGE,
            source_id=self.key,
            props={"polarity": polarity},
        )
        self.assertions.append(row)
        return self

    def takes_back(self, event: str, ordinal: int = 0) -> Told:
        """An assertion of another event was wrong."""
        target = hash_of("assertion", event_key(self.scope, SOURCE, event), str(ordinal))
        made = hash_of("retraction", self.key, str(len(self.retractions)))
        self.retractions.append(RetractionRow(id=made, assertion=target))
        return self

    def unsays(self, who: str, where: str) -> Told:
        """What was said before of someone's home was wrong."""
        slot = slot_of(self.scope, who, "lives_in")
        place = entity_id(self.scope, EntityType.LOCATION, where)
        row = RetractionRow(
            id=hash_of("retraction", self.key, str(len(self.retractions))),
            slot=slot,
            claim=hash_of("claim", self.scope, slot, place),
            said_before=moment(self.minute),
        )
        self.retractions.append(row)
        return self

    def same(self, a: str, b: str, *, same: bool = True) -> Told:
        """Two people are one, or are not."""
        low, high = sorted((self.entity(a), self.entity(b)))
        self.links.append(LinkRow(a=low, b=high, same=same, key=self.order, reason="said"))
        return self

    def erases(self, kind: str, *ids: str, until: int | None = None, children: bool = False) -> Told:
        """Something is to be forgotten."""
        last = moment(self.minute if until is None else until)
        self.erasures.append(ErasureRow(kind=kind, ids=ids, until=last, children=children))
        return self

    def copy(self) -> Patch:
        """The patch of an erasure as it lies in every partition, for the scopes below."""
        return self.patch().model_copy(update={"copy_below": True})

    def patch(self) -> Patch:
        """The patch of the event."""
        recorded = self.minute if self.recorded is None else self.recorded
        origin = Origin(
            scope=self.scope,
            source=SOURCE,
            id=self.event,
            key=self.key,
            type="io.memstream.message.v1",
            topic="conversation",
            partition=0,
            offset=recorded if self.offset is None else self.offset,
            time=moment(self.minute),
            recorded_at=moment(recorded),
            order=self.order,
            session_id=self.session,
            subject=self.subject,
        )
        rows = (self.nodes, self.edges, self.assertions, self.retractions, self.links, self.erasures)
        return Patch(
            generation=self.generation,
            extractor="tests",
            origin=origin,
            verdict=Verdict.APPLIED if any(rows) else Verdict.EMPTY,
            nodes=tuple(self.nodes),
            edges=tuple(self.edges),
            assertions=tuple(self.assertions),
            retractions=tuple(self.retractions),
            links=tuple(self.links),
            erasures=tuple(self.erasures),
        )


def slot_of(scope: str, who: str, predicate: str, where: str | None = None) -> str:
    """The slot of a person and a predicate, and of the place where the predicate holds many."""
    more = () if where is None else (entity_id(scope, EntityType.LOCATION, where),)
    return hash_of("slot", scope, entity_id(scope, EntityType.PERSON, who), predicate, *more)


def patches(told: Sequence[Told]) -> list[Patch]:
    """The patches of events."""
    return [one.patch() for one in told]
