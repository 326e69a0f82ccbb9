"""What clauses with "be" (and "become", "go", "stay") say: roles, kin, states, ages, places, versions, dates."""

from __future__ import annotations

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.parse.frames import Frame
from memstream.extractors.rules.attributes import THINGS, say_attribute, say_names
from memstream.extractors.rules.conditions import is_team
from memstream.extractors.rules.nominals import kin_word, owner_of, role_head, say_kin, say_role
from memstream.extractors.rules.states import (
    PASSIVE_STATES,
    say_age,
    say_allergies,
    say_born,
    say_passive_state,
    say_states,
    say_turned,
)
from memstream.extractors.text.lexicon import lexicon, words
from memstream.extractors.text.values import TIMEZONE, first_version

_DAYS = frozenset({"iso", "slash", "dmy", "mdy", "wd", "relwd", "word", "agoday", "ago"})
_ROOMS = words("basement attic loft cellar lab laboratory office warehouse room kitchen garage shed yard depot")
_BE = frozenset({"be", "become", "remain", "stay"})
_TURN = words("be go turn stay remain become get come look")
_ROLE_VERBS = words("work serve act train qualify elect appoint promote name make hire volunteer")


def match_copulas(reading: Reading) -> None:
    """Say what the linking clauses of the message assert."""
    for frame in reading.frames:
        if frame.lemma in _BE and not frame.passive:
            _be(reading, frame)
        elif (
            (frame.lemma in _TURN and frame.attr) or reading.tree.lower[frame.head] in lexicon().status
        ) and not frame.passive:
            say_states(reading, frame)
        if frame.lemma in _ROLE_VERBS:
            _as_role(reading, frame)
        if frame.passive and frame.lemma in PASSIVE_STATES:
            say_passive_state(reading, frame)
        if frame.lemma == "turn":
            say_turned(reading, frame)
        if frame.lemma == "bear" or reading.tree.lower[frame.head] == "born":
            say_born(reading, frame)


def _be(reading: Reading, frame: Frame) -> None:
    tree = reading.tree
    if frame.subj and frame.subj[0] >= 0 and say_attribute(reading, frame, frame.subj[0]):
        return
    if _kin_subject(reading, frame):
        return
    for a in frame.attr:
        word = kin_word(reading, a)
        if word and a not in reading.cover and not (role_head(reading, a) and owner_of(reading, a) is None):
            _is_kin(reading, frame, a, word)
        elif role_head(reading, a) and tree.pos[a] in ("NOUN", "PROPN"):
            for s in reading.subjects(frame, ("Person",)):
                if s.type == "Person" or (tree.pos[a] == "NOUN" and s.type == "Object" and s.known is reading.speaker):
                    say_role(reading, s, a, frame, at=frame.head)
        elif tree.lemma[a] in ("part", "module", "component", "subproject", "branch", "member"):
            _part(reading, frame, a)
    say_states(reading, frame)
    say_allergies(reading, frame)
    say_age(reading, frame)
    _prepositions(reading, frame)
    _dates(reading, frame)
    say_names(reading, frame)


def _kin_subject(reading: Reading, frame: Frame) -> bool:
    """As in "my best friend is Farzana", "her brother was Ilkka": the relation is the subject, the name comes after."""
    tree = reading.tree
    for s in frame.subj:
        word = kin_word(reading, s) if s >= 0 and s not in reading.cover else ""
        owner = owner_of(reading, s) if word else None
        if owner is None or owner.known is None:
            continue
        relation, gender = lexicon().kin[word]
        for a in frame.attr:
            if (
                a in reading.cover
                and tree.pos[a] in ("PROPN", "NOUN", "X", "ADJ")
                and reading.cover[a].known.type in ("Person", "Object")
            ):
                relative = reading.ref(a)
                if relative is not None and relative.known is not None:
                    relative.known.gender = relative.known.gender or gender
                    say_kin(reading, owner, relation, relative, frame=frame)
                    return True
    return False


def _is_kin(reading: Reading, frame: Frame, a: int, word: str) -> None:
    """As in "Ruairí is my nephew", "Minh Anh is Teo's girlfriend", "we're colleagues"."""
    relation, gender = lexicon().kin[word]
    owner = owner_of(reading, a)
    subjects = reading.subjects(frame, ("Object",) if relation == "has_pet" else ("Person",))
    if owner is None and reading.tree.tag[a] == "NNS" and len(subjects) == 2:
        owner, subjects = subjects[1], subjects[:1]
    if owner is None or owner.known is None:
        return
    of_form = any(reading.tree.dep[k] == "prep" and reading.tree.lower[k] == "of" for k in reading.tree.kids[a])
    for s in subjects:
        if s.known is None or s.known is owner.known:
            continue
        s.known.gender = s.known.gender or gender
        former = reading.tree.lower[a].startswith("ex-")
        say_kin(reading, owner, relation, s, frame=frame, of_form=of_form and relation == "child_of", former=former)


def _part(reading: Reading, frame: Frame, a: int) -> None:
    tree = reading.tree
    predicate = "member_of" if tree.lemma[a] == "member" else "part_of"
    for k in tree.kids[a]:
        if tree.dep[k] == "prep" and tree.lower[k] in ("of", "in"):
            for o in tree.kids[k]:
                if tree.dep[o] != "pobj":
                    continue
                expect = ("Organization",) if predicate == "member_of" else THINGS
                whole = reading.ref(o, expect)
                for s in reading.subjects(frame):
                    if whole is None or whole.known is None or whole.type == "Person":
                        continue
                    if s.type == "Person" and whole.type == "Organization":
                        reading.say(s, "member_of", whole, frame, at=frame.head, rule="part of")
                    elif s.type != "Person" and predicate == "part_of":
                        reading.say(s, "part_of", whole, frame, at=frame.head, rule="part of")


