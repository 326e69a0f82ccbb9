"""What a message says in the light of what its session said: "Priya is now at Castellan", "the deadline is now Friday".

The message alone does not tell that "at" means working there, or whose deadline it is; the fact that was said before
does. So these come after the model of relations, which knows of one message only.
"""

from __future__ import annotations

import re

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.context.session import Session, Stated
from memstream.extractors.parse.frames import Frame
from memstream.extractors.rules.attributes import ATTRIBUTES
from memstream.extractors.rules.correction_forms import segments
from memstream.extractors.rules.correction_values import value_at
from memstream.schemas.extraction import EntityName

REACH = 8  # turns back
_BY_PLACE = {
    "at": ("works_at", "located_in", "studied_at"), "with": ("works_at",),
    "in": ("lives_in", "located_in", "member_of"), "on": ("runs_on", "member_of"),
    "under": ("managed_by",), "for": ("works_at",),
}  # fmt: skip
_NAMES = "|".join(sorted(map(re.escape, ATTRIBUTES), key=len, reverse=True))
_ATTRIBUTE = re.compile(
    rf"\s*(?:(?:and|but|oh|also|no|so|ok)[\s,]+){{0,2}}(?:the|its|his|her|their|that)\s+(?:new\s+|right\s+|correct\s+)?(?P<what>{_NAMES})"
    r"(?:['’]s| is| was| should be| will be)(?:\s+(?:now|actually|really))?\s+(?:on |at |to |by )?(?:the |an? )?", re.I,
)  # fmt: skip


def continue_facts(reading: Reading, session: Session) -> None:
    """Say of what the session knows already what is new about it."""
    if not reading.asserting or not reading.turn.asserts:
        return
    for frame in reading.frames:
        _now(reading, session, frame)
    text = reading.tree.text
    for a, b in segments(text):
        m = _ATTRIBUTE.match(text, a, b)
        if m is not None and not text[b : b + 1].startswith("?"):
            _attribute(reading, session, ATTRIBUTES[m["what"].lower()], m.end(), b)


def _now(reading: Reading, session: Session, frame: Frame) -> None:
    """As in "she's at Castellan now": where the session says that she works somewhere, she works there now."""
    tree = reading.tree
    now = any(tree.lower[k] in ("now", "nowadays") and tree.dep[k] == "advmod" for k in tree.kids[frame.head])
    if frame.lemma != "be" or not now or frame.unsure or frame.negated or frame.past or frame.told_by is not None:
        return
    for subject in reading.subjects(frame):
        for place, tokens in frame.preps.items():
            known = [s for s in _recent(session) if subject.known and s.subject == subject.known.entity]
            before = next((s for s in known if s.predicate in _BY_PLACE.get(place, ())), None)
            if before is None or not isinstance(before.object, EntityName):
                continue
            where = reading.ref(tokens[0], (before.object.type.value,))
            if where is None or where.known is None:
                name = tree.span_text(*tree.noun_span(tokens[0]))
                at = tree.at[tree.noun_span(tokens[0])[0]]
                value = value_at(reading, at, at + len(name)) if name[:1].isupper() else None
                where = value.target(reading, session, before.predicate, before.object) if value else None
            if where is not None and where.known is not None and where.type == before.object.type.value:
                _say(reading, subject, before, where, frame)


def _attribute(reading: Reading, session: Session, predicate: str, a: int, b: int) -> None:
    """Of the only thing of which the session said it: "the deadline is now 10 October", "the phone's 4401"."""
    about: dict[EntityName, Stated] = {}
    for s in _recent(session):
        if s.predicate == predicate:
            about.setdefault(s.subject, s)
    text = reading.tree.text
    b = a + len(text[a:b].rstrip(" .,!)"))
    value = value_at(reading, a, b) if b > a else None
    if len(about) != 1 or value is None:
        return
    ((subject, before),) = about.items()
    if not value.fits(predicate, before.object) or predicate in ("created", "founded", "has_name"):
        return
    known = next((k for k in session.known if k.entity == subject), None)
    known = reading.speaker if subject == reading.speaker.entity else known
    if known is not None:
        _say(reading, Ref(known, ""), before, value.target(reading, session, predicate, before.object), None)


def _say(reading: Reading, subject: Ref, before: Stated, target: Ref, frame: Frame | None) -> None:
    if target.term == before.object or any(
        (a.subject, a.predicate) == (before.subject, before.predicate) for a in reading.assertions
    ):
        return
    used = Ref(subject.known, "", tuple(dict.fromkeys((*subject.used, before.event))), subject.start, subject.end)
    at = frame.head if frame is not None else 0
    reading.say(used, before.predicate, target, frame, at=at, presupposed=True, dated=frame is not None, rule="now")


def _recent(session: Session) -> list[Stated]:
    return [s for s in session.stated() if s.turn >= session.turn - REACH]
