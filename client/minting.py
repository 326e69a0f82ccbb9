"""Making events: ids, times and sequences are minted where the event is, and what the caller left out has a default."""

from __future__ import annotations

import itertools
import os
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Generic, TypedDict, TypeVar
from urllib.parse import quote

from pydantic import ValidationError

from memstream.client.receipt import Receipt
from memstream.schemas.base import Data, EntityRef, EventRef
from memstream.schemas.cloudevents import refusal
from memstream.schemas.errors import InvalidEvent, Reason
from memstream.schemas.events import Event
from memstream.schemas.extraction import EntityType
from memstream.schemas.ids import new_event_id

_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)

Choice = TypeVar("Choice", bound=Enum)
Handed = TypeVar("Handed")


class Envelope(TypedDict, total=False):
    """What every method takes beside its own arguments: the event's attributes, minted or defaulted where left out.

    `about` names the person that the event is about (CloudEvents' `subject`), for erasure.
    """

    id: str
    time: datetime
    scope: str
    source: str
    about: str
    sequence: str
    recordedtime: datetime
    traceparent: str
    correlationid: str
    dataref: str


@dataclass(frozen=True, slots=True)
class Identity:
    """Who publishes: the defaults of a publisher's events."""

    scope: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    source: str = ""

    def with_source(self) -> Identity:
        """The same with a source of its own: agent (or host), process, and something no other publisher has."""
        host = quote(socket.gethostname() or "host", safe="")
        who = f"{quote(self.agent_id, safe='')}/{host}" if self.agent_id else host
        source = self.source or f"{who[:200]}-{os.getpid()}-{secrets.token_hex(4)}"
        return Identity(self.scope, self.session_id, self.agent_id, self.user_id, source)


@dataclass(slots=True)
class Mint:
    """Makes events of one publisher. Safe from several threads: sequences rise and times never go back."""

    identity: Identity
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _sequence: itertools.count[int] = field(default_factory=itertools.count)
    _last: datetime = _BEGINNING
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def event(self, kind: type[Data], fields: Mapping[str, Any], envelope: Envelope) -> Event:
        """The event of some data. Raises InvalidEvent, naming the field, where the data breaks the contract."""
        # what a later call says must not sort before it, whatever the system's clock does
        with self._lock:
            self._last = max(self._last, self.clock())
            minted: dict[str, Any] = {"time": self._last, "sequence": str(next(self._sequence))}
        minted |= {"id": new_event_id(), "source": self.identity.source, "scope": self.identity.scope}
        minted |= {"subject" if name == "about" else name: value for name, value in envelope.items()}
        if minted["scope"] is None:
            raise InvalidEvent(Reason.BAD_SCOPE, "no scope: give the publisher one, or the call (scope='acme/user-42')")
        try:
            data = kind.model_validate(dict(fields))
        except ValidationError as error:
            raise refusal(error, "data") from error
        try:
            return Event.of(data, **minted)
        except ValidationError as error:
            raise refusal(error, "attribute") from error


class Methods(Generic[Handed]):
    """Base of the groups of methods: each makes an event and hands it over. `Handed` is what that gives back."""

    _mint: Mint

    def _hand_over(self, event: Event) -> Handed:
        raise NotImplementedError

    def _emit(self, data: type[Data], envelope: Envelope, /, **fields: Any) -> Handed:
        return self._hand_over(self._mint.event(data, fields, envelope))

    def _session(self, given: str | None) -> str | None:
        return given if given is not None else self._mint.identity.session_id

    def _agent(self, given: str | None) -> str | None:
        return given if given is not None else self._mint.identity.agent_id

    def _user(self, given: str | None) -> str | None:
        return given if given is not None else self._mint.identity.user_id


EntityLike = EntityRef | tuple[str, str]
EventLike = EventRef | Event | Receipt | str


def choice(kind: type[Choice], value: str | Choice | None, name: str) -> Any:
    """A plain string as the enum's member. Raises InvalidEvent with the words that may stand there."""
    if value is None or isinstance(value, kind):
        return value
    try:
        return kind(value)
    except ValueError:
        words = ", ".join(str(member.value) for member in kind)
        raise InvalidEvent(Reason.BAD_FIELD, f"{name} {value!r} is none of {words}") from None


def entity(value: EntityLike | None) -> EntityRef | None:
    """An entity given as a reference or as (type, name). Raises InvalidEvent."""
    if value is None or isinstance(value, EntityRef):
        return value
    kind, name = value
    try:
        return EntityRef(type=choice(EntityType, kind, "entity type"), name=name)
    except ValidationError as error:
        raise refusal(error, "entity") from error


def event_ref(value: EventLike | None) -> EventRef | None:
    """Another event: a reference, the event, its receipt, or an id of this publisher's own. Raises InvalidEvent."""
    if value is None or isinstance(value, EventRef):
        return value
    if isinstance(value, Event):
        return EventRef(id=value.id, source=value.source)
    if isinstance(value, Receipt):
        return EventRef(id=value.event_id, source=value.source)
    try:
        return EventRef(id=value)
    except ValidationError as error:
        raise refusal(error, "event reference") from error