def _prepositions(reading: Reading, frame: Frame) -> None:
    """As in "is at 4.0.2", "is in Cork", "he's with Dujardin Brothers", "she is in Search", "is on PKT"."""
    tree = reading.tree
    low, high = min(frame.tokens), max(frame.tokens)
    for s in reading.subjects(frame):
        if s.known is None:
            continue
        for name, objects in frame.preps.items():
            for o in objects:
                _preposition(reading, frame, s, name, o)
    zone = TIMEZONE.search(tree.span_text(low, high + 1))
    if zone and "on" in frame.preps:
        for s in reading.subjects(frame, ("Person",)):
            if s.type == "Person":
                reading.say(s, "has_timezone", zone[0], frame, at=frame.head, rule="zone")


def _preposition(reading: Reading, frame: Frame, s: Ref, name: str, o: int) -> None:  # noqa: PLR0912 (one decision after the other)
    tree = reading.tree
    if any(t.start <= tree.at[o] < t.end for t in reading.times):
        return
    if o not in reading.cover:
        if s.type == "Object" and name in ("at", "on"):
            version = first_version(" ".join(tree.words[o : o + 2])) or first_version(tree.words[o])
            if version:
                reading.say(s, "has_version", version, frame, at=frame.head, rule="at version")
        if (
            name in ("in", "on", "at")
            and s.type in ("Object", "Organization")
            and not s.fresh
            and tree.lemma[o] in _ROOMS
        ):
            place = reading.ref(o, ("Location",))
            if place is not None and place.known is not None and place.type == "Location":
                reading.say(s, "located_in", place, frame, at=frame.head, rule="is in")
        return
    ref = reading.ref(o)
    if ref is None or ref.known is None:
        return
    if s.type == "Person":
        if ref.type == "Organization" and name in ("at", "with", "in") and frame.past and _of_a_day(reading, frame):
            reading.say(s, "visited", ref, frame, at=frame.head, rule="was at")
        elif ref.type == "Organization" and name in ("at", "with", "in", "on"):
            team = is_team(ref.known.name) or name in ("in", "on")
            reading.say(s, "member_of" if team else "works_at", ref, frame, at=frame.head, rule="is with")
        elif ref.type == "Event" and name == "at" and frame.past:
            reading.say(s, "attended", ref, frame, at=frame.head, rule="was at")
    elif ref.type == "Location" and name in ("in", "at", "on", "near"):
        env = s.type == "Object" and "-" in ref.known.name
        reading.say(s, "deployed_to" if env else "located_in", ref, frame, at=frame.head, rule="is in")
    elif ref.type == "Organization" and name == "at" and s.type == "Event":
        reading.say(s, "located_in", ref, frame, at=frame.head, rule="is at")
    elif ref.type == "Object" and s.type == "Object" and name in ("in", "on"):
        if ref.known.name.lower() in ("prod", "production", "staging", "dev", "qa"):
            reading.say(s, "deployed_to", ref, frame, at=frame.head, rule="is in")
        elif name == "on":
            reading.say(s, "runs_on", ref, frame, at=frame.head, rule="is on host")


def _of_a_day(reading: Reading, frame: Frame) -> bool:
    """Whether the clause tells of one day: "I was at Bramble & Sons on Tuesday" says nothing of who works there."""
    return any(not t.is_start and not t.is_end and t.form in _DAYS for t in reading.times_of(frame, frame.head))


def _dates(reading: Reading, frame: Frame) -> None:
    """As in "is due on 3 October", "the rehearsal is on Friday"."""
    tree = reading.tree
    times = reading.times_of(frame, frame.head)
    due = any(tree.lower[a] == "due" for a in frame.attr) or any(tree.lower[k] == "due" for k in tree.kids[frame.head])
    if not times or (frame.past and not due):
        return
    point = [t for t in times if not t.is_start and not t.is_end]
    if not point or len(point[-1].future) < 7:
        return
    nominal = [
        a
        for a in frame.attr
        if a >= 0
        and tree.pos[a] in ("NOUN", "PROPN")
        and reading.token_at(point[0].start) != a
        and a not in range(*_tokens(reading, point[0]))
    ]
    for s in reading.subjects(frame, ("Object", "Event") if due else ("Event",)):
        if due:
            if s.type != "Person":
                reading.say(s, "has_deadline", point[-1].future, frame, at=frame.head, rule="due", dated=False)
        elif s.type == "Event" and not nominal and not frame.past:
            reading.say(s, "scheduled_for", point[-1].future, frame, at=frame.head, rule="is on", dated=False)


def _tokens(reading: Reading, t: object) -> tuple[int, int]:
    start = reading.token_at(t.start)  # type: ignore[attr-defined]
    end = reading.token_at(t.end - 1)  # type: ignore[attr-defined]
    return (start or 0), (end or 0) + 1


def _as_role(reading: Reading, frame: Frame) -> None:
    """As in "works as a nurse", "was elected treasurer", "serves as verger", "promoted to head of QA"."""
    people = frame.obj if frame.passive else frame.subj
    tokens = [*frame.preps.get("as", []), *frame.preps.get("like", [])]
    if frame.passive or frame.lemma == "promote":
        tokens += [*frame.attr, *frame.preps.get("to", [])]
    for i in tokens:
        if i >= 0 and role_head(reading, i):
            for p in people:
                person = reading.ref(p, ("Person",))
                if person is not None and person.type == "Person":
                    say_role(reading, person, i, frame, at=frame.head)
