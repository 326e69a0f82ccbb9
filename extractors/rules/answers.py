"""Answers that only make sense with their question, and confirmations of what an assistant guessed."""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import replace
from importlib import resources

import orjson

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.context.session import Known, Question, Session, clean
from memstream.extractors.text.lexicon import lexicon, words
from memstream.extractors.text.values import (
    first_email,
    first_money,
    first_phone,
    first_timezone,
    first_version,
    language,
    number,
)
from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import EntityName, EntityType, ExtractedAssertion, Turn


@functools.cache
def _questions() -> tuple[tuple[re.Pattern[str], str], ...]:
    raw = tomllib.loads((resources.files("memstream.extractors.rules") / "questions.toml").read_text(encoding="utf-8"))
    return tuple(
        (re.compile(pattern, re.I), row["predicate"]) for row in raw["question"] for pattern in row["patterns"]
    )


_SENTENCE = re.compile(r"[^.!?\n]*\?")
_LITERAL = {
    "has_version": first_version, "has_email": first_email, "has_phone": first_phone, "has_timezone": first_timezone,
    "has_budget": first_money, "costs": first_money,
}  # fmt: skip
_PERSON = words(
    """
    lives_in works_at has_role has_age has_name has_email has_phone has_timezone studied_at allergic_to speaks
    born_in born_on partner_of
    """
)
_ANSWER_TYPES = {
    "lives_in": ("Location",), "works_at": ("Organization",), "managed_by": ("Person", "Organization"),
    "owned_by": ("Person", "Organization"),
    "created!": ("Person", "Organization"), "founded!": ("Person",), "located_in": ("Location",),
    "runs_on": ("Object",), "studied_at": ("Organization",), "depends_on": ("Object",),
    "fixed_by": ("Person", "Object"), "born_in": ("Location",),
    "partner_of": ("Person",), "blocked_by": ("Object", "Event", "Person"), "caused_by": (),
}  # fmt: skip


def ask(reading: Reading) -> Question | None:
    """The last question of a message that a short answer would complete, if it is one of the kinds known."""
    found: Question | None = None
    for sentence in _SENTENCE.finditer(reading.tree.text):
        for pattern, predicate in _questions():
            m = pattern.search(sentence[0])
            if m is not None:
                found = Question(
                    predicate, _subject(reading, m, predicate), reading.turn.event_id, reading.speaker.name
                )
                break
    return found


def _subject(reading: Reading, m: re.Match[str], predicate: str) -> list[str]:
    """[name, type] of whom it asks about; ["you"] for the one who answers; [] where it is left open."""
    groups = m.groupdict()
    text = clean(groups.get("s") or groups.get("s2") or "").removesuffix("'s")
    low = text.lower()
    if low in ("you", "your", "") and predicate in _PERSON:
        return ["you"]
    view = Session(known=reading.earlier)
    before = [n.known for n in reading.named]
    if low in ("he", "she", "his", "her", "it", "they", "that", "their"):
        known = view.pronoun("it" if low == "that" else low, before)
    else:
        known = reading.session.find(text) or view.definite(low.split()[-1] if low else "", before)
    return [known.name, known.type] if known else []


def answer(reading: Reading, question: Question | None) -> None:
    """Complete a short answer from the question before it."""
    if question is None or question.asker == reading.speaker.name or not reading.asserting:
        return
    tree = reading.tree
    if not tree.sentences:
        return
    end = _first_piece(reading)
    if any(
        f.head < end and f.subj and f.subj[0] >= 0 and tree.lower[f.subj[0]] not in ("that", "it")
        for f in reading.frames
    ):
        return
    lead = tree.lower[0]
    if lead in lexicon().no or lead in ("who", "what", "why", "how", "ask", "depends", "whatever", "no", "none"):
        return
    if any(tree.lower[i] in lexicon().hedges or tree.words[i] == "?" for i in range(end)) or (
        end < len(tree) and tree.words[end] == "?"
    ):
        return
    subject = _answer_subject(reading, question)
    if subject is None:
        return
    for obj in _answer_objects(reading, question.predicate, end):
        predicate = question.predicate.rstrip("!")
        used = replace(subject, used=(*subject.used, question.event))
        pair: tuple[Ref, Ref] = (obj, used) if question.predicate.endswith("!") else (used, obj)
        if pair[0].known is None:
            continue
        reading.say(
            pair[0],
            predicate,
            pair[1],
            presupposed=True,
            at=0,
            rule="answer",
            dated=predicate not in ("has_deadline", "scheduled_for", "born_on"),
        )


