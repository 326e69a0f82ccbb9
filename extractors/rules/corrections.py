"""Corrections: what a message takes back of what its session, or the message itself, said before.

"no wait, Tuesday" after a message that gave one date says that date's fact with the new one and takes the old one
back; so do "scratch that, it's Oslo", "sorry, I meant Lena, not Lina" and "make that 14:00". Which fact is meant is
decided by the kind of the value (a date for a date, a place for a place) among what was said last; where two fit,
none is. A retraction uses the event that said it: what it takes back is known by that alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.context.session import Known, Session, Stated
from memstream.extractors.rules.answers import unpacked
from memstream.extractors.rules.correction_forms import SLIPS, WEAK, Form, announced, corrections
from memstream.extractors.rules.correction_values import Value, value_at
from memstream.extractors.text.lexicon import words
from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import EntityName, ExtractedAssertion, ExtractedRetraction

_STAR = re.compile(r"\*[^\s*][^*\n]{0,60}")
REACH = 4  # turns back
ALIKE = 0.6
_DENIALS = frozenset({"no", "wait", "scratch", "slip", "meant", "change", "sorry", "joke"})
_MOVES = words("move push postpone reschedule delay slip bring shift defer")
_DATES = frozenset({"scheduled_for", "has_deadline"})
_ONE_DOER = frozenset({"created", "founded", "acquired"})
_ONE_AT_A_TIME = frozenset({"fixed_by", "caused_by", "scheduled_for", "replaced_by"})
_DONE_BY = frozenset({"managed_by", "owned_by", "fixed_by"})
_MORE = words("also too both another second besides and")


@dataclass(frozen=True, slots=True)
class _Fact:
    """Something that may be corrected: of the session (`stated`), of this message, or what an assistant guessed."""

    subject: EntityName
    predicate: str
    object: EntityName | str
    valid_from: str | None
    group: int  # facts of one group were said together; the least group was said last
    used: tuple[str, ...] = ()
    stated: Stated | None = None
    said: ExtractedAssertion | None = None

    @property
    def value(self) -> str:
        """The name of its object, or the literal."""
        return self.object.name if isinstance(self.object, EntityName) else self.object


def correct(reading: Reading, session: Session) -> None:
    """Put right what the message says was wrong: with what stands in its own words, and with what the session keeps."""
    if not reading.asserting or not reading.turn.asserts:
        return
    _replaced(reading, session)
    forms = list(corrections(reading.tree.text, starred=bool(_STAR.fullmatch(reading.turn.text))))
    done = False
    for number, form in enumerate(forms):
        after = forms[number + 1] if number + 1 < len(forms) else None
        if form.new is not None:
            done |= _correct(reading, session, form, form.new)
        elif form.old is not None:
            if after is None or after.old != form.old:
                _deny(reading, session, form, form.old)
        elif after is None and not done:
            _take_all_back(reading, session, form)


def _correct(reading: Reading, session: Session, form: Form, new: tuple[int, int]) -> bool:
    text = reading.tree.text
    value = value_at(reading, *new)
    old = text[slice(*form.old)] if form.old is not None else ""
    if value is None:
        return False
    there = [a for a in reading.assertions if _same(value.text, _text(a.object))]
    if any(a.rule != "model" for a in there):
        return False
    for group in _groups(_before(reading, session, form)):
        fits = [fact for fact in group if _fits(fact, value, form, old) and fact.object != reading.speaker.entity]
        renamed = [fact for fact in group if not fits and _names(fact, value, form, old)]
        chosen = _chosen(fits, value) if fits else renamed
        if chosen:  # what the model made of the new value takes nothing back
            reading.assertions = [a for a in reading.assertions if a not in there]
        for fact in chosen:
            _put_right(reading, session, fact, value, form, rename=not fits)
        if fits or renamed:
            return bool(chosen)
    return False


def _before(reading: Reading, session: Session, form: Form) -> Iterator[_Fact]:
    """What the correction may be about, the latest first."""
    here = _said_before(reading, form.start)
    for a in here:
        yield _Fact(a.subject, a.predicate, a.object, a.valid_from, 0, a.used, said=a)
    if form.cues & {"no", "wait", "actually", "change", "meant"} or form.old is not None:
        for row in session.guesses:
            yield _guess(row)
    for s in session.stated():
        if s.turn < session.turn - REACH or (s.speaker != reading.speaker.name and form.cues & SLIPS):
            continue
        if form.weak and form.cues == {"no"} and s.turn != session.turn - 1:
            continue  # a plain "no" answers what was said right before
        yield _Fact(s.subject, s.predicate, s.object, s.valid_from, session.turn - s.turn + 1, (s.event,), stated=s)


def _guess(row: dict[str, object]) -> _Fact:
    a = unpacked(row)
    return _Fact(a.subject, a.predicate, a.object, a.valid_from, 1, a.used)


def _groups(facts: Iterable[_Fact]) -> list[list[_Fact]]:
    found: dict[int, list[_Fact]] = {}
    for fact in facts:
        found.setdefault(fact.group, []).append(fact)
    return [found[group] for group in sorted(found)]


def _said_before(reading: Reading, position: int) -> list[ExtractedAssertion]:
    """What the message itself says in the sentence before a place, or in the one before that."""
    tree = reading.tree
    here = reading.token_at(position)
    if here is None or position == 0:
        return []
    first = max(0, tree.sent[here] - 1)
    out = []
    for p in reading.proposals:
        a = p.assertion
        if a is None or a not in reading.assertions or a in out or a.negated:
            continue
        ends = [ref.end for ref in (p.subject, p.target) if ref.end > ref.start]
        places = [tree.text.find(_text(a.object), 0, position)] if not ends else [tree.at[max(ends) - 1]]
        token = reading.token_at(max(places[0], 0))
        if places[0] < position and token is not None and tree.sent[token] >= first:
            out.append(a)
    return out


def _fits(fact: _Fact, value: Value, form: Form, old: str) -> bool:
    """Whether the new value can stand where the fact has its old one."""
    if old and not _is_called(old, fact.value) and not value.is_time:
        return False
    if not value.fits(fact.predicate, fact.object) or _same(value.text, fact.value):
        return False
    if _same(value.text, fact.subject.name) or (form.doer and fact.predicate not in _DONE_BY):
        return False
    if value.is_name and form.weak and isinstance(fact.object, EntityName) and fact.object.type == "Person":
        # "sorry, Tom" speaks to Tom as likely as it names him
        return len(value.text.split()) > 1 or _alike(value.text, fact.value)
    return True


def _names(fact: _Fact, value: Value, form: Form, old: str) -> bool:
    """Whether the value is the right name of the one whom the fact is about."""
    if not value.is_name or not value.may_be(fact.subject) or _same(value.text, fact.subject.name):
        return False
    if form.doer:
        return fact.subject.type == "Person" and fact.predicate not in _DONE_BY
    if old:
        return _is_called(old, fact.subject.name)
    return bool(form.cues - WEAK) and _alike(value.text, fact.subject.name)


def _chosen(fits: Sequence[_Fact], value: Value) -> list[_Fact]:
    """The fact that is meant: the only one, all about one old value, or the one with nearly the same value."""
    if len({fact.value for fact in fits}) == 1 and (value.is_name or len(fits) == 1):
        return list(fits)
    near = [fact for fact in fits if value.is_name and _alike(value.text, fact.value)]
    return near if len(near) == 1 else []


def _put_right(reading: Reading, session: Session, fact: _Fact, value: Value, form: Form, *, rename: bool) -> None:
    _take_back(reading, session, fact)
    if form.old is not None and not rename and "meant" not in form.cues and "slip" not in form.cues:
        _say(reading, session, fact, None, negated=True)
    if rename:
        ref = value.ref(reading, session, fact.subject.type)
        _say(reading, session, replace(fact, subject=ref.known.entity if ref.known else fact.subject), None)
        return
    _say(reading, session, fact, value.target(reading, session, fact.predicate, fact.object))


def _say(reading: Reading, session: Session, fact: _Fact, target: Ref | None, *, negated: bool = False) -> None:
    """Say the fact, with another object where one is given, at the time it was said for."""
    subject = replace(_ref(reading, session, fact.subject), used=fact.used)
    obj = target or (Ref(None, fact.object) if isinstance(fact.object, str) else _ref(reading, session, fact.object))
    before = len(reading.assertions)
    reading.say(
        subject, fact.predicate, obj, presupposed=True, dated=False, negated=negated, rule="correction",
        open_predicate=fact.predicate not in catalogue(),
    )  # fmt: skip
    if fact.valid_from and not negated and len(reading.assertions) > before:
        reading.assertions[-1] = replace(reading.assertions[-1], valid_from=fact.valid_from)


def _ref(reading: Reading, session: Session, name: EntityName) -> Ref:
    """The session's entity of a name, with what the reading knows of it."""
    if name == reading.speaker.entity:
        return Ref(reading.speaker, "")
    known = next((k for k in reversed(session.known) if k.entity == name), None)
    return Ref(known or Known(name.name, name.type.value, "", session.turn, reading.turn.event_id), "")


