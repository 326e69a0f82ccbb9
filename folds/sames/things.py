"""When two names are of one body, place, event or object. A number, a version, a part or a region makes another one."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from memstream.folds.sames import codes
from memstream.folds.sames.profile import NOTHING, Likeness
from memstream.folds.sames.spelling import latin, mistyped, singular, sound, spelt_alike, split
from memstream.folds.sames.words import words
from memstream.schemas.extraction import EntityType

_DOMAIN = re.compile(r"^(?:www\.)?([\w-]+)\.(?:com|io|org|net|dev|ai|co|app|de|fr|uk|eu|pl|no|se|nl|it|es)$", re.ASCII)
_ACRONYM = re.compile(r"^[A-Z]{2,6}$", re.ASCII)
_STREET = {"st": "street"}  # at the end of a name; elsewhere it is a saint
_AMBIGUOUS = frozenset({"university", "college", "school", "institute"})
_BODIES = frozenset({EntityType.ORGANIZATION, EntityType.LOCATION, EntityType.EVENT})


@dataclass(frozen=True, slots=True)
class Name:
    """A name, taken apart: `words` without what says little, `marks` what tells things of one kind apart (numbers and
    single letters), `behind` what stands behind a comma (of a place: where it lies).
    """

    words: tuple[str, ...]
    marks: tuple[str, ...]
    compact: str
    acronym: str
    initials: frozenset[str]
    behind: tuple[tuple[str, ...], ...] = ()


@functools.lru_cache(maxsize=50_000)
def thing(name: str, kind: EntityType) -> Name:
    """A name of this kind of thing, taken apart."""
    table = words()
    text, *behind = name.split(",") if kind is EntityType.LOCATION else [name]
    domain = _DOMAIN.match(latin(text).lower()) if kind is EntityType.ORGANIZATION else None
    raw = split(domain.group(1) if domain else text, frozenset(table.same))
    kept = _without_form(raw) if kind is EntityType.ORGANIZATION else raw
    told = [one for one in _united(kept) if one not in table.light] or kept
    told = [_number(one, kind, i) for i, one in enumerate(told)]
    marks = [one for one in told if one[0].isdigit() or len(one) == 1]
    if kind is EntityType.LOCATION and len(told) > 1:
        told = [*told[:-1], _STREET.get(told[-1], told[-1])]
    rest = tuple(_word(one, kind) for one in told if one not in marks)
    bare = [one for one in latin(text).split() if one.lower() not in table.kinds.get(kind, ())]
    acronym = bare[0] if len(bare) == 1 and _ACRONYM.match(bare[0]) else ""
    return Name(
        words=rest,
        marks=tuple(sorted(marks)),
        compact="".join(one for one in kept if one not in table.light) or "".join(raw),
        acronym=acronym.lower(),
        initials=_initials(raw, kept, table.kinds.get(kind, frozenset())),
        behind=tuple(_behind(one) for one in behind if one.strip()),
    )


def same_thing(a: str, b: str, kind: EntityType, explained: Collection[str] = ()) -> Likeness:
    """How like two names of one kind of thing are. `explained` are names of what both, or one of them, belong to."""
    if kind is EntityType.OBJECT and (code := codes.same_code(a, b)) is not None:
        return code
    one, other = thing(a, kind), thing(b, kind)
    if (one.marks != other.marks or not (one.compact and other.compact)) and not one.acronym and not other.acronym:
        return NOTHING
    if kind in _BODIES and (one.acronym or other.acronym):
        short = _acronym(one, other)
        if short.score or one.marks != other.marks:
            return short
    if one.marks != other.marks:
        return NOTHING
    return _placed(_by_words(one, other, kind, explained), one, other, explained)


def _by_words(one: Name, other: Name, kind: EntityType, explained: Collection[str]) -> Likeness:
    left, right, how = _leftover(one.words, other.words)
    if not left and not right:
        return _all_alike(one, other, how)
    if one.compact == other.compact:
        if kind is EntityType.LOCATION:
            return Likeness(0.75, "the same letters, cut into words otherwise")
        return Likeness(0.95, "the same letters, cut into words otherwise")
    if left and right:
        return NOTHING
    rest = left or right
    fewer = min((one, other), key=lambda name: len(name.words))
    return _with_more(rest, fewer, kind, explained)


def _all_alike(one: Name, other: Name, how: str) -> Likeness:
    if how == "typo":
        return Likeness(0.8, "a letter of a long word differs", most=0.95)
    if one.words == other.words or how == "sound" and [*map(sound, one.words)] == [*map(sound, other.words)]:
        score, reason = (0.97, "the same words") if how == "same" else (0.93, "the same words, spelt otherwise")
        return Likeness(score, reason)
    if _AMBIGUOUS & set(one.words):
        return Likeness(0.75, "the same words in another order, as often of two bodies", most=0.85)
    return Likeness(0.93, "the same words in another order")


def _with_more(rest: tuple[str, ...], fewer: Name, kind: EntityType, explained: Collection[str]) -> Likeness:
    """One name has words more, and these are all that differs."""
    table = words()
    if not fewer.words:
        return NOTHING
    known = {word for name in explained for word in thing(name, kind).words}
    kinds = table.kinds.get(kind, frozenset())
    said = set(rest)
    if said <= known:
        return Likeness(0.92, "one name says where it belongs, and that is known")
    if kind is EntityType.OBJECT and said <= table.makers and not set(fewer.words) <= table.makers:
        return Likeness(0.92, "one name has its maker's in it")
    if said <= kinds and not set(fewer.words) & kinds:
        if len(fewer.words) + len(fewer.marks) >= 2 or sum(map(len, fewer.words)) >= LONG_ENOUGH:
            return Likeness(0.92, "one name says what it is")
        return Likeness(0.75, "one name says what it is, the other is one short word", most=0.85)
    if said <= table.looser:
        return Likeness(0.75, "one is named as a group, or as all of it", most=0.85)
    return NOTHING


LONG_ENOUGH = 10
"""Letters of a single word that is hardly a word of everyday use."""


def _acronym(one: Name, other: Name) -> Likeness:
    if one.acronym and other.acronym:
        return Likeness(0.97, "the same acronym") if one.acronym == other.acronym else NOTHING
    short, long = (one, other) if one.acronym else (other, one)
    if short.acronym not in long.initials:
        return NOTHING
    if len(short.acronym) < 3:
        return Likeness(0.75, "two letters that are its initials", partial=True, most=0.85)
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
    for test, called in ((spelt_alike, "sound"), (mistyped, "typo")):
        for word in list(left):
            match = next((other for other in right if test(word, other)), None)
            if match is not None:
                left.remove(word)
                right.remove(match)
                how = called
    return tuple(left), tuple(right), how


def _without_form(raw: list[str]) -> list[str]:
    """The words of a company's name without its form; all of them where nothing would be left."""
    table = words()
    kept = raw[1:] if len(raw) > 1 and raw[0] in table.legal_first else list(raw)
    again = True
    while again:
        again = False
        for form in table.legal:
            if len(kept) > len(form) and tuple(kept[-len(form) :]) == form:
                kept, again = kept[: -len(form)], True
                break
    return [one for one in kept if one not in words().light] and kept or raw


