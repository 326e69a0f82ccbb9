"""When two names of people are of one person. To share a first name says nothing."""

from __future__ import annotations

from itertools import pairwise

from memstream.folds.sames.person import Person, given, person
from memstream.folds.sames.profile import NOTHING, Likeness
from memstream.folds.sames.spelling import mistyped, sound, spelt_alike
from memstream.folds.sames.words import words

FULL, SPELT, GIVEN, SHORT, INITIAL = "full", "spelt", "given", "short", "initial"
"""How one token of a name stands for another."""


def same_person(a: str, b: str) -> Likeness:
    """How like two names of people are."""
    one, other = person(a), person(b)
    if not one.tokens or not other.tokens or _apart(one, other):
        return NOTHING
    if one.described or other.described:
        return Likeness(0.95, "the same description") if one.tokens == other.tokens else NOTHING
    if one.address or other.address:
        return _by_address(one, other)
    return _less(_by_name(one, other), one, other)


def _apart(one: Person, other: Person) -> bool:
    """What is said with the names tells two people apart."""
    said = ((one.generation, other.generation), (one.sex, other.sex), (one.role, other.role))
    titled = _alone(one, other) and one.titles and other.titles and one.titles.isdisjoint(other.titles)
    return bool(titled) or any(a and b and a != b for a, b in said)


def _alone(one: Person, other: Person) -> bool:
    """Whether one of them goes by a single name."""
    return min(len(one.joined), len(other.joined)) == 1


def _less(like: Likeness, one: Person, other: Person) -> Likeness:
    """What is left of a likeness where something is said with one of the names only."""
    if like.score and one.generation != other.generation:
        return Likeness(min(like.score, 0.75), f"{like.reason}, of which generation is not said", most=0.75)
    if like.score and one.role != other.role:
        return Likeness(min(like.score, 0.75), like.reason, most=0.75)
    if like.score and len(one.joined) == len(other.joined) == 1 and one.titles != other.titles:
        return Likeness(min(like.score, 0.75), "one has a title", most=0.85)
    return like


def _by_name(one: Person, other: Person) -> Likeness:
    """The best likeness over all ways to read and to turn the two names."""
    found = [
        _cut_short(like) if len(left) != len(right) and (left, right) != (one.joined, other.joined) else like
        for left, right in _readings(one, other)
        for short, long in [sorted((left, right), key=len)]
        for turned in _turns(short, descent=one.descent or other.descent)
        for like in [_aligned(short, turned, long)]
    ]
    return max(found, key=lambda like: (like.score, like.reason))


def _cut_short(like: Likeness) -> Likeness:
    """Half of what a hyphen joins is another surname, or the same one cut short."""
    return Likeness(min(like.score, 0.75), "one has half of the other's surname", most=0.85) if like.score else like


def _readings(one: Person, other: Person) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """With what a hyphen joins as one token or as two. A given name with a hyphen, alone, is one."""
    whole = (one.joined, other.joined)
    if _alone(one, other):
        return [whole]
    return [whole, (one.tokens, other.tokens), (one.tokens, other.joined), (one.joined, other.tokens)]


def _turns(tokens: tuple[str, ...], *, descent: bool) -> list[tuple[str, ...]]:
    """The name as it is, and with the family's name at the other end."""
    if len(tokens) < 2 or descent:
        return [tokens]
    return [tokens, (*tokens[1:], tokens[0]), (tokens[-1], *tokens[:-1])]


def _aligned(short: tuple[str, ...], turned: tuple[str, ...], long: tuple[str, ...]) -> Likeness:
    """Lay the shorter name, turned this way, over the longer one."""
    if len(turned) == 1:
        return _single(turned[0], long[0]) if len(long) == 1 else _part(turned[0], long)
    if "".join(turned) == "".join(long):
        return Likeness(0.97, "the same name" + ("" if turned == short else ", the family's name first in one"))
    places = _places(turned, long) if turned == short or len(short) == len(long) else None
    if places is None:
        return NOTHING
    kinds = [_kind(token, long[at]) or "" for token, at in zip(turned, places, strict=True)]
    if turned != short and not set(kinds) <= {FULL, SPELT}:
        return NOTHING
    ends = places[0] == 0 and places[-1] == len(long) - 1
    if {INITIAL, SHORT}.isdisjoint(kinds):
        return _in_full(kinds, ends=ends, left=len(long) - len(turned))
    return _shortened(kinds, ends=ends)


