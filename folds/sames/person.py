"""A person's name, taken apart: titles, particles, generations, a role, a handle or a mail address."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from memstream.folds.sames.spelling import latin
from memstream.folds.sames.words import words

_TOKEN = re.compile(r"[a-z]+|\d+", re.ASCII)
_ADDRESS = re.compile(r"^@?[\w.+-]+@[\w-]+(\.[\w-]+)+$|^@[\w.-]+$|^[a-z0-9]+[._][a-z0-9._]+$", re.ASCII)
_INITIALS = re.compile(r"\b([^\W\d_])\.(?=[^\W\d_]\b)")
_OWNED = re.compile(r"'s\s|s'\s|^(?:my|our|your|his|her|their)\s", re.IGNORECASE)
_ROLE = re.compile(r"\s+(?:from|at|in|of)\s+(?!the\b)", re.IGNORECASE)

_MOST_WORDS = 10  # what has more is no name


@dataclass(frozen=True, slots=True)
class Person:
    """A person's name, taken apart. `tokens` are in the order of the name, without titles and particles.

    `joined` has what a hyphen joins as one token. `sex` is what a title says. `descent`: the order counts.
    `described`: it is no name ("Ana's sister-in-law"), so every word counts. `whole` has the particles too.
    """

    tokens: tuple[str, ...]
    joined: tuple[str, ...]
    generation: str = ""
    sex: str = ""
    role: tuple[str, ...] = ()
    titles: frozenset[str] = frozenset()
    descent: bool = False
    described: bool = False
    address: str = ""
    whole: str = ""


@functools.lru_cache(maxsize=50_000)
def person(name: str) -> Person:
    """A name, taken apart."""
    text = latin(_INITIALS.sub(r"\1. ", name)).strip()
    if _ADDRESS.match(text.lower()):
        tokens = tuple(_TOKEN.findall(text.lower().lstrip("@").split("@")[0]))
        return Person(tokens, tokens, address=text.lower())
    if _OWNED.search(name.replace("’", "'")) or len(text.split()) > _MOST_WORDS:
        tokens = tuple(_TOKEN.findall(text.lower()))
        return Person(tokens, tokens, described=True)
    text, *role = _ROLE.split(text, maxsplit=1)
    return _named(_in_order(text), tuple(_TOKEN.findall(role[0].lower())) if role else ())


def given(token: str) -> str:
    """The given name that spellings and short forms of it stand for."""
    return words().given.get(token, token)


def _in_order(text: str) -> str:
    """The name with the surname last, where a comma says that it is first."""
    table = words()
    parts = [part.split() for part in text.split(",")]
    if len(parts) == 2 and all(parts):
        behind = {_plain(one) for one in parts[1]}
        if not behind <= table.titles | table.generations.keys():
            return " ".join(parts[1] + parts[0])
    return text


def _named(text: str, role: tuple[str, ...]) -> Person:
    table = words()
    joined: list[str] = []
    titles: set[str] = set()
    generation = ""
    for raw in text.lower().replace(",", " ").split():
        word = _plain(raw)
        if word in table.titles and not (len(joined) > 1 and word in {"san", "don"}):
            titles.add(word)
        elif word in table.generations and joined:
            generation = table.generations[word]
        elif word:
            joined.append(raw)
    bare = [_bare(one) for one in joined if _plain(one) not in table.particles] or joined
    return Person(
        tokens=tuple(token for one in bare for token in _TOKEN.findall(one)),
        joined=tuple(_plain(one) for one in bare),
        generation=generation,
        sex="m" if titles & table.men else "f" if titles & table.women else "",
        role=role,
        titles=frozenset(titles),
        descent=any(_plain(one) in table.descent for one in joined),
        whole="".join(_plain(one) for one in joined),
    )


def _bare(word: str) -> str:
    """A word without the particle that a hyphen joins to it: al-Fahim."""
    before, hyphen, rest = word.partition("-")
    return rest if hyphen and _plain(rest) and before in words().particles else word


def _plain(word: str) -> str:
    return "".join(_TOKEN.findall(word.lower()))
