"""What resolution sees of an entity, and what it says of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from memstream.schemas.extraction import EntityType
from memstream.schemas.patch import SameStatus

SURE = 0.9
LIKELY = 0.7
"""From these scores on two entities are one, or may be and are for a person to look at."""


Status = SameStatus


class Known(NamedTuple):
    """A fact about an entity: the predicate as it reads from it, and the other end or the value, by key and by name.

    `single`: it has one such value at a time.
    """

    predicate: str
    key: str
    name: str
    single: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """An entity of a scope: `id` is only compared. `vector`, of unit length, is of its description."""

    id: str
    type: EntityType
    name: str
    aliases: tuple[str, ...] = ()
    facts: frozenset[Known] = frozenset()
    vector: tuple[float, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All that it is called, its own name first."""
        return (self.name, *(one for one in self.aliases if one != self.name))


@dataclass(frozen=True, slots=True)
class Likeness:
    """How like two names are. `partial`: only a part of one says so, and what else is known counts for more.

    `most` is the score that nothing can lift it above.
    """

    score: float
    reason: str
    partial: bool = False
    most: float = 1.0


NOTHING = Likeness(0.0, "")
"""Two names that have nothing to do with each other, or are of two things."""


@dataclass(frozen=True, slots=True, order=True)
class Same:
    """Two entities, the lesser id first, that are one (`accepted`) or may be (`proposed`), and why."""

    a: str
    b: str
    status: Status
    score: float
    reason: str