def _answer_subject(reading: Reading, question: Question) -> Ref | None:
    if question.subject == ["you"]:
        return Ref(reading.speaker, "")
    if not question.subject:
        wanted = (
            catalogue().predicates[question.predicate.rstrip("!")].subject
            if not question.predicate.endswith("!")
            else ("Object",)
        )
        for known in reversed(reading.earlier):
            if known.type in wanted and known.last >= reading.session.turn - 3 and known.type != "Person":
                return Ref(known, "")
        return Ref(reading.speaker, "") if question.predicate in _PERSON else None
    asked = reading.session.find(question.subject[0], question.subject[1])
    if asked is None:
        known = Known(question.subject[0], question.subject[1], "", reading.session.turn, question.event)
        return Ref(known, "", fresh=True)
    return Ref(asked, "")


def _first_piece(reading: Reading) -> int:
    """Where the first sentence or clause of the answer ends."""
    tree = reading.tree
    for i in range(len(tree)):
        if i and (
            tree.words[i] in (".", "!", "?", ";", "…", "...")
            or tree.words[i].startswith("\n")
            or tree.lower[i] == "but"
        ):
            return i
        if i > 12:
            return i
    return len(tree)


def _answer_objects(reading: Reading, predicate: str, end: int) -> list[Ref]:  # noqa: PLR0911 (one decision after the other)
    tree = reading.tree
    text = tree.span_text(0, end) if end else ""
    if predicate in _LITERAL:
        found = _LITERAL[predicate](text)
        return [Ref(None, found)] if found else []
    if predicate == "has_age":
        n = number(text) or next((number(w) for w in text.split() if number(w.strip(".,"))), None)
        return [Ref(None, str(n))] if n and n < 120 else []
    if predicate in ("has_deadline", "scheduled_for", "born_on"):
        times = [t for t in reading.times if t.start < len(text)]
        return [Ref(None, times[0].past if predicate == "born_on" else times[0].future)] if times else []
    if predicate == "speaks":
        return [Ref(None, tree.words[i]) for i in range(end) if language(tree.words[i])]
    if predicate in ("allergic_to", "has_role"):
        return _value_answer(reading, predicate, end)
    if predicate == "has_name":
        named = [n for n in reading.named if n.span.end <= end + 1 and n.known.type == "Person"]
        return (
            [Ref(None, tree.span_text(named[0].span.start, named[0].span.end))]
            if named and not reading.turn.named
            else []
        )
    return _entity_answer(reading, predicate, end)


def _value_answer(reading: Reading, predicate: str, end: int) -> list[Ref]:
    tree = reading.tree
    parts = [
        clean(re.sub(r"^(?:and|a|an|the|to)\s+", "", p.strip(), flags=re.I))
        for p in re.split(r",|\band\b", tree.span_text(0, end))
    ]
    if predicate == "has_role":
        parts = parts[:1]
        if not parts or (parts[0].split()[-1:] and parts[0].split()[-1].lower() not in lexicon().roles):
            return []
    return [
        Ref(None, p) for p in parts if p and len(p.split()) <= 3 and p.lower() not in ("both", "none", "nothing", "yes")
    ][:5]


