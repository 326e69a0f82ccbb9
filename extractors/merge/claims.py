"""When two extractors say the same: triples and slots by normalised names, relations in one direction."""

from __future__ import annotations

from typing import NamedTuple

from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import EntityName, ExtractedPreference
from memstream.schemas.names import normalise_name

End = tuple[str, str]
"""A type and a normalised name; a literal value has the type ""."""


class Triple(NamedTuple):
    """What is said, whichever way round."""

    subject: End
    predicate: str
    object: End


Slot = tuple[End, str, str]
"""Where values compete: subject and predicate; of a preference holder, object and context."""


def triple_of(subject: EntityName, predicate: str, value: EntityName | str) -> Triple:
    """The triple: symmetric relations with the lesser end first, inverse ones as the predicate that has the inverse."""
    left, right = end_of(subject), end_of(value)
    if isinstance(value, str):
        return Triple(left, predicate, right)
    known = catalogue()
    if known.is_symmetric(predicate):
        return Triple(min(left, right), predicate, max(left, right))
    straight = _inverses().get(predicate)
    return Triple(left, predicate, right) if straight is None else Triple(right, straight, left)


def _inverses() -> dict[str, str]:
    """The predicates that are the other way round of one that the catalogue names before them, and that one."""
    found: dict[str, str] = {}
    for name, predicate in catalogue().predicates.items():
        if predicate.inverse is not None and name not in found:
            found.setdefault(predicate.inverse, name)
    return found


def slot_of(triple: Triple) -> Slot:
    """The slot of a single-valued predicate."""
    return triple.subject, triple.predicate, ""


def preference_slot(said: ExtractedPreference) -> Slot:
    """The slot of a preference."""
    return end_of(said.holder), normalise_name(said.object), normalise_name(said.context or "")


def end_of(value: EntityName | str) -> End:
    """An end of a triple."""
    if isinstance(value, str):
        return "", normalise_name(value)
    return value.type.value, normalise_name(value.name)
