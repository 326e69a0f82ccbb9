"""What clauses with "be" (and "become", "go", "stay") say: roles, kin, states, ages, places, versions, dates."""

from __future__ import annotations

from memstream.extractors.frames import IMPLIED_THIRD, Frame
from memstream.extractors.lexicon import lexicon
from memstream.extractors.nominals import kin_word, owner_of, role_head, say_kin, say_role
from memstream.extractors.patterns import is_team
from memstream.extractors.reading import FIRST, Reading, Ref
from memstream.extractors.values import (
    TIMEZONE,
    first_email,
    first_money,
    first_phone,
    first_timezone,
    first_version,
    number,
)
from memstream.schemas.extraction import EntityName

_ROOMS = frozenset(
    [
        "basement",
        "attic",
        "loft",
        "cellar",
        "lab",
        "laboratory",
        "office",
        "warehouse",
        "room",
        "kitchen",
        "garage",
        "shed",
        "yard",
        "depot",
    ]
)
_BE = frozenset({"be", "become", "remain", "stay"})
_TURN = frozenset({"be", "go", "turn", "stay", "remain", "become", "get", "come", "look"})
_ROLE_VERBS = frozenset(
    {"work", "serve", "act", "train", "qualify", "elect", "appoint", "promote", "name", "make", "hire", "volunteer"}
)
_THINGS = ("Object", "Organization", "Event", "Location")
_PASSIVE_STATES = frozenset(
    [
        "merge",
        "close",
        "cancel",
        "postpone",
        "resolve",
        "approve",
        "reject",
        "archive",
        "retire",
        "decommission",
        "suspend",
        "complete",
        "finish",
        "confirm",
        "delay",
        "reopen",
        "deprecate",
        "freeze",
        "reinstate",
        "shelve",
        "abandon",
        "deliver",
        "dismiss",
        "withdraw",
        "discontinue",
        "demolish",
        "upgrade",
        "pause",
        "disable",
        "enable",
        "switch",
        "shut",
        "take",
        "ship",
        "sign",
        "lift",
    ]
)
_ATTRIBUTES = {
    "deadline": "has_deadline", "due date": "has_deadline", "budget": "has_budget", "timezone": "has_timezone",
    "zone": "has_timezone", "email": "has_email", "e-mail": "has_email", "mail": "has_email", "address": "has_email",
    "phone": "has_phone", "number": "has_phone", "mobile": "has_phone", "cell": "has_phone", "extension": "has_phone",
    "version": "has_version", "price": "costs", "cost": "costs", "fee": "costs", "rent": "costs", "birthday": "born_on",
    "owner": "owned_by", "founder": "founded", "name": "has_name", "manager": "managed_by", "boss": "managed_by",
    "cause": "caused_by", "root cause": "caused_by", "fix": "fixed_by", "status": "has_status", "author": "created",
}  # fmt: skip


def match_copulas(reading: Reading) -> None:
    """Say what the linking clauses of the message assert."""
    for frame in reading.frames:
        if frame.lemma in _BE and not frame.passive:
            _be(reading, frame)
        elif (
            (frame.lemma in _TURN and frame.attr) or reading.tree.lower[frame.head] in lexicon().status
        ) and not frame.passive:
            _states(reading, frame)
        if frame.lemma in _ROLE_VERBS:
            _as_role(reading, frame)
        if frame.passive and frame.lemma in _PASSIVE_STATES:
            _passive_state(reading, frame)
        if frame.lemma == "turn":
            _turned(reading, frame)
        if frame.lemma == "bear" or reading.tree.lower[frame.head] == "born":
            _born(reading, frame)


def _subjects(reading: Reading, frame: Frame, expect: tuple[str, ...] = ()) -> list[Ref]:
    out = []
    for s in frame.subj:
        ref = reading.ref(s, expect)
        if ref is not None and ref.known is not None:
            out.append(ref)
    return out


