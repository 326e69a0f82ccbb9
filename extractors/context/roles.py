"""Whom a role or a kinship stands for: "my manager" after "my manager is Tom", "the nurse" after "Amira is a nurse".

What the session and the message said decides: where it gives exactly one, that one is meant, and the event that said so
was used. Where it gives none or several, nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memstream.extractors.context.session import Known, Session, Stated
from memstream.extractors.text.lexicon import lexicon, words
from memstream.schemas.extraction import EntityName, ExtractedAssertion

Said = tuple[EntityName, str, EntityName | str, str]  # a triple and the event that gave it, "" for this message
_EITHER_WAY = frozenset({"partner_of", "sibling_of", "knows", "friend_of"})
_FROM_OWNER = frozenset({"managed_by", "has_pet"})
_TITLES = {
    "doctor": words("dr dr. doctor"), "professor": words("prof prof. professor"),
    "captain": words("capt capt. captain"),
    "judge": words("judge"), "reverend": words("rev rev. reverend"), "sergeant": words("sgt sgt. sergeant"),
}  # fmt: skip


def said_so_far(session: Session, assertions: Sequence[ExtractedAssertion]) -> Iterator[Said]:
    """The facts of this message and of those before it."""
    for a in assertions:
        if not a.negated and not a.valid_to:
            yield a.subject, a.predicate, a.object, ""
    for s in session.stated():
        yield _said(s)


def _said(s: Stated) -> Said:
    return s.subject, s.predicate, s.object, s.event


def relative(word: str, owner: EntityName, said: Iterator[Said], known: Sequence[Known]) -> tuple[Known, str] | None:
    """Who is the owner's "sister", "manager", "dog", by name; and the event that said so."""
    relation, gender = lexicon().kin[word]
    found: dict[EntityName, str] = {}
    for subject, predicate, obj, event in said:
        other = _other(relation, owner, subject, predicate, obj)
        if other is not None and "'s " not in other.name:
            found.setdefault(other, event)
    fits = []
    for name, event in found.items():
        one = next((k for k in reversed(known) if k.entity == name), None)
        if one is not None and (not gender or gender == "n" or one.gender in ("", gender)):
            fits.append((one, event))
    return fits[0] if len(fits) == 1 else None


def _other(
    relation: str, owner: EntityName, subject: EntityName, predicate: str, obj: EntityName | str
) -> EntityName | None:
    """The one who stands in the relation to the owner, if the triple is of it."""
    if not isinstance(obj, EntityName):
        return None
    forward = {(relation, True)} if relation in _FROM_OWNER else {(relation, False)}
    if relation in _EITHER_WAY:
        forward |= {(relation, True)}
    elif relation == "parent_of":
        forward |= {("child_of", True)}
    elif relation == "child_of":
        forward |= {("parent_of", True)}
    if subject == owner and (predicate, True) in forward:
        return obj
    return subject if obj == owner and (predicate, False) in forward else None


def holder(noun: str, said: Iterator[Said], known: Sequence[Known]) -> tuple[Known, str] | None:
    """Who is "the nurse": the only one of whom the session said so, or whose name has the title."""
    found: dict[EntityName, str] = {}
    for subject, predicate, obj, event in said:
        if predicate == "has_role" and isinstance(obj, str) and obj.casefold().split()[-1] == noun:
            found.setdefault(subject, event)
    for k in known:
        if k.type == "Person" and k.name.casefold().split()[0] in _TITLES.get(noun, ()):
            found.setdefault(k.entity, "")
    fits = [(k, found[k.entity]) for k in known if k.entity in found]
    return fits[0] if len(fits) == 1 else None
