"""A name of a body, a place, an event or an object, taken apart."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from memstream.folds.sames.spelling import latin, singular, split
from memstream.folds.sames.words import words
from memstream.schemas.extraction import EntityType

_DOMAIN = re.compile(r"^(?:www\.)?([\w-]+)\.(?:com|io|org|net|dev|ai|co|app|de|fr|uk|eu|pl|no|se|nl|it|es)$", re.ASCII)
_ACRONYM = re.compile(r"^[A-Z]{2,6}$", re.ASCII)
_OWNED = re.compile(r"['’]s\s", re.IGNORECASE)
_STREET = {"st": "street"}  # at the end of a name; elsewhere it is a saint


@dataclass(frozen=True, slots=True)
class Name:
    """A name, taken apart.

    `words` are without what says little, `stems` the same without the plural of the last one; `marks` tell things of
    one kind apart (numbers and single letters); `behind` is what stands behind a comma (of a place: where it lies).
    `described`: it is no name ("Ana's team"), so every word counts.
    """

    words: tuple[str, ...]
    stems: tuple[str, ...]
    marks: tuple[str, ...]
    compact: str
    acronym: str
    initials: frozenset[str]
    behind: tuple[tuple[str, ...], ...] = ()
    described: bool = False


@functools.lru_cache(maxsize=50_000)
def thing(name: str, kind: EntityType) -> Name:
    """A name of this kind of thing, taken apart."""
    table = words()
    text, *behind = name.split(",") if kind is EntityType.LOCATION else [name]
    domain = _DOMAIN.match(latin(text).lower()) if kind is EntityType.ORGANIZATION else None
    raw = split(domain.group(1) if domain else text, frozenset(table.same))
    kept = _without_form(raw) if kind is EntityType.ORGANIZATION else raw
    united = _united(kept)
    told = [one for i, one in enumerate(united) if one not in table.light or _is_mark(one, i, united)] or kept
    told = [_number(one, i) for i, one in enumerate(told)]
    marks = [one for one in told if one[0].isdigit() or len(one) == 1]
    if kind is EntityType.LOCATION and len(told) > 1:
        told = [*told[:-1], _STREET.get(told[-1], told[-1])]
    kinds = table.kinds.get(kind, frozenset())
    bodies = [one for one in told if one not in marks]
    stems = tuple(_word(one, kind) for one in bodies)
    bare = [one for one in latin(text).split() if one.lower() not in kinds]
    acronym = bare[0] if len(bare) == 1 and _ACRONYM.match(bare[0]) else ""
    return Name(
        words=(*stems[:-1], *(_last(one) for one in bodies[-1:])),
        stems=stems,
        marks=tuple(sorted(marks)),
        compact="".join(one for one in kept if one not in table.light or len(one) == 1) or "".join(raw),
        acronym=acronym.lower(),
        initials=_initials(raw, kept, kinds),
        behind=tuple(_behind(one) for one in behind if one.strip()),
        described=_OWNED.search(name) is not None,
    )


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
    return kept if any(one not in table.light for one in kept) else raw


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


def _is_mark(word: str, at: int, among: list[str]) -> bool:
    """Whether a letter at the end is no article: house A."""
    return len(word) == 1 and at > 0 and at == len(among) - 1


def _word(word: str, kind: EntityType) -> str:
    """A word as it is compared; the s of a plural is a part of the names of bodies and places."""
    same, bare = words().same, singular(word)
    if word in same or kind in {EntityType.ORGANIZATION, EntityType.LOCATION}:
        return _last(word)
    return same.get(bare, bare)


def _last(word: str) -> str:
    """The last word of a name, whose plural makes several of one."""
    same = words().same
    return same.get(word, same.get(singular(word), word))


def _number(word: str, at: int) -> str:
    """Numbers in words, and Roman ones behind another word."""
    table = words()
    return table.numbers.get(word, table.roman.get(word, word) if at else word)


def _initials(raw: list[str], kept: list[str], kinds: frozenset[str]) -> frozenset[str]:
    """What the initials of the words spell: with its form or without, with what says little or without."""
    light = words().light
    made = set()
    for each in (raw, kept):
        for some in (each, [one for one in each if singular(one) not in kinds]):
            for letters in (some, [one for one in some if one not in light]):
                if len(letters) > 1:
                    made.add("".join(one[0] for one in letters))
    return frozenset(made)


def _behind(text: str) -> tuple[str, ...]:
    told = split(text)
    return tuple(words().states.get(" ".join(told), " ".join(told)).split())