def _be(reading: Reading, frame: Frame) -> None:
    tree = reading.tree
    if frame.subj and frame.subj[0] >= 0 and _attribute(reading, frame, frame.subj[0]):
        return
    if _kin_subject(reading, frame):
        return
    for a in frame.attr:
        word = kin_word(reading, a)
        if word and a not in reading.cover and not (role_head(reading, a) and owner_of(reading, a) is None):
            _is_kin(reading, frame, a, word)
        elif role_head(reading, a) and tree.pos[a] in ("NOUN", "PROPN"):
            for s in _subjects(reading, frame, ("Person",)):
                if s.type == "Person" or (tree.pos[a] == "NOUN" and s.type == "Object" and s.known is reading.speaker):
                    say_role(reading, s, a, frame, at=frame.head)
        elif tree.lemma[a] in ("part", "module", "component", "subproject", "branch", "member"):
            _part(reading, frame, a)
    _states(reading, frame)
    _allergy(reading, frame)
    _age(reading, frame)
    _prepositions(reading, frame)
    _dates(reading, frame)
    _names(reading, frame)


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
    subjects = _subjects(reading, frame, ("Object",) if relation == "has_pet" else ("Person",))
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
                expect = ("Organization",) if predicate == "member_of" else _THINGS
                whole = reading.ref(o, expect)
                for s in _subjects(reading, frame):
                    if whole is None or whole.known is None or whole.type == "Person":
                        continue
                    if s.type == "Person" and whole.type == "Organization":
                        reading.say(s, "member_of", whole, frame, at=frame.head, rule="part of")
                    elif s.type != "Person" and predicate == "part_of":
                        reading.say(s, "part_of", whole, frame, at=frame.head, rule="part of")


def _states(reading: Reading, frame: Frame) -> None:
    """As in "the licence server is down", "CI went red", "Eero is on parental leave"."""
    tree = reading.tree
    text = ""
    for a in frame.attr:
        phrase = tree.lower[a]
        if phrase in lexicon().status and tree.pos[a] != "NOUN":
            text = phrase
    for k in tree.kids[frame.head]:
        if (
            tree.dep[k] == "aux"
            and tree.lemma[k] == "be"
            and tree.tag[frame.head] == "VBG"
            and tree.lower[frame.head] in lexicon().status
        ):
            text = tree.lower[frame.head]
        if (
            not text
            and tree.dep[k] in ("advmod", "prt", "prep")
            and tree.lower[k] in lexicon().status
            and not tree.kids[k]
        ):
            text = tree.lower[k]
    if not text:
        text = _leave(reading, frame)
    if not text:
        return
    for s in _subjects(reading, frame, ("Object",)):
        personal = text.startswith("on ")
        if (s.type == "Person") == ((personal and "leave" in text) or text == "on sabbatical"):
            reading.say(s, "has_status", text, frame, at=frame.head, rule="state")


def _allergy(reading: Reading, frame: Frame) -> None:
    """As in "is allergic to sulfa drugs and nuts"."""
    tree = reading.tree
    for a in frame.attr:
        if tree.lower[a] != "allergic":
            continue
        objects = [*frame.preps.get("to", [])]
        for k in tree.kids[a]:
            if tree.dep[k] == "prep" and tree.lower[k] == "to":
                objects += [c for o in tree.kids[k] if tree.dep[o] == "pobj" for c in tree.conjuncts(o)]
        for s in _subjects(reading, frame, ("Person",)):
            for o in objects:
                value = reading.value(o)
                if value and tree.pos[o] != "PRON":
                    reading.say(s, "allergic_to", value, frame, at=frame.head, rule="allergic", dated=False)


def _leave(reading: Reading, frame: Frame) -> str:
    """As in "on parental leave", "in review", "out of service" where the lexicon has the phrase."""
    tree = reading.tree
    for name, objects in frame.preps.items():
        for o in objects:
            start, end = tree.noun_span(o)
            phrase = f"{name} {tree.span_text(start, end).lower()}"
            if phrase in lexicon().status:
                return phrase
    return ""