def _shortened(kinds: list[str], *, ends: bool) -> Likeness:
    """Some of the names are initials, or short forms of more than one name."""
    if {FULL, SPELT}.isdisjoint({kinds[0], kinds[-1]}):
        return NOTHING
    initials, whole = kinds.count(INITIAL), len(kinds) - kinds.count(INITIAL) - kinds.count(SHORT)
    if ends and initials and whole >= 2:
        return Likeness(0.93, "the same name, with an initial")
    if ends and initials >= 2 and SHORT not in kinds:
        return Likeness(0.92, "the same surname and initials", partial=True)
    what = "a short form of more than one name" if SHORT in kinds else "the same surname, an initial for the rest"
    return Likeness(0.8 if ends else 0.7, what, partial=True)


def _in_full(kinds: list[str], *, ends: bool, left: int) -> Likeness:
    """All names of the shorter one are in the longer one, which has `left` more."""
    if FULL not in kinds and SPELT not in kinds:
        return NOTHING
    reason = "another spelling of the name" if SPELT in kinds else "the same name"
    if GIVEN in kinds:
        reason = "a short form or another spelling of the given name"
    if ends:
        return Likeness(0.93, f"{reason}, one has more names in the middle") if left else Likeness(0.95, reason)
    if len(kinds) >= 3:
        return Likeness(0.91, f"{reason}, one has one more surname")
    return Likeness(0.75, f"{reason}, one has another name at an end", most=0.85)


def _places(turned: tuple[str, ...], long: tuple[str, ...]) -> list[int] | None:
    """Where each token of the shorter name stands in the longer one, in order; None where one stands nowhere.

    The first and the last are looked for at the ends, so that middle names are what is left over.
    """
    places: list[int] = []
    start = 0
    for i, token in enumerate(turned):
        room = len(long) - (len(turned) - i - 1)
        there = [at for at in range(start, room) if _kind(token, long[at])]
        if not there:
            return None
        at_end = i == len(turned) - 1 and there[-1] == len(long) - 1
        places.append(there[-1] if at_end else there[0])
        start = places[-1] + 1
    return places if all(a < b for a, b in pairwise(places)) else None


def _kind(a: str, b: str) -> str | None:
    """How one token of a name stands for another; None where it does not."""
    table = words()
    if a == b or 1 in {len(a), len(b)}:
        return None if a[0] != b[0] else INITIAL if 1 in {len(a), len(b)} else FULL
    if given(a) == given(b):
        return GIVEN
    if spelt_alike(a, b) or (mistyped(a, b) and sorted(a) == sorted(b)):
        return SPELT
    return SHORT if given(b) in table.short.get(a, ()) or given(a) in table.short.get(b, ()) else None


def _part(token: str, long: tuple[str, ...]) -> Likeness:
    """One name alone beside a longer one."""
    if len(token) > 1 and any(_kind(token, each) in {FULL, SPELT} for each in (long[0], long[-1])):
        return Likeness(0.6, "one name alone is a part of the other", partial=True, most=0.85)
    return NOTHING


def _single(a: str, b: str) -> Likeness:
    """Two names of one word each."""
    if a == b:
        return Likeness(0.92, "the same name but for marks on its letters", partial=True)
    return Likeness(0.75, "both go by this one name", partial=True, most=0.85) if sound(a) == sound(b) else NOTHING


def _by_address(one: Person, other: Person) -> Likeness:
    """A handle or the name in a mail address beside a name."""
    if one.address and other.address:
        kinds = {"@" in address[1:] for address in (one.address, other.address)}
        alike = "".join(one.tokens) == "".join(other.tokens) and len(kinds) == 2
        return Likeness(0.85, "a handle and a mail address of one name", most=0.85) if alike else NOTHING
    handle, name = (one, other) if one.address else (other, one)
    told = "".join(handle.tokens)
    first, last = name.tokens[0], name.tokens[-1]
    if len(name.tokens) == 1:
        return Likeness(0.6, "a name and a handle", partial=True, most=0.85) if told == first else NOTHING
    if told in {name.whole, "".join(name.tokens), first + last, last + first}:
        return Likeness(0.93, "the handle is the name")
    if told in {first[0] + last, first + last[0], last + first[0], last[0] + first}:
        return Likeness(0.78, "the handle is made of an initial and a name", partial=True)
    return NOTHING
