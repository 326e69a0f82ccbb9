"""The erasures of the story: of what was published or will be, of each kind, with a time limit and without.

Most of what they name is small, so that the graph is not emptied: an event, a session that is over soon, somebody who
is here for a while. Whole scopes are those of a branch that few events use.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from memstream.schemas.events import Event
from memstream.schemas.extraction import EntityType
from memstream.schemas.ids import entity_id
from memstream.schemas.statement import Erased, ErasureKind

BRIEF = "brief"
"""The name of the scope that is erased as a whole now and then."""

_LIMITED = 0.3  # of the erasures
_LIMITS = (2, 10, 40)  # seconds before an erasure: what was recorded later stays


def erasure(pick: random.Random, number: int, lately: Sequence[Event], root: str) -> tuple[Erased, str]:
    """What is to be forgotten, and in which scope; a time limit is of the clock, as recorded times are."""
    named, scope = pick.choices(_KINDS, _WEIGHTS)[0](pick, number, lately, root)
    if pick.random() < _LIMITED:
        until = datetime.now(UTC) - timedelta(seconds=pick.choice(_LIMITS))
        return named.model_copy(update={"until": until}), scope
    return named, scope


def the_same_with_another_name(told: Erased, pick: random.Random) -> Erased:
    """An erasure whose event comes a second time with another name: both count."""
    if told.kind is ErasureKind.SCOPE:
        return told
    return told.model_copy(update={"ids": (f"{told.ids[0]}{pick.randrange(10)}",)})


def _events(pick: random.Random, number: int, lately: Sequence[Event], root: str) -> tuple[Erased, str]:
    one = pick.choice(lately)
    kind = pick.choice((ErasureKind.EVENT, ErasureKind.MESSAGE))
    return Erased(kind=kind, ids=(one.id, f"e{number + pick.randrange(1, 20)}")), one.scope


def _session(pick: random.Random, number: int, lately: Sequence[Event], root: str) -> tuple[Erased, str]:
    session = f"b{max(0, number + pick.randrange(-120, 60)) // 60}"
    if pick.random() < 0.3:
        return Erased(kind=ErasureKind.SESSION, ids=(session,), children=True), root
    return Erased(kind=ErasureKind.SESSION, ids=(session,)), pick.choice(lately).scope


def _long_session(pick: random.Random, number: int, lately: Sequence[Event], root: str) -> tuple[Erased, str]:
    return Erased(kind=ErasureKind.SESSION, ids=(f"s{pick.randrange(6)}",)), pick.choice(lately).scope


def _user(pick: random.Random, number: int, lately: Sequence[Event], root: str) -> tuple[Erased, str]:
    user = "resident" if pick.random() < 0.1 else f"u{max(0, number + pick.randrange(-150, 50)) // 50}"
    if pick.random() < 0.5:
        return Erased(kind=ErasureKind.USER, ids=(user,), children=True), root
    return Erased(kind=ErasureKind.USER, ids=(user,)), pick.choice(lately).scope


def _entity(pick: random.Random, number: int, lately: Sequence[Event], root: str) -> tuple[Erased, str]:
    scope = pick.choice(lately).scope
    name = "Eve" if pick.random() < 0.1 else f"Guest{max(0, number + pick.randrange(-80, 40)) // 40}"
    return Erased(kind=ErasureKind.ENTITY, ids=(entity_id(scope, EntityType.PERSON, name),)), scope


def _scope(pick: random.Random, number: int, lately: Sequence[Event], root: str) -> tuple[Erased, str]:
    return Erased(kind=ErasureKind.SCOPE, children=pick.random() < 0.5), f"{root}/{BRIEF}"


_Make = Callable[[random.Random, int, Sequence[Event], str], tuple[Erased, str]]
_TABLE: tuple[tuple[_Make, int], ...] = (
    (_events, 45),
    (_session, 16),
    (_long_session, 1),
    (_user, 18),
    (_entity, 14),
    (_scope, 6),
)
_KINDS, _WEIGHTS = zip(*_TABLE, strict=True)