def _age(reading: Reading, frame: Frame) -> None:
    """As in "I am seventy-one", "she is 81 years old", "he's 3"."""
    tree = reading.tree
    for a in frame.attr:
        start, end = tree.noun_span(a)
        text = tree.span_text(start, end)
        word = text.split()[0] if text else ""
        n = None
        years = tree.lemma[a] == "old" or tree.lemma[a] == "year"
        if tree.pos[a] == "NUM":
            n = number(text)
            after = tree.lower[a + 1] if a + 1 < len(tree) else ""
            if after in (
                "%",
                "/",
                ":",
                "euros",
                "dollars",
                "of",
                "am",
                "pm",
                "in",
                "out",
                "times",
                "percent",
                "o'clock",
            ):
                n = None
        elif years:
            below = [tree.words[j] for j in tree.subtree(a) if tree.pos[j] == "NUM"]
            n = number(below[0]) if below else number(word)
        if not n or n > 120 or (n < 2 and not years):
            continue
        for s in _subjects(reading, frame, ("Person",)):
            if s.type == "Person" or (
                s.type == "Object" and any(k[1] == s.known.name for k in _pets(reading) if s.known)
            ):
                reading.say(s, "has_age", str(n), frame, at=frame.head, rule="age", dated=False)


def _pets(reading: Reading) -> list[tuple[str, str]]:
    """(keeper, pet) pairs that this session knows of."""
    said = [
        (str(a.subject.name), a.object.name)
        for a in reading.assertions
        if a.predicate == "has_pet" and isinstance(a.object, EntityName)
    ]
    return said + [(f[0], f[3]) for f in reading.session.facts if f[2] == "has_pet"]


def _turned(reading: Reading, frame: Frame) -> None:
    if frame.future or not frame.past:
        return
    for o in (*frame.obj, *frame.attr):
        n = number(reading.tree.words[o]) if o >= 0 and reading.tree.pos[o] == "NUM" else None
        if n and 1 < n < 120:
            for s in _subjects(reading, frame, ("Person",)):
                if s.type == "Person":
                    reading.say(s, "has_age", str(n), frame, at=frame.head, rule="turned", dated=False)


def _prepositions(reading: Reading, frame: Frame) -> None:
    """As in "is at 4.0.2", "is in Cork", "he's with Dujardin Brothers", "she is in Search", "is on PKT"."""
    tree = reading.tree
    low, high = min(frame.tokens), max(frame.tokens)
    for s in _subjects(reading, frame):
        if s.known is None:
            continue
        for name, objects in frame.preps.items():
            for o in objects:
                _preposition(reading, frame, s, name, o)
    zone = TIMEZONE.search(tree.span_text(low, high + 1))
    if zone and "on" in frame.preps:
        for s in _subjects(reading, frame, ("Person",)):
            if s.type == "Person":
                reading.say(s, "has_timezone", zone[0], frame, at=frame.head, rule="zone")


def _preposition(reading: Reading, frame: Frame, s: Ref, name: str, o: int) -> None:
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
        if ref.type == "Organization" and name in ("at", "with", "in", "on"):
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
    for s in _subjects(reading, frame, ("Object", "Event") if due else ("Event",)):
        if due:
            if s.type != "Person":
                reading.say(s, "has_deadline", point[-1].future, frame, at=frame.head, rule="due", dated=False)
        elif s.type == "Event" and not nominal and not frame.past:
            reading.say(s, "scheduled_for", point[-1].future, frame, at=frame.head, rule="is on", dated=False)


def _tokens(reading: Reading, t: object) -> tuple[int, int]:
    start = reading.token_at(t.start)  # type: ignore[attr-defined]
    end = reading.token_at(t.end - 1)  # type: ignore[attr-defined]
    return (start or 0), (end or 0) + 1


