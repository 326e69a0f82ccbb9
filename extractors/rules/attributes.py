"""Attributes as subjects ("the deadline of X is ...", "my timezone is ...") and the speaker's own name."""

from __future__ import annotations

from collections.abc import Callable

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import FIRST, Ref
from memstream.extractors.parse.frames import Frame
from memstream.extractors.rules.nominals import owner_of
from memstream.extractors.text.values import first_email, first_money, first_phone, first_timezone, first_version

THINGS = ("Object", "Organization", "Event", "Location")


ATTRIBUTES = {
    "deadline": "has_deadline", "due date": "has_deadline", "budget": "has_budget", "timezone": "has_timezone",
    "zone": "has_timezone", "email": "has_email", "e-mail": "has_email", "mail": "has_email", "address": "has_email",
    "phone": "has_phone", "number": "has_phone", "mobile": "has_phone", "cell": "has_phone", "extension": "has_phone",
    "version": "has_version", "price": "costs", "cost": "costs", "fee": "costs", "rent": "costs",
    "owner": "owned_by", "founder": "founded", "name": "has_name", "manager": "managed_by", "boss": "managed_by",
    "cause": "caused_by", "root cause": "caused_by", "fix": "fixed_by", "status": "has_status", "author": "created",
}  # fmt: skip


def say_names(reading: Reading, frame: Frame) -> None:
    """As in "I'm Gulnara", "I am Davron": the speaker's own name."""
    tree = reading.tree
    if reading.turn.named or frame.unsure:
        return
    for s in frame.subj:
        if s >= 0 and tree.lower[s] in FIRST:
            for a in frame.attr:
                known = reading.cover[a].known if a in reading.cover else reading.speaker
                if known is not reading.speaker and known.type == "Person":
                    say_own_name(reading, reading.cover[a].known.name, frame)


def say_own_name(reading: Reading, name: str, frame: Frame | None) -> None:
    """The speaker's name: a fact, and from now on another name of the speaker."""
    known = reading.session.find(name, "Person")
    reading.say(
        Ref(reading.speaker, ""), "has_name", name, frame, presupposed=frame is None, rule="own name", dated=False
    )
    if known is not None and known is not reading.speaker and known in reading.session.known:
        reading.session.known.remove(known)
        for n in reading.named:
            if n.known is known:
                n.known = reading.speaker
    if name not in reading.speaker.aliases:
        reading.speaker.aliases = [*reading.speaker.aliases, name][-4:]


def say_attribute(reading: Reading, frame: Frame, i: int) -> bool:
    """As in "the deadline of X is ...", "my timezone is ...", "X's phone is ...", "the cause was ..."."""
    tree = reading.tree
    compound = next((tree.lower[k] for k in tree.kids[i] if tree.dep[k] == "compound"), "")
    predicate = ATTRIBUTES.get(f"{compound} {tree.lemma[i]}") or ATTRIBUTES.get(tree.lemma[i])
    if predicate is None:
        return False
    holder = owner_of(reading, i)
    if holder is None:
        for k in tree.kids[i]:
            if tree.dep[k] == "prep" and tree.lower[k] in ("for", "of", "on"):
                objects = [o for o in tree.kids[k] if tree.dep[o] == "pobj"]
                holder = reading.ref(objects[0], THINGS) if objects else None
            elif tree.dep[k] == "compound" and k in reading.cover:
                holder = reading.ref(k)
    if holder is None and any(row[2] == predicate for row in reading.session.facts):
        return True  # whose it is the session may know: see changes.py
    if holder is None or holder.known is None:
        return False
    low, high = frame.head, max(frame.tokens)
    text = tree.span_text(low, high + 1)
    literal: Callable[[], str | None] | None = {
        "has_deadline": lambda: next((t.future for t in reading.times_of(frame, frame.head)), None),
        "has_budget": lambda: first_money(text), "costs": lambda: first_money(text),
        "has_timezone": lambda: first_timezone(text), "has_email": lambda: first_email(text),
        "has_phone": lambda: first_phone(text), "has_version": lambda: first_version(text),
    }.get(predicate)  # fmt: skip
    if literal is not None:
        value = literal()
        if value:
            reading.say(
                holder, predicate, value, frame, at=frame.head, rule="attribute", dated=predicate != "has_deadline"
            )
        return bool(value)
    return _attribute_entity(reading, frame, predicate, holder)


def _attribute_entity(reading: Reading, frame: Frame, predicate: str, holder: Ref) -> bool:
    for a in frame.attr:
        if predicate == "has_status":
            return False
        if predicate == "has_name":
            if holder.known is reading.speaker and not reading.turn.named and a in reading.cover:
                say_own_name(reading, reading.cover[a].known.name, frame)
                return True
            return False
        ref = reading.ref(
            a,
            ("Person",) if predicate in ("founded", "managed_by", "created") else (),
            values=predicate in ("caused_by", "fixed_by"),
        )
        if ref is None:
            continue
        if predicate in ("founded", "created"):
            reading.say(ref, predicate, holder, frame, at=frame.head, rule="attribute")
        else:
            reading.say(holder, predicate, ref, frame, at=frame.head, rule="attribute")
        return True
    return False