def _take_back(reading: Reading, session: Session, fact: _Fact) -> None:
    """What the message said itself is not said; what the session said is retracted."""
    if fact.said is not None:
        reading.assertions = [a for a in reading.assertions if a != fact.said]
    elif fact.stated is not None:
        reading.retractions.append(ExtractedRetraction(fact.subject, fact.predicate, fact.object, fact.used))
        session.facts.remove(fact.stated.row)


def _deny(reading: Reading, session: Session, form: Form, old: tuple[int, int]) -> None:
    """As in "not Tsering" after "Tsering runs it": the fact with that value is denied."""
    name = reading.tree.text[slice(*old)]
    for group in _groups(_before(reading, session, form)):
        denied = [fact for fact in group if fact.stated is not None and _is_called(name, fact.value)]
        if len(denied) == 1:
            _take_back(reading, session, denied[0])
            _say(reading, session, denied[0], None, negated=True)
        if denied:
            return


def _take_all_back(reading: Reading, session: Session, form: Form) -> None:
    """As in "scratch that": what stands before it, else what the speaker said in the message before."""
    if reading.tree.text[: form.start].strip():
        before = _said_before(reading, form.start)
        reading.assertions = [a for a in reading.assertions if a not in before]
        return
    if reading.assertions and "joke" not in form.cues:
        return
    mine = [s for s in session.stated() if s.speaker == reading.speaker.name and s.turn >= session.turn - 2]
    for s in [s for s in mine if s.turn == max(m.turn for m in mine)]:
        fact = _Fact(s.subject, s.predicate, s.object, s.valid_from, 0, (s.event,), stated=s)
        _take_back(reading, session, fact)


