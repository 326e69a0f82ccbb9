"""What is known of words in names, read once from the table beside this module."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType
from typing import Any

from memstream.folds.sames.spelling import singular

_GENERATIONS = {"junior": "jr", "senior": "sr"}


@dataclass(frozen=True, slots=True)
class Words:
    """The table: each field is explained in words.toml."""

    same: Mapping[str, str]
    phrases: Mapping[tuple[str, ...], str]
    light: frozenset[str]
    legal: tuple[tuple[str, ...], ...]
    legal_first: frozenset[str]
    kinds: Mapping[str, frozenset[str]]
    makers: frozenset[str]
    looser: frozenset[str]
    titles: frozenset[str]
    men: frozenset[str]
    women: frozenset[str]
    generations: Mapping[str, str]
    particles: frozenset[str]
    descent: frozenset[str]
    given: Mapping[str, str]
    short: Mapping[str, frozenset[str]]
    states: Mapping[str, str]
    numbers: Mapping[str, str]
    roman: Mapping[str, str]
    lasting: frozenset[str]


@functools.cache
def words() -> Words:
    """The table that ships."""
    raw = tomllib.loads(resources.files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))
    men, women = frozenset(raw["men"]), frozenset(raw["women"])
    same = _heads(raw["same"])
    given = _heads(raw["given"])
    return Words(
        same=MappingProxyType({word: head for word, head in same.items() if " " not in word}),
        phrases=MappingProxyType(
            {tuple(map(singular, word.split())): head for word, head in same.items() if " " in word}
        ),
        light=frozenset(raw["light"]),
        legal=tuple(sorted((tuple(one.split()) for one in raw["legal"]), key=len, reverse=True)),
        legal_first=frozenset(raw["legal_first"]),
        kinds=MappingProxyType({kind: frozenset(names) for kind, names in raw["kinds"].items()}),
        makers=frozenset(raw["makers"]),
        looser=frozenset(raw["looser"]),
        titles=frozenset(raw["titles"]) | men | women,
        men=men,
        women=women,
        generations=MappingProxyType({one: _GENERATIONS.get(one, one) for one in raw["generations"]}),
        particles=frozenset(raw["particles"]),
        descent=frozenset(raw["descent"]),
        given=MappingProxyType(given),
        short=MappingProxyType({row[0]: frozenset(given.get(one, one) for one in row[1:]) for row in raw["short"]}),
        states=MappingProxyType(dict(raw["states"])),
        numbers=MappingProxyType(dict(raw["numbers"])),
        roman=MappingProxyType(dict(raw["roman"])),
        lasting=frozenset(raw["lasting"]),
    )


def _heads(groups: Iterable[Any]) -> dict[str, str]:
    """Each word, and the first of its group."""
    return {word: group[0] for group in groups for word in group}
