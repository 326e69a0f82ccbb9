"""Slots, claims and keys: what makes two assertions speak of one thing, and in which order they were said.

A slot is where values compete: (scope, subject, predicate) and, for a predicate that holds many, the object. A claim is
one value of a slot. Symmetric predicates are stored in one direction (the lesser entity id first), those with an
inverse in the catalogue in the direction that the catalogue states first.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import EntityType
from memstream.schemas.ids import hash_of
from memstream.schemas.limits import MAX_NAME
from memstream.schemas.names import normalise_name
from memstream.schemas.patch import Origin
from memstream.streams.projection import names
from memstream.streams.projection.rows import NamedThing

_PART = "\x1f"
PREFERENCE = "preference"


@dataclass(frozen=True, slots=True)
class Term:
    """An entity as the end of an assertion."""

    id: str
    name: str
    type: EntityType

    @classmethod
    def of(cls, scope: str, thing: NamedThing) -> Term:
        """The entity that a name of this type stands for in a scope."""
        known = names.known(scope, thing.type, thing.name)
        return cls(known.id, known.shown, thing.type)


@dataclass(frozen=True, slots=True)
class Claim:
    """A triple in its stored direction, with the ids of its slot and of its value there."""

    subject: Term
    predicate: str
    object: Term | None
    value: str | None
    value_key: str
    single: bool
    open: bool
    slot: str
    claim: str


def claim_of(scope: str, subject: NamedThing, predicate: str, value: NamedThing | str) -> Claim:
    """The claim of a triple; `value` is an entity or a literal."""
    left = Term.of(scope, subject)
    right = None if isinstance(value, str) else Term.of(scope, value)
    if right is not None:
        left, predicate, right = _directed(left, predicate, right)
    literal = value if isinstance(value, str) else None
    value_key = literal_key(literal) if right is None and literal is not None else right.id if right else ""
    single = catalogue().is_single(predicate)
    slot = hash_of("slot", scope, left.id, predicate, *(() if single else (value_key,)))
    return Claim(
        subject=left,
        predicate=predicate,
        object=right,
        value=literal,
        value_key=value_key,
        single=single,
        open=predicate not in catalogue(),
        slot=slot,
        claim=hash_of("claim", scope, slot, value_key),
    )


def preference_slot(scope: str, holder: str, about: str, context: str | None) -> str:
    """The slot of a preference: (holder, object, context)."""
    return hash_of("slot", scope, holder, PREFERENCE, literal_key(about), literal_key(context or ""))


def preference_value(polarity: str, over: str | None) -> str:
    """The value of a preference: the polarity, and what it is preferred over."""
    return polarity + _PART + literal_key(over) if over else polarity


def literal_key(value: str) -> str:
    """A literal in normal form. A text too long for a name keeps its difference in a hash."""
    if len(value) > MAX_NAME:
        return normalise_name(value)[: MAX_NAME // 2] + _PART + hash_of(value)
    return normalise_name(value)


def assertion_id(event_key: str, ordinal: int) -> str:
    """The id of an event's assertion: (event, ordinal), by which a correction can name it."""
    return hash_of("assertion", event_key, str(ordinal))


def retraction_id(event_key: str, ordinal: int) -> str:
    """The id of an event's retraction."""
    return hash_of("retraction", event_key, str(ordinal))


def said_key(origin: Origin, ordinal: int) -> str:
    """The place of an assertion among all that was said: (said at, sequence, source, event id, ordinal) as a text."""
    said, _, _ = origin.order.rpartition(_PART)
    return said + _PART + f"{ordinal:06d}"


def _directed(left: Term, predicate: str, right: Term) -> tuple[Term, str, Term]:
    stored = _inverses().get(predicate)
    if stored is not None:
        return right, stored, left
    if catalogue().is_symmetric(predicate) and right.id < left.id:
        return right, predicate, left
    return left, predicate, right


@functools.cache
def _inverses() -> Mapping[str, str]:
    """The predicates that are stored the other way round, and as what."""
    stored: dict[str, str] = {}
    for name, predicate in catalogue().predicates.items():
        if predicate.inverse is not None and name not in stored:
            stored.setdefault(predicate.inverse, name)
    return stored
