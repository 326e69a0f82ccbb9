"""When two names are of one body, place, event or object. A number, a version, a part or a region makes another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from memstream.folds.sames import codes
from memstream.folds.sames.profile import NOTHING, Likeness
from memstream.folds.sames.spelling import mistyped, sound, spelt_alike, split
from memstream.folds.sames.thing import Name, thing
from memstream.folds.sames.words import words
from memstream.schemas.extraction import EntityType

_AMBIGUOUS = frozenset({"university", "college", "school", "institute"})
_BODIES = frozenset({EntityType.ORGANIZATION, EntityType.LOCATION, EntityType.EVENT})
_MOST_SPELT = 4  # words of which another spelling is looked for
_LONG_WORD = 10  # letters of a single word that is hardly a word of everyday use


def same_thing(a: str, b: str, kind: EntityType, explained: Collection[str] = ()) -> Likeness:
    """How like two names of one kind of thing are. `explained` are names of what both, or one of them, belong to."""
    if kind is EntityType.OBJECT and (code := codes.same_code(a, b)) is not None:
        return code
    one, other = thing(a, kind), thing(b, kind)
    if (one.marks != other.marks or not (one.compact and other.compact)) and not one.acronym and not other.acronym:
        return NOTHING
    by_words = NOTHING
    if one.marks == other.marks:
        by_words = _placed(_by_words(one, other, kind, explained), one, other, explained)
    if kind in _BODIES and (one.acronym or other.acronym):
        return max(by_words, _acronym(one, other), key=lambda like: (like.score, like.reason))
    return by_words


def _by_words(one: Name, other: Name, kind: EntityType, explained: Collection[str]) -> Likeness:
    kinds = words().kinds.get(kind, frozenset())
    named = not kinds.isdisjoint((*one.stems, *other.stems))  # a payments service is a payment service
    mine, theirs = (one.stems, other.stems) if named else (one.words, other.words)
    left, right, how = _leftover(mine, theirs)
    if not left and not right:
        tickets = len(mine) == 1 and not one.marks and one.compact in {other.compact + "s", other.compact[:-1]}
        return NOTHING if tickets else _all_alike(mine, theirs, how)
    if one.compact == other.compact:
        if kind is EntityType.LOCATION:
            return Likeness(0.75, "the same letters, cut into words otherwise")
        return Likeness(0.95, "the same letters, cut into words otherwise")
    if (left and right) or one.described or other.described:
        return NOTHING
    rest = left or right
    fewer = min((one, other), key=lambda name: len(name.words))
    return _with_more(rest, fewer, kind, explained)


def _all_alike(mine: tuple[str, ...], theirs: tuple[str, ...], how: str) -> Likeness:
    if how == "typo":
        return Likeness(0.8, "a letter of a long word differs", most=0.95)
    if mine == theirs or (how == "sound" and [*map(sound, mine)] == [*map(sound, theirs)]):
        score, reason = (0.97, "the same words") if how == "same" else (0.93, "the same words, spelt otherwise")
        return Likeness(score, reason)
    if _AMBIGUOUS & set(mine):
        return Likeness(0.75, "the same words in another order, as often of two bodies", most=0.85)
    return Likeness(0.93, "the same words in another order")


def _with_more(rest: tuple[str, ...], fewer: Name, kind: EntityType, explained: Collection[str]) -> Likeness:
    """One name has words more, and these are all that differs."""
    table = words()
    known = {word for name in explained for word in thing(name, kind).words}
    kinds = table.kinds.get(kind, frozenset())
    said, has = set(rest), set(fewer.words)
    if has and said <= known:
        return Likeness(0.92, "one name says where it belongs, and that is known")
    if kind is EntityType.OBJECT and said <= table.makers and (has - table.makers or len(fewer.marks) > 1):
        return Likeness(0.92, "one name has its maker's in it")
    if has and said <= kinds and not has & kinds:
        if len(fewer.words) + len(fewer.marks) >= 2 or len(fewer.compact) >= _LONG_WORD:
            return Likeness(0.92, "one name says what it is")
        return Likeness(0.75, "one name says what it is, the other is one short word", most=0.85)
    if has and said <= table.looser:
        return Likeness(0.75, "one is named as a group, or as all of it", most=0.85)
    return NOTHING


def _acronym(one: Name, other: Name) -> Likeness:
    if one.acronym and other.acronym:
        return Likeness(0.97, "the same acronym") if one.acronym == other.acronym else NOTHING
    short, long = (one, other) if one.acronym else (other, one)
    if short.acronym not in long.initials:
        return NOTHING
    if len(short.acronym) < 3:
        return Likeness(0.65, "two letters that are its initials", partial=True, most=0.85)
    return Likeness(0.92, "the initials of its words", partial=True)


def _placed(like: Likeness, one: Name, other: Name, explained: Collection[str]) -> Likeness:
    """Where two places lie, as far as their names say."""
    if not like.score or one.behind == other.behind:
        return like
    if one.behind and other.behind:
        fewer, more = sorted((set(one.behind), set(other.behind)), key=len)
        return like if fewer <= more else NOTHING
    told = {word for part in (*one.behind, *other.behind) for word in part}
    if told <= {word for name in explained for word in split(name)}:
        return like
    return Likeness(min(like.score, 0.78), "one name says where it lies", partial=True)


def _leftover(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """The words of each that the other has not, and how like the others are: same, sound, typo."""
    mine, theirs = Counter(a) - Counter(b), Counter(b) - Counter(a)
    left, right, how = sorted(mine.elements()), sorted(theirs.elements()), "same"
    tests = ((spelt_alike, "sound"), (mistyped, "typo")) if max(len(left), len(right)) <= _MOST_SPELT else ()
    for test, called in tests:
        for word in list(left):
            match = next((other for other in right if test(word, other)), None)
            if match is not None:
                left.remove(word)
                right.remove(match)
                how = called
    return tuple(left), tuple(right), how
