"""Which pairs are worth comparing: those that share a key. A key that very many share is not used; finer ones are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from memstream.folds.sames.person import given, person
from memstream.folds.sames.profile import Profile
from memstream.folds.sames.spelling import sound
from memstream.folds.sames.thing import thing
from memstream.folds.sames.words import words
from memstream.schemas.extraction import EntityType

MOST = 100
"""Entities that share a key, of which each pair is compared."""

_HEAD = 4
_WORDS = 8  # of a name, of which keys are made


def keys(profile: Profile) -> frozenset[str]:
    """All keys of an entity, by all its names."""
    return frozenset(key for name in profile.names for key in _keys_of(name, profile.type))


def candidates(profiles: Iterable[Profile]) -> Iterator[tuple[str, str]]:
    """The pairs of ids to compare, the lesser first, each once, in order."""
    blocks: dict[str, list[str]] = {}
    for profile in profiles:
        for key in keys(profile):
            blocks.setdefault(key, []).append(profile.id)
    small = (sorted(set(ids)) for ids in blocks.values())
    yield from sorted({pair for ids in small if 1 < len(ids) <= MOST for pair in combinations(ids, 2)})


def _keys_of(name: str, kind: EntityType) -> Iterator[str]:
    if kind is EntityType.PERSON:
        yield from _of_person(name)
    else:
        yield from _of_thing(name, kind)


def _of_person(name: str) -> Iterator[str]:
    told = person(name)
    tokens = [sound(given(one)) for one in told.tokens if len(one) > 1]
    tokens += [sound(given(one)) for one in told.joined if "-" in name and len(one) > 1]
    yield "p=" + "".join(sorted("".join(told.tokens)))
    for token in tokens[:_WORDS]:
        yield f"p:{token}"
    for one, other in combinations(sorted(set(tokens))[:_WORDS], 2):
        yield f"p:{one}+{other}"
    if told.address:
        handle = "".join(told.tokens)
        yield f"p@{handle}"
    elif told.tokens:
        first, last = told.tokens[0], told.tokens[-1]
        ways = (first + last, last + first, first[0] + last, first + last[0], last + first[0], last[0] + first)
        yield from (f"p@{way}" for way in {*ways, "".join(told.tokens)})


def _of_thing(name: str, kind: EntityType) -> Iterator[str]:
    told = thing(name, kind)
    marks = "#" + ",".join(told.marks)
    # numbers must be the same anyway: tickets of one project do not meet each other
    yield f"t={told.compact}"
    table = words()
    sounds = sorted({sound(one) for one in told.words if one not in table.kinds.get(kind, ())})[:_WORDS]
    for one in sounds or [sound(one) for one in told.words[:_WORDS]]:
        yield f"t:{one}{marks}"
        yield f"t~{one[:_HEAD]}{one[-1:]}{len(told.words)}{marks}"
    for one, other in combinations(sounds, 2):
        yield f"t:{one}+{other}{marks}"
    if len(told.marks) > 1:
        yield f"t{marks}"
    if told.acronym:
        yield f"ta{told.acronym}"
    for each in told.initials if kind is not EntityType.OBJECT else ():
        yield f"ta{each}"
    if kind is EntityType.OBJECT:
        yield from _of_code(name)


def _of_code(name: str) -> Iterator[str]:
    bare = name.lower().removeprefix("commit").strip()
    yield f"tc{bare[:7]}"
    yield "tf" + bare.lstrip("./")
