"""What the publishers publish: events of all kinds from a seed, some poison, some twice, some with two contents."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from memstream.schemas.base import Data, EntityRef, EventRef
from memstream.schemas.board import Answered, Claimed, ItemKind, Posted, Released
from memstream.schemas.conversation import Message, Role, SessionEnded, SessionStarted
from memstream.schemas.events import Event
from memstream.schemas.extraction import EntityType, Polarity
from memstream.schemas.feedback import Rated, Target, TargetKind
from memstream.schemas.state import ItemDeleted, ItemPut
from memstream.schemas.statement import (
    AssertionTarget,
    Corrected,
    EntityStated,
    FactStated,
    Merged,
    PreferenceStated,
    Retracted,
    Unmerged,
)
from memstream.schemas.tools import Step, ToolCall, ToolStatus, TraceCompleted, TraceStarted

SOURCE = "chaos"
_BEGIN = datetime(2026, 3, 6, 9, 0, tzinfo=UTC)
_PEOPLE = ("Ann", "Bob", "Cid", "Dora", "Eve")
_PLACES = ("Paris", "Rome", "Oslo", "Bonn")
_FIRMS = ("Acme", "Globex")
_SCOPES, _SESSIONS = 5, 6
_POISON = (*("RAISE this one",) * 5, "DIE at this one")  # each death costs a process that loads anew

Make = Callable[[random.Random, int], Data]


def events(seed: int, root: str) -> Iterator[Event]:
    """Event after event, without end: the same for the same seed and root."""
    pick = random.Random(seed)  # noqa: S311 - a seed, not a secret
    made: list[Event] = []
    for number in range(10**9):
        if made and pick.random() < 0.04:  # again, as publishers do that heard no ack
            yield pick.choice(made[-200:])
        event = _event(pick, number, root)
        made.append(event)
        yield event
        if pick.random() < 0.01:  # the same id with another content: the log decides which counts
            yield _again(event, pick)


def _event(pick: random.Random, number: int, root: str) -> Event:
    make = pick.choices(_MAKES, _WEIGHTS)[0]
    late = timedelta(seconds=number - pick.choice((0, 0, 0, 5, 60)))
    scope = f"{root}/{pick.randrange(_SCOPES)}"
    return Event.of(make(pick, number), id=f"e{number}", source=SOURCE, time=_BEGIN + late, scope=scope)


def _again(event: Event, pick: random.Random) -> Event:
    if not isinstance(event.data, Message):
        return event
    data = event.data.model_copy(update={"content": f"{pick.choice(_PEOPLE)} lives in {pick.choice(_PLACES)}"})
    return event.model_copy(update={"data": data})


def _session(pick: random.Random) -> str:
    return f"s{pick.randrange(_SESSIONS)}"


def _message(pick: random.Random, number: int) -> Data:
    who, place = pick.choice((*_PEOPLE, "she", "she")), pick.choice(_PLACES)
    text = pick.choice(
        (
            f"{who} lives in {place}",
            f"{who} lives in {place}",
            f"{who} lived in {place} until 20{pick.randrange(10, 26)}",
            f"{who} does not live in {place}",
            f"{who} works at {pick.choice(_FIRMS)}",
            f"nothing of note {number}",
        )
    )
    reply = EventRef(id=f"e{max(0, number + pick.randrange(-9, 3))}") if pick.random() < 0.2 else None
    return Message(session_id=_session(pick), role=Role.USER, content=text, reply_to=reply)


def _poison(pick: random.Random, number: int) -> Data:
    return Message(session_id=_session(pick), role=Role.USER, content=pick.choice(_POISON))


def _boundary(pick: random.Random, number: int) -> Data:
    if pick.random() < 0.5:
        return SessionStarted(session_id=_session(pick), title=f"talk {number}")
    return SessionEnded(session_id=_session(pick), reason="done")


def _call(pick: random.Random, number: int) -> Data:
    status = pick.choice((ToolStatus.PENDING, ToolStatus.SUCCESS, ToolStatus.ERROR))
    error = "connection refused by 10.0.0.7:5432" if status is ToolStatus.ERROR else None
    return ToolCall(
        call_id=f"c{number // 20}-{pick.randrange(4)}",
        tool="lookup",
        status=status,
        arguments={"number": number % 7},
        result={"rows": list(range(number % 5))} if status is ToolStatus.SUCCESS else None,
        error=error,
        trace_id=f"t{number // 50}",
        step_id=f"p{pick.randrange(5)}",
        session_id=_session(pick),
    )


def _run(pick: random.Random, number: int) -> Data:
    trace, session = f"t{number // 50}", "s0"
    kind = pick.randrange(6)
    if kind == 0:
        return TraceStarted(trace_id=trace, task=f"find {number // 50}", session_id=session)
    if kind == 1:
        return TraceCompleted(trace_id=trace, outcome="found", success=pick.random() < 0.5, session_id=session)
    return Step(trace_id=trace, step_id=f"p{pick.randrange(5)}", thought=f"thought {number}", session_id=session)


def _person(pick: random.Random) -> EntityRef:
    return EntityRef(type=EntityType.PERSON, name=pick.choice(_PEOPLE))


def _fact(pick: random.Random, number: int) -> FactStated:
    place = EntityRef(type=EntityType.LOCATION, name=pick.choice(_PLACES))
    start = pick.choice((None, None, "2012", "2024-05"))
    return FactStated(subject=_person(pick), predicate="lives_in", object=place, valid_from=start)


def _taking_back(pick: random.Random, number: int) -> Data:
    # of what was, or of what will be published
    event = EventRef(id=f"e{max(0, number + pick.randrange(-60, 6))}")
    target = AssertionTarget(event=event, ordinal=0)
    if pick.random() < 0.5:
        return Retracted(target=target)
    return Corrected(target=target, replacement=_fact(pick, number))


def _entity(pick: random.Random, number: int) -> Data:
    who = _person(pick)
    kind = pick.randrange(4)
    if kind == 0:
        return Merged(a=who, b=EntityRef(type=EntityType.PERSON, name=f"{who.name} Hale"))
    if kind == 1:
        return Unmerged(a=who, b=EntityRef(type=EntityType.PERSON, name=f"{who.name} Hale"))
    if kind == 2:
        polarity = pick.choice((Polarity.LIKE, Polarity.DISLIKE))
        return PreferenceStated(holder=who, polarity=polarity, object=pick.choice(("tea", "coffee")))
    return EntityStated(name=who.name, type=who.type, description=f"as of {number}", aliases=(f"{who.name}y",))


def _board(pick: random.Random, number: int) -> Data:
    item, agent = f"i{number // 30}", f"a{pick.randrange(3)}"
    kind = pick.randrange(4)
    if kind == 0:
        return Posted(item_id=item, kind=ItemKind.TASK, text=f"do {number}", agent_id=agent)
    if kind == 1:
        return Claimed(item_id=item, agent_id=agent, lease_seconds=60)
    if kind == 2:
        return Released(item_id=item, agent_id=agent)
    return Answered(item_id=item, agent_id=agent, text=f"done {number}")


def _kept(pick: random.Random, number: int) -> Data:
    key = f"k{pick.randrange(8)}"
    return ItemDeleted(key=key) if pick.random() < 0.2 else ItemPut(key=key, value={"n": number})


def _rating(pick: random.Random, number: int) -> Data:
    target = Target(kind=TargetKind.MESSAGE, id=f"e{max(0, number + pick.randrange(-30, 5))}")
    return Rated(target=target, reward=float(pick.randrange(3)), session_id=_session(pick))


_TABLE: tuple[tuple[Make, int], ...] = (
    (_message, 46),
    (_poison, 1),
    (_boundary, 4),
    (_call, 12),
    (_run, 10),
    (_fact, 6),
    (_taking_back, 6),
    (_entity, 6),
    (_board, 4),
    (_kept, 3),
    (_rating, 2),
)
_MAKES, _WEIGHTS = zip(*_TABLE, strict=True)