def _united(raw: list[str]) -> list[str]:
    """Words of which several are said in one."""
    table = words()
    made: list[str] = []
    i = 0
    while i < len(raw):
        pair = tuple(singular(one) for one in raw[i : i + 2])
        if pair in table.phrases:
            made.append(table.phrases[pair])
            i += 2
        else:
            made.append(raw[i])
            i += 1
    return made


def _word(word: str, kind: EntityType) -> str:
    """A word as it is compared; the s of a plural is a part of the names of bodies and places."""
    same, bare = words().same, singular(word)
    if word in same or kind in {EntityType.ORGANIZATION, EntityType.LOCATION}:
        return same.get(word, same.get(bare, word))
    return same.get(bare, bare)


def _number(word: str, kind: EntityType, at: int) -> str:
    """Numbers in words, where they tell things of one name apart."""
    return words().numbers.get(word, word) if at and kind is not EntityType.PERSON else word


def _initials(raw: list[str], kept: list[str], kinds: frozenset[str]) -> frozenset[str]:
    """What the initials of the words spell: with its form or without, with what says little or without."""
    light = words().light
    made = set()
    for each in (raw, kept):
        named = [one for one in each if singular(one) not in kinds]
        for some in (each, named, [one for one in each if one not in light], [one for one in named if one not in light]):
            if len(some) > 1:
                made.add("".join(one[0] for one in some))
    return frozenset(made)


def _behind(text: str) -> tuple[str, ...]:
    told = split(text)
    return tuple(words().states.get(" ".join(told), " ".join(told)).split())
