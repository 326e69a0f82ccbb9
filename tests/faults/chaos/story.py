"""What the publishers publish: events of all types from a seed, some poison, some twice, some with two contents.

Each text that an event alone says ends with its mark, so that it can be looked for once it is erased
(chaos.forgotten). No type is left out (a test holds that). What is: vectors, since the embedder is "none" here; a
sealed log; sessions with a time to live, since what expires them is an erasure like the others.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from chaos.erasures import BRIEF, erasure, the_same_with_another_name
from memstream.schemas.base import Data, EntityRef, EventRef
from memstream.schemas.board import Answered, Claimed, Closed, ItemKind, Posted, Released
from memstream.schemas.conversation import Document, Message, Role, SessionEnded, SessionStarted
from memstream.schemas.events import Event
from memstream.schemas.extraction import EntityType, Polarity
from memstream.schemas.feedback import Rated, Recalled, Served, Target, TargetKind
from memstream.schemas.state import (
    CheckpointPut,
    CheckpointWrites,
    ItemDeleted,
    ItemPut,
    PendingWrite,
    ThreadDeleted,
)
from memstream.schemas.statement import (
    AssertionTarget,
    Card,
    CardKind,
    Corrected,
    EntityStated,
    Erased,
    FactStated,
    Link,
    Merged,
    PreferenceStated,
    RelationshipStated,
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
_ERASURES = 0.025  # of all events
_LARGE = 20_000  # bytes of a result that goes to the offload store

Make = Callable[[random.Random, int], Data]


def events(seed: int, root: str) -> Iterator[Event]:
    """Event after event, without end: the same for the same seed and root, but for the time limits of erasures."""
    pick = random.Random(seed)  # noqa: S311 - a seed, not a secret
    made: list[Event] = []
    for number in range(10**9):
        if made and pick.random() < 0.04:  # again, as publishers do that heard no ack
            yield pick.choice(made[-200:])
        event = _event(pick, number, root, made)
        made.append(event)
        yield event
        if pick.random() < 0.01:  # the same id with another content: the log decides which counts
            yield _again(event, pick)


def mark(number: int) -> str:
    """What only the texts of this event have in them."""
    return f"#{number}#"


def _event(pick: random.Random, number: int, root: str, made: list[Event]) -> Event:
    late = timedelta(seconds=number - pick.choice((0, 0, 0, 5, 60)))
    if made and pick.random() < _ERASURES:
        data, scope = erasure(pick, number, made[-300:], root)
    else:
        data, scope = pick.choices(_MAKES, _WEIGHTS)[0](pick, number), _scope(pick, root)
    return Event.of(
        data, id=f"e{number}", source=SOURCE, time=_BEGIN + late, scope=scope, subject=_subject(pick, number)
    )


def _scope(pick: random.Random, root: str) -> str:
    """One of five; now and then one that is erased as a whole sometimes, or one below it."""
    if pick.random() < 0.08:
        return f"{root}/{BRIEF}" + pick.choice(("", "", "/below"))
    return f"{root}/{pick.randrange(_SCOPES)}"


def _subject(pick: random.Random, number: int) -> str | None:
    """Whom an event is about: mostly nobody, sometimes somebody who is here for a while, seldom one who stays."""
    return pick.choices((None, f"u{number // 50}", "resident"), (70, 25, 5))[0]


def _again(event: Event, pick: random.Random) -> Event:
    match event.data:
        case Message():
            told: Data = event.data.model_copy(
                update={"content": f"{pick.choice(_PEOPLE)} lives in {pick.choice(_PLACES)}"}
            )
        case Erased():
            told = the_same_with_another_name(event.data, pick)
        case _:
            return event
    return event.model_copy(update={"data": told})


def _session(pick: random.Random, number: int) -> str:
    """One of six that go on for ever, or one that is over soon."""
    return f"s{pick.randrange(_SESSIONS)}" if pick.random() < 0.8 else f"b{number // 60}"


def _name(pick: random.Random, number: int) -> str:
    return pick.choice(_PEOPLE) if pick.random() < 0.92 else f"Guest{number // 40}"


def _message(pick: random.Random, number: int) -> Data:
    who, place = pick.choice((_name(pick, number), _name(pick, number), "she")), pick.choice(_PLACES)
    text = pick.choice(
        (
            f"{who} lives in {place}",
            f"{who} lives in {place}",
            f"{who} lived in {place} until 20{pick.randrange(10, 26)}",
            f"{who} does not live in {place}",
            f"{who} works at {pick.choice(_FIRMS)}",
            "nothing of note",
        )
    )
    told = text if pick.random() < 0.3 else f"{text} {mark(number)}"  # some in the same words
    reply = EventRef(id=f"e{max(0, number + pick.randrange(-9, 3))}") if pick.random() < 0.2 else None
    return Message(session_id=_session(pick, number), role=Role.USER, content=told, reply_to=reply)


def _poison(pick: random.Random, number: int) -> Data:
    return Message(session_id=_session(pick, number), role=Role.USER, content=pick.choice(_POISON))


def _document(pick: random.Random, number: int) -> Data:
    text = f"{_name(pick, number)} lives in {pick.choice(_PLACES)} {mark(number)}.\n\nMore of it {mark(number)}."
    return Document(document_id=f"d{number // 40}", title="a page", text=text, session_id=_session(pick, number))


def _boundary(pick: random.Random, number: int) -> Data:
    session = _session(pick, number)
    if pick.random() < 0.5:
        return SessionStarted(session_id=session, title=f"talk {mark(number)}")
    return SessionEnded(session_id=session, reason=f"done {mark(number)}")


def _call(pick: random.Random, number: int) -> Data:
    status = pick.choice((ToolStatus.PENDING, ToolStatus.SUCCESS, ToolStatus.ERROR))
    error = "connection refused by 10.0.0.7:5432" if status is ToolStatus.ERROR else None
    result = {"rows": list(range(number % 5)), "note": mark(number)}
    if pick.random() < 0.08:
        result["text"] = "lorem " * (_LARGE // 6)
        result["note"] = pick.choice((mark(number), "the same"))
    return ToolCall(
        call_id=f"c{number // 20}-{pick.randrange(4)}",
        tool="lookup",
        status=status,
        arguments={"number": number % 7},
        result=result if status is ToolStatus.SUCCESS else None,
        error=error,
        trace_id=f"t{number // 50}",
        step_id=f"p{pick.randrange(5)}",
        session_id=_session(pick, number),
    )


def _run(pick: random.Random, number: int) -> Data:
    trace, session = f"t{number // 50}", "s0"
    kind = pick.randrange(6)
    if kind == 0:
        return TraceStarted(trace_id=trace, task=f"find {mark(number)}", session_id=session)
    if kind == 1:
        return TraceCompleted(trace_id=trace, outcome="found", success=pick.random() < 0.5, session_id=session)
    return Step(trace_id=trace, step_id=f"p{pick.randrange(5)}", thought=f"thought {mark(number)}", session_id=session)


def _person(pick: random.Random, number: int) -> EntityRef:
    return EntityRef(type=EntityType.PERSON, name=_name(pick, number))


def _fact(pick: random.Random, number: int) -> FactStated:
    place = EntityRef(type=EntityType.LOCATION, name=pick.choice(_PLACES))
    start = pick.choice((None, None, "2012", "2024-05"))
    return FactStated(subject=_person(pick, number), predicate="lives_in", object=place, valid_from=start)


def _relation(pick: random.Random, number: int) -> Data:
    a, b = _person(pick, number), _person(pick, number)
    return RelationshipStated(subject=a, predicate=pick.choice(("knows", "admires")), object=b)


def _taking_back(pick: random.Random, number: int) -> Data:
    # of what was, or of what will be published
    event = EventRef(id=f"e{max(0, number + pick.randrange(-60, 6))}")
    target = AssertionTarget(event=event, ordinal=0)
    if pick.random() < 0.5:
        return Retracted(target=target)
    return Corrected(target=target, replacement=_fact(pick, number))


def _entity(pick: random.Random, number: int) -> Data:
    who = _person(pick, number)
    kind = pick.randrange(4)
    if kind == 0:
        return Merged(a=who, b=EntityRef(type=EntityType.PERSON, name=f"{who.name} Hale"))
    if kind == 1:
        return Unmerged(a=who, b=EntityRef(type=EntityType.PERSON, name=f"{who.name} Hale"))
    if kind == 2:
        polarity = pick.choice((Polarity.LIKE, Polarity.DISLIKE))
        return PreferenceStated(holder=who, polarity=polarity, object=pick.choice(("tea", "coffee")))
    return EntityStated(name=who.name, type=who.type, description=f"as of {mark(number)}", aliases=(f"{who.name}y",))


def _learned(pick: random.Random, number: int) -> Data:
    """A card that rests on what was or will be said, maybe on another card; or a link."""
    if pick.random() < 0.3:
        return Link(from_id=f"k{number // 60}", to_id=f"e{number}", relation="RELATED_TO")
    evidence = tuple(f"e{max(0, number + pick.randrange(-60, 10))}" for _ in range(2))
    return Card(
        kind=CardKind.PROCEDURAL,
        title="how to look up",
        content=f"look twice {mark(number)}",
        card_id=pick.choice((None, f"k{number // 60}")),
        evidence=evidence,
        tags=("lookup",),
    )


def _board(pick: random.Random, number: int) -> Data:
    item, agent = f"i{number // 30}", f"a{pick.randrange(3)}"
    kind = pick.randrange(5)
    if kind == 0:
        return Posted(item_id=item, kind=ItemKind.TASK, text=f"do {mark(number)}", agent_id=agent)
    if kind == 1:
        return Claimed(item_id=item, agent_id=agent, lease_seconds=60)
    if kind == 2:
        return Released(item_id=item, agent_id=agent)
    if kind == 3:
        return Closed(item_id=item, agent_id=agent, resolution=f"closed {mark(number)}")
    return Answered(item_id=item, agent_id=agent, text=f"done {mark(number)}")


def _kept(pick: random.Random, number: int) -> Data:
    key = f"k{pick.randrange(8)}"
    return ItemDeleted(key=key) if pick.random() < 0.2 else ItemPut(key=key, value={"n": mark(number)})


def _checkpoint(pick: random.Random, number: int) -> Data:
    thread, checkpoint = f"t{pick.randrange(4)}", f"p{number // 30}"
    kind = pick.randrange(8)
    if kind == 0:
        return ThreadDeleted(thread_id=thread)
    if kind < 4:
        write = PendingWrite(channel="c", encoding="text", blob=mark(number))
        return CheckpointWrites(thread_id=thread, checkpoint_id=checkpoint, task_id="w", writes=(write,))
    return CheckpointPut(thread_id=thread, checkpoint_id=checkpoint, encoding="text", blob=mark(number))


def _feedback(pick: random.Random, number: int) -> Data:
    recall, session = f"r{number // 30}", _session(pick, number)
    message = f"e{max(0, number + pick.randrange(-30, 5))}"
    kind = pick.randrange(4)
    if kind == 0:
        return Recalled(recall_id=recall, query="where?", items=(Served(kind="message", id=message),))
    if kind == 1:
        return Rated(recall_id=recall, used=(message,), session_id=session)
    target = Target(kind=TargetKind.MESSAGE, id=message)
    return Rated(target=target, reward=float(pick.randrange(3)), session_id=session)


_TABLE: tuple[tuple[Make, int], ...] = (
    (_message, 44),
    (_poison, 1),
    (_document, 1),
    (_boundary, 4),
    (_call, 12),
    (_run, 10),
    (_fact, 5),
    (_relation, 1),
    (_taking_back, 6),
    (_entity, 6),
    (_learned, 3),
    (_board, 4),
    (_kept, 3),
    (_checkpoint, 2),
    (_feedback, 3),
)
_MAKES, _WEIGHTS = zip(*_TABLE, strict=True)
