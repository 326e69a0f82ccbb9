"""What clauses say of the state of things and people: status, leave, allergies, ages, births."""

from __future__ import annotations

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import FIRST, Ref
from memstream.extractors.parse.frames import IMPLIED_THIRD, Frame
from memstream.extractors.text.lexicon import lexicon, words
from memstream.extractors.text.values import number
from memstream.schemas.extraction import EntityName

PASSIVE_STATES = words(
    """
    merge close cancel postpone resolve approve reject archive retire decommission suspend complete finish confirm
    delay reopen deprecate freeze reinstate shelve abandon deliver dismiss withdraw discontinue demolish upgrade
    pause disable enable switch shut take ship sign lift
    """
)


def say_states(reading: Reading, frame: Frame) -> None:
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
    for s in reading.subjects(frame, ("Object",)):
        personal = text.startswith("on ")
        if (s.type == "Person") == ((personal and "leave" in text) or text == "on sabbatical"):
            reading.say(s, "has_status", text, frame, at=frame.head, rule="state")


def say_allergies(reading: Reading, frame: Frame) -> None:
    """As in "is allergic to sulfa drugs and nuts"."""
    tree = reading.tree
    for a in frame.attr:
        if tree.lower[a] != "allergic":
            continue
        objects = [*frame.preps.get("to", [])]
        for k in tree.kids[a]:
            if tree.dep[k] == "prep" and tree.lower[k] == "to":
                objects += [c for o in tree.kids[k] if tree.dep[o] == "pobj" for c in tree.conjuncts(o)]
        for s in reading.subjects(frame, ("Person",)):
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


def say_age(reading: Reading, frame: Frame) -> None:
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
        for s in reading.subjects(frame, ("Person",)):
            if s.type == "Person" or (
                s.type == "Object" and any(k[1] == s.known.name for k in _pets(reading) if s.known)
            ):
                reading.say(s, "has_age", str(n), frame, at=frame.head, rule="age")


def _pets(reading: Reading) -> list[tuple[str, str]]:
    """(keeper, pet) pairs that this session knows of."""
    said = [
        (str(a.subject.name), a.object.name)
        for a in reading.assertions
        if a.predicate == "has_pet" and isinstance(a.object, EntityName)
    ]
    return said + [(f[0], f[3]) for f in reading.session.facts if f[2] == "has_pet"]


def say_turned(reading: Reading, frame: Frame) -> None:
    """An age reached: "he turned eighty"."""
    if frame.future or not frame.past:
        return
    for o in (*frame.obj, *frame.attr):
        n = number(reading.tree.words[o]) if o >= 0 and reading.tree.pos[o] == "NUM" else None
        if n and 1 < n < 120:
            for s in reading.subjects(frame, ("Person",)):
                if s.type == "Person":
                    reading.say(s, "has_age", str(n), frame, at=frame.head, rule="turned")


def say_passive_state(reading: Reading, frame: Frame) -> None:
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


def say_born(reading: Reading, frame: Frame) -> None:
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
