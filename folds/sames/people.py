"""When two names of people are of one person. To share a first name says nothing."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from itertools import pairwise

from memstream.folds.sames.profile import NOTHING, Likeness
from memstream.folds.sames.spelling import latin, mistyped, sound, spelt_alike
from memstream.folds.sames.words import words

_TOKEN = re.compile(r"[a-z]+|\d+", re.ASCII)
_ADDRESS = re.compile(r"^@?[\w.+-]+@[\w-]+(\.[\w-]+)+$|^@[\w.-]+$|^[a-z0-9]+[._][a-z0-9._]+$", re.ASCII)
_INITIALS = re.compile(r"\b([^\W\d_])\.(?=[^\W\d_]\b)")
_ROLE = re.compile(r"\s+(?:from|at|in|of)\s+(?!the\b)", re.IGNORECASE)

FULL, SPELT, GIVEN, SHORT, INITIAL = "full", "spelt", "given", "short", "initial"


@dataclass(frozen=True, slots=True)
class Person:
    """A person's name, taken apart. `tokens` are in the order of the name, without titles and particles.

    `joined` has what a hyphen joins as one token. `sex` is what a title says. `descent`: the order counts.
    """

    tokens: tuple[str, ...]
    joined: tuple[str, ...]
    generation: str = ""
    sex: str = ""
    role: tuple[str, ...] = ()
    descent: bool = False
    address: str = ""
    whole: str = ""


@functools.lru_cache(maxsize=50_000)
def person(name: str) -> Person:
    """A name, taken apart."""
    text = latin(_INITIALS.sub(r"\1. ", name)).strip()
    if _ADDRESS.match(text.lower()):
        local = text.lower().lstrip("@").split("@")[0]
        tokens = tuple(_TOKEN.findall(local))
        return Person(tokens, tokens, address=text.lower())
    text, *role = _ROLE.split(text, maxsplit=1)
    if text.count(",") == 1 and (parts := [one.split() for one in text.split(",")]) and all(parts):
        table = words()
        first = [_plain(one) for one in parts[1]]
        if not all(one in table.titles or one in table.generations for one in first):
            text = " ".join(parts[1] + parts[0])
    joined, sex, generation, descent = [], "", "", False
    table = words()
    for raw in text.replace(",", " ").split():
        word = _plain(raw)
        if word in table.titles and not (joined and len(joined) > 1 and word in {"san", "don"}):
            sex = "m" if word in table.men else "f" if word in table.women else sex
        elif word in table.generations and joined:
            generation = table.generations[word]
        elif word:
            descent = descent or word in table.descent
            joined.append(raw.lower())
    bare = [one for one in joined if _plain(one) not in table.particles] or joined
    return Person(
        tokens=tuple(token for one in bare for token in _TOKEN.findall(one)),
        joined=tuple(_plain(one) for one in bare),
        generation=generation,
        sex=sex,
        role=tuple(_TOKEN.findall(role[0].lower())) if role else (),
        descent=descent,
        whole="".join(_plain(one) for one in joined),
    )


def same_person(a: str, b: str) -> Likeness:
    """How like two names of people are."""
    one, other = person(a), person(b)
    if not one.tokens or not other.tokens or _apart(one, other):
        return NOTHING
    if one.address or other.address:
        return _by_address(one, other)
    found = [
        _aligned(short, turned, either)
        for left, right in _readings(one, other)
        for short, either in [sorted((left, right), key=len)]
        for turned in _turns(short, one.descent or other.descent)
    ]
    best = max(found, key=lambda like: (like.score, like.reason))
    if best.score and one.generation != other.generation:
        return Likeness(min(best.score, 0.75), f"{best.reason}, of which generation is not said", most=0.75)
    if best.score and one.role != other.role:
        return Likeness(min(best.score, 0.75), best.reason, most=0.75)
    return best


def given(token: str) -> str:
    """The given name that spellings and short forms of it stand for."""
    return words().given.get(token, token)


def _apart(one: Person, other: Person) -> bool:
    """What is said with the names tells two people apart."""
    said = ((one.generation, other.generation), (one.sex, other.sex), (one.role, other.role))
    return any(a and b and a != b for a, b in said)


def _readings(one: Person, other: Person) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(one.tokens, other.tokens), (one.joined, other.joined), (one.tokens, other.joined), (one.joined, other.tokens)]


def _turns(tokens: tuple[str, ...], descent: bool) -> list[tuple[str, ...]]:
    """The name as it is, and with the family's name at the other end."""
    if len(tokens) < 2 or descent:
        return [tokens]
    return [tokens, (*tokens[1:], tokens[0]), (tokens[-1], *tokens[:-1])]