def _names(reading: Reading, frame: Frame) -> None:
    """As in "I'm Gulnara", "I am Davron": the speaker's own name."""
    tree = reading.tree
    if reading.turn.named or frame.unsure:
        return
    for s in frame.subj:
        if s >= 0 and tree.lower[s] in FIRST:
            for a in frame.attr:
                if a in reading.cover and reading.cover[a].known.type == "Person":
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


def _attribute(reading: Reading, frame: Frame, i: int) -> bool:
    """As in "the deadline of X is ...", "my timezone is ...", "X's phone is ...", "the cause was ..."."""
    tree = reading.tree
    compound = next((tree.lower[k] for k in tree.kids[i] if tree.dep[k] == "compound"), "")
    predicate = _ATTRIBUTES.get(f"{compound} {tree.lemma[i]}") or _ATTRIBUTES.get(tree.lemma[i])
    if predicate is None:
        return False
    holder = owner_of(reading, i)
    if holder is None:
        for k in tree.kids[i]:
            if tree.dep[k] == "prep" and tree.lower[k] in ("for", "of", "on"):
                objects = [o for o in tree.kids[k] if tree.dep[o] == "pobj"]
                holder = reading.ref(objects[0], _THINGS) if objects else None
            elif tree.dep[k] == "compound" and k in reading.cover:
                holder = reading.ref(k)
    if holder is None or holder.known is None:
        return False
    low, high = frame.head, max(frame.tokens)
    text = tree.span_text(low, high + 1)
    literal = {
        "has_deadline": lambda: next((t.future for t in reading.times_of(frame, frame.head)), None),
        "born_on": lambda: None, "has_budget": lambda: first_money(text), "costs": lambda: first_money(text),
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


def _passive_state(reading: Reading, frame: Frame) -> None:
    """As in "the ticket was closed", "sigtool was switched off", "taken out of service": what became of a thing."""
    tree = reading.tree
    text = tree.lower[frame.head] + (f" {frame.particle}" if frame.particle else "")
    if frame.lemma == "take":
        text = next((f"out of {tree.lower[o]}" for o in frame.preps.get("out of", [])), "")
    elif text not in lexicon().status and frame.lemma not in (
        "merge",
        "close",
        "cancel",
        "postpone",
        "approve",
        "reject",
        "archive",
        "retire",
        "decommission",
        "resolve",
    ):
        return
    if frame.subj or not text:
        return
    for o in frame.obj:
        ref = reading.ref(o, ("Object", "Event"))
        if ref is not None and ref.known is not None and ref.type != "Person":
            reading.say(ref, "has_status", text, frame, at=frame.head, rule="passive state")


def _nearest(reading: Reading, frame: Frame) -> list[Ref]:
    """The person named last before a clause in its sentence, or the first person: "I am 71, born in Szeged"."""
    tree = reading.tree
    first = tree.sentences[tree.sent[frame.head]][0]
    for i in range(frame.head - 1, first - 1, -1):
        if tree.lower[i] in FIRST or (i in reading.cover and reading.cover[i].known.type == "Person"):
            ref = reading.ref(i)
            return [ref] if ref is not None else []
    before = reading.ref(IMPLIED_THIRD, ("Person",)) if frame.head == first else None
    return [before] if before is not None else []


def _born(reading: Reading, frame: Frame) -> None:
    """As in "born on 4 March 1953 in Szeged"."""
    people = [
        r for p in frame.obj or frame.subj if (r := reading.ref(p, ("Person",))) is not None and r.type == "Person"
    ]
    for person in people or _nearest(reading, frame):
        for o in frame.preps.get("in", []):
            place = reading.ref(o, ("Location",)) if o in reading.cover else None
            if place is not None and place.type == "Location":
                reading.say(person, "born_in", place, frame, at=frame.head, rule="born", dated=False)
        for t in reading.times_of(frame, frame.head):
            if t.form in ("dmy", "mdy", "iso", "slash", "my", "year", "agoday", "ago", "wd", "word"):
                reading.say(person, "born_on", t.past, frame, at=frame.head, rule="born", dated=False)
                break