def _replaced(reading: Reading, session: Session) -> None:
    """A whole clause that puts something else in the place of what was said: "no, Zainab fixed it", "moved to May"."""
    cues = announced(reading.tree.text)
    first = reading.tree.sentences[0][1] if len(reading.tree) else 0
    for a in [a for a in reading.assertions if not a.negated and not a.valid_to]:
        at = max((p.target.start for p in reading.proposals if p.assertion is a), default=0)
        opening = reading.tree.lower[:first]
        slot = cues & _DENIALS or ("actually" in opening and a.predicate in _ONE_AT_A_TIME)
        denies = slot and at < first and not _MORE.intersection(opening)
        moves = a.predicate in _DATES and a.rule.removeprefix("verb:") in _MOVES
        if denies or moves:
            for s in _others(session, a, moves=moves):
                fact = _Fact(s.subject, s.predicate, s.object, s.valid_from, 0, (s.event,), stated=s)
                _take_back(reading, session, fact)


def _others(session: Session, a: ExtractedAssertion, *, moves: bool) -> list[Stated]:
    """What was said of the same thing and can't stand beside it; nothing where it is not clear which one is meant."""
    near = [s for s in session.stated() if s.predicate == a.predicate and s.turn >= session.turn - REACH]
    same = [s for s in near if s.subject == a.subject and s.object != a.object]
    if same and (moves or catalogue().is_single(a.predicate) or a.predicate in _ONE_AT_A_TIME or len(same) == 1):
        return same if moves or len({_text(s.object) for s in same}) == 1 else []
    doers = [s for s in near if s.object == a.object and s.subject != a.subject and a.predicate in _ONE_DOER]
    return doers if len(doers) == 1 else []


def _text(value: EntityName | str) -> str:
    return value.name if isinstance(value, EntityName) else value


def _same(a: str, b: str) -> bool:
    return a.casefold() == b.casefold()


def _is_called(said: str, name: str) -> bool:
    """Whether a name, or a word of it, is what was said."""
    plain, whole = said.casefold().removeprefix("the "), name.casefold()
    return plain == whole or plain in whole.split() or whole in plain.split()


def _alike(a: str, b: str) -> bool:
    """As Lena and Lina, Nimbus Robotics and Nimbus Archive: one was said for the other."""
    return SequenceMatcher(None, a.casefold()[:60], b.casefold()[:60], autojunk=False).ratio() >= ALIKE