def _entity_answer(reading: Reading, predicate: str, end: int) -> list[Ref]:
    types = _ANSWER_TYPES.get(predicate, ())
    tree = reading.tree
    out = []
    for n in reading.named:
        if n.span.start >= end or any(tree.lower[i] in ("not", "near", "for") for i in range(n.span.start)):
            break
        if types and n.known.type not in types:
            if n.sure >= 0.85 or n.span.start > 1:
                continue
            n.known.type = types[0]
        out.append(Ref(n.known, "", (), n.span.start, n.span.end))
        if predicate not in ("depends_on",):
            break
    if not out and tree.lower[0] in ("me", "i", "myself") and "Person" in types:
        return [Ref(reading.speaker, "")]
    if not out and types and end <= 4 and tree.words[0][:1].isalpha() and tree.pos[0] in ("PROPN", "NOUN", "ADJ", "X"):
        name = clean(tree.span_text(0, end))
        if (
            1 < len(name) < 40
            and (name[0].isupper() or types[0] in ("Location", "Object"))
            and predicate in ("lives_in", "located_in", "born_in", "works_at", "studied_at", "runs_on")
        ):
            return [
                Ref(Known(name, types[0], "", reading.session.turn, reading.turn.event_id), "", (), 0, end, fresh=True)
            ]
    return out


def remember_guesses(reading: Reading, session: Session) -> None:
    """What an assistant said on its own, kept until the user confirms it."""
    session.guesses = [_packed(a, reading.turn.event_id) for a in reading.guesses][:6]


def confirm(reading: Reading, session: Session) -> None:
    """A "yes" takes the assistant's last guesses as said by the user."""
    if not session.guesses or not reading.asserting or not _says_yes(reading):
        return
    for row in session.guesses:
        a = unpacked(row)
        if not any((b.subject, b.predicate) == (a.subject, a.predicate) for b in reading.assertions):
            reading.assertions.append(a)


def _says_yes(reading: Reading) -> bool:
    """Whether the message begins with a plain yes that nothing takes back."""
    text = reading.tree.text.strip().lower()
    first = re.split(r"[.,!;\n—–-]|\s(?:but|except|only)\s", text, maxsplit=1)
    head = clean(first[0])
    rest = text[len(first[0]) :]
    if head not in lexicon().yes and not re.fullmatch(
        r"(?:yes|yep|yeah|correct|right|exactly|confirmed)(?: (?:all|that's|thats|both|it|is|are|of|them|correct"
        r"|right|please))*",
        head,
    ):
        return False
    return not re.search(r"\b(?:no|not|n't|wrong|except|only|but|actually|isn't|don't)\b", rest[:80])


def _packed(a: ExtractedAssertion, event: str) -> dict[str, object]:
    obj = [a.object.type.value, a.object.name] if isinstance(a.object, EntityName) else a.object
    return {
        "s": [a.subject.type.value, a.subject.name], "p": a.predicate, "o": obj, "n": a.negated, "f": a.valid_from,
        "t": a.valid_to, "e": event, **({"u": list(a.used)} if a.used else {}),
    }  # fmt: skip


def unpacked(row: dict[str, object]) -> ExtractedAssertion:
    """A guess of the session, as said by whoever confirms it."""
    raw = orjson.loads(orjson.dumps(row))
    obj = EntityName(EntityType(raw["o"][0]), raw["o"][1]) if isinstance(raw["o"], list) else raw["o"]
    return ExtractedAssertion(
        EntityName(EntityType(raw["s"][0]), raw["s"][1]), raw["p"], obj, negated=raw["n"], valid_from=raw["f"],
        valid_to=raw["t"], open=raw["p"] not in catalogue(), used=(raw["e"], *raw.get("u", ())), rule="confirmed",
    )  # fmt: skip


def takes_turn(turn: Turn) -> bool:
    """Whether a message can answer or be asked: tools do neither."""
    return turn.role in ("user", "assistant")
