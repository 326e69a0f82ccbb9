"""Two entities: the best of what their names say, and what the facts about them add or forbid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memstream.folds.sames.people import same_person
from memstream.folds.sames.profile import LIKELY, NOTHING, SURE, Likeness, Profile
from memstream.folds.sames.thing import thing
from memstream.folds.sames.things import same_thing
from memstream.folds.sames.words import words
from memstream.schemas.extraction import EntityType

_SHARED = 0.13
_NEAR = 0.05
_AGAINST = 0.25
_ALIKE = 0.75  # cosine of two descriptions
_SEVERAL = 2  # facts about each, of which one should be the same
_NAMES = 8  # of an entity, that are compared
_WITHIN = frozenset({"part_of", "located_in"})
_CALLED = frozenset({"has_name", "also_known_as"})


@dataclass(frozen=True, slots=True)
class Judgement:
    """How like two entities are, why, and whether they are known to be two (`apart`)."""

    score: float
    reason: str
    apart: bool = False


def compare(a: Profile, b: Profile) -> Judgement:
    """How like two entities are. The same whichever comes first."""
    a, b = sorted((a, b), key=lambda one: one.id)
    if EntityType.PERSON in {a.type, b.type} and a.type is not b.type:
        return Judgement(0.0, "a person is nothing else", apart=True)
    forbidden = _forbidden(a, b)
    if forbidden:
        return Judgement(0.0, forbidden, apart=True)
    like, alias = _best(a, b)
    if not like.score:
        return Judgement(0.0, "", apart=not _vague(a) and not _vague(b))
    return _weighed(like, alias, a, b)


def _best(a: Profile, b: Profile) -> tuple[Likeness, bool]:
    """The best likeness of any of their names, and whether an alias gave it."""
    known = _belongs(a, b)
    best = _names_alike(a.name, b.name, a.type, b.type, known)
    alias, plain = False, best.score > 0
    for i, one in enumerate(a.names[:_NAMES]):
        for j, other in enumerate(b.names[:_NAMES]):
            like = _names_alike(one, other, a.type, b.type, known) if i or j else NOTHING
            if like.score and not plain:
                like = _by_alias(like, min(one, other, key=len), a.type, both=bool(i and j))
            if (like.score, like.reason) > (best.score, best.reason):
                best, alias = like, True
    return best, alias


def _by_alias(like: Likeness, name: str, kind: EntityType, *, both: bool) -> Likeness:
    """What another name is worth where their own names have nothing in common.

    A short one may be of many: neither two people called Mike nor two bodies called AMA are one for it.
    """
    weak = both or like.partial
    if len(name.split()) > 1 or not (weak or kind is EntityType.PERSON):
        return like
    return Likeness(min(like.score, 0.65 if weak else 0.75), like.reason, partial=True, most=0.85)


def _names_alike(a: str, b: str, one: EntityType, other: EntityType, known: tuple[str, ...]) -> Likeness:
    if one is EntityType.PERSON:
        return same_person(a, b)
    if one is other:
        return same_thing(a, b, one, known)
    # the extractor was of two minds: only where the names are one, under either type
    like = min((same_thing(a, b, kind, known) for kind in sorted((one, other))), key=lambda like: like.score)
    if like.score < 0.93:
        return NOTHING
    if EntityType.LOCATION in {one, other} or len(thing(a, one).words) + len(thing(a, one).marks) < 2:
        named = EntityType.LOCATION not in {one, other} and a != a.lower()
        return Likeness(0.75 if named else 0.65, "one name under two types", partial=True, most=0.85)
    return Likeness(0.93, "one name under two types")


def _weighed(like: Likeness, alias: bool, a: Profile, b: Profile) -> Judgement:
    shared, against = _facts(a, b)
    score = like.score
    reasons = [like.reason + (", by another name that was told" if alias else "")]
    if like.partial and against:
        score -= _AGAINST
        reasons.append(f"{against} of the facts about them differ")
    elif like.partial and not shared and min(len(a.facts), len(b.facts)) >= _SEVERAL:
        score = min(score, SURE - _NEAR)
        reasons.append("of all that is known of both nothing is the same")
    elif shared:
        score = max(score, min(score + _SHARED, like.most))
        reasons.append("they share " + ("a fact" if shared == 1 else f"{shared} facts"))
    if score < LIKELY + _NEAR and not against and _described_alike(a, b):
        score = max(score, min(score + _NEAR, like.most))
        reasons.append("they are described alike")
    return Judgement(round(score, 2), "; ".join(reasons), apart=False)


def _forbidden(a: Profile, b: Profile) -> str:
    """Why the two can't be one, whatever they are called; empty where nothing says so."""
    if _related(a, b) or _related(b, a):
        return "a fact relates one to the other"
    for one in a.facts:
        for other in b.facts:
            if one.predicate == other.predicate and one.key != other.key and one.predicate in words().lasting:
                return f"{one.predicate} differs"
    return ""


def _related(a: Profile, b: Profile) -> bool:
    return any(fact.key == b.id and fact.predicate not in _CALLED for fact in a.facts)


def _facts(a: Profile, b: Profile) -> tuple[int, int]:
    """How many facts they share, and in how many of which there is one at a time they differ."""
    mine, theirs = ({(fact.predicate, fact.key) for fact in one.facts} for one in (a, b))
    single = [{fact.predicate: fact.key for fact in sorted(one.facts) if fact.single} for one in (a, b)]
    against = sum(single[0][name] != single[1][name] for name in single[0].keys() & single[1].keys())
    return len(mine & theirs), against


def _belongs(a: Profile, b: Profile) -> tuple[str, ...]:
    """What either is known to be part of or to lie in."""
    told = (fact for one in (a, b) for fact in one.facts if fact.predicate in _WITHIN)
    return tuple(sorted({fact.name for fact in told}))


def _vague(one: Profile) -> bool:
    """Whether a name is too short to say that it is not somebody of another name: a first name, an acronym."""
    if one.type is EntityType.PERSON:
        return len(one.name.split()) < 2
    name = thing(one.name, one.type)
    return bool(name.acronym) or len(name.words) + len(name.marks) < 2


def _described_alike(a: Profile, b: Profile) -> bool:
    return len(a.vector) == len(b.vector) > 0 and _dot(zip(a.vector, b.vector, strict=True)) >= _ALIKE


def _dot(pairs: Iterable[tuple[float, float]]) -> float:
    return sum(x * y for x, y in pairs)