def _aligned(short: tuple[str, ...], turned: tuple[str, ...], long: tuple[str, ...]) -> Likeness:
    """Lay the shorter name, turned this way, over the longer one."""
    if "".join(turned) == "".join(long) and len("".join(long)) > 3:
        turn = "" if turned == short else ", the family's name first in one"
        return Likeness(0.97, f"the same name{turn}") if len(long) > 1 else _single(turned[0], long[0])
    if len(turned) == 1:
        return _alone(turned[0], long)
    if turned != short and len(short) != len(long):
        return NOTHING
    places = _places(turned, long)
    if places is None:
        return NOTHING
    kinds = [_kind(token, long[at]) or "" for token, at in zip(turned, places, strict=True)]
    whole = [kind for kind in kinds if kind in {FULL, SPELT, GIVEN}]
    ends = places[0] == 0 and places[-1] == len(long) - 1
    if turned != short and not all(kind in {FULL, SPELT} for kind in kinds):
        return NOTHING
    return _graded(kinds, whole, ends=ends, left=len(long) - len(turned))


def _graded(kinds: list[str], whole: list[str], *, ends: bool, left: int) -> Likeness:
    initials, short = kinds.count(INITIAL), kinds.count(SHORT)
    if not whole or FULL not in kinds and SPELT not in kinds:
        return NOTHING
    if initials or short:
        if kinds[0] not in {FULL, SPELT} and kinds[-1] not in {FULL, SPELT}:
            return NOTHING
        if initials and len(whole) >= 2 and ends:
            return Likeness(0.93, "the same name, with an initial")
        if initials >= 2 and not short and ends:
            return Likeness(0.92, "the same surname and initials", partial=True)
        what = "a short form of more than one name" if short else "the same surname, an initial for the rest"
        return Likeness(0.8 if ends else 0.7, what, partial=True)
    if GIVEN in kinds:
        reason = "a short form or another spelling of the given name"
    elif SPELT in kinds:
        reason = "another spelling of the name"
    else:
        reason = "the same name"
    if ends:
        return Likeness(0.95 if not left else 0.93, reason + (", one has more names in the middle" if left else ""))
    if len(whole) >= 3:
        return Likeness(0.91, reason + ", one has one more surname")
    return Likeness(0.75, reason + ", one has another name at an end", most=0.85)


def _places(turned: tuple[str, ...], long: tuple[str, ...]) -> list[int] | None:
    """Where each token of the shorter name stands in the longer one, in order; None where one stands nowhere.

    The first and the last are looked for at the ends, so that middle names are what is left over.
    """
    places: list[int] = []
    start = 0
    for i, token in enumerate(turned):
        room = len(long) - (len(turned) - i - 1)
        candidates = [at for at in range(start, room) if _kind(token, long[at])]
        if not candidates:
            return None
        last = i == len(turned) - 1
        at = candidates[-1] if last and candidates[-1] == len(long) - 1 else candidates[0]
        places.append(at)
        start = at + 1
    return places if all(a < b for a, b in pairwise(places)) else None


def _kind(a: str, b: str) -> str | None:
    """How one token of a name stands for another; None where it does not."""
    if a == b:
        return FULL if len(a) > 1 else INITIAL
    if len(a) == 1 or len(b) == 1:
        return INITIAL if a[0] == b[0] else None
    if given(a) == given(b):
        return GIVEN
    if spelt_alike(a, b) or (mistyped(a, b) and sorted(a) == sorted(b)):
        return SPELT
    table = words()
    if given(b) in table.short.get(a, ()) or given(a) in table.short.get(b, ()):
        return SHORT
    return None


def _alone(token: str, long: tuple[str, ...]) -> Likeness:
    """One name alone beside a longer one."""
    if len(token) > 1 and any(_kind(token, each) in {FULL, SPELT} for each in (long[0], long[-1])):
        return Likeness(0.6, "one name alone is a part of the other", partial=True, most=0.85)
    return NOTHING


def _single(a: str, b: str) -> Likeness:
    """Two names of one word each."""
    return Likeness(0.75, "both go by this one name", partial=True, most=0.85) if sound(a) == sound(b) else NOTHING


def _by_address(one: Person, other: Person) -> Likeness:
    """A handle or the name in a mail address beside a name."""
    if one.address and other.address:
        same = "".join(one.tokens) == "".join(other.tokens) and ("@" in one.address[1:]) != ("@" in other.address[1:])
        return Likeness(0.85, "a handle and a mail address of one name") if same else NOTHING
    handle, name = (one, other) if one.address else (other, one)
    told = "".join(handle.tokens)
    first, last = name.tokens[0], name.tokens[-1]
    if len(name.tokens) < 2:
        return Likeness(0.6, "a name and a handle", partial=True, most=0.85) if told == first else NOTHING
    whole = {name.whole, "".join(name.tokens), "".join(name.joined), first + last, last + first}
    if told in whole:
        return Likeness(0.93, "the handle is the name")
    if told in {first[0] + last, first + last[0], last + first[0], last[0] + first}:
        return Likeness(0.78, "the handle is made of an initial and a name", partial=True)
    return NOTHING


def _plain(word: str) -> str:
    return "".join(_TOKEN.findall(word.lower()))
