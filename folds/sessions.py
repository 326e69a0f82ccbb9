"""The chain of a session: FIRST_MESSAGE and NEXT_MESSAGE follow from the order (order, id) of all its messages.

An insertion touches only its neighbours: who looks up the place before and after each touched point knows all links
that can have changed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A place in a session, as it is now: the message there (None: it was taken away), and those beside it."""

    session: str
    before: str | None
    here: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Links:
    """Links of a chain: (message, next message) pairs, and (session, first message) pairs."""

    next: frozenset[tuple[str, str]] = frozenset()
    first: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class LinkChanges:
    """What is to be made and what is to go."""

    make: Links
    drop: Links


def wanted(places: Iterable[Neighbours]) -> Links:
    """The links that hold around the touched places."""
    pairs: set[tuple[str, str]] = set()
    first: set[tuple[str, str]] = set()
    for place in places:
        row = [m for m in (place.before, place.here, place.after) if m is not None]
        pairs.update(itertools.pairwise(row))
        if place.before is None and row:
            first.add((place.session, row[0]))
    return Links(frozenset(pairs), frozenset(first))


def changes(want: Links, have: Links) -> LinkChanges:
    """From what is there around the same places to what should be.

    `have` holds every link that leaves or enters a message named in `want.next`, and the first links of its sessions;
    one that has no rival in `want` stays.
    """
    leaving = dict(want.next)
    entering = {b: a for a, b in want.next}
    firsts = {m for _, m in want.first}
    drop_next = {
        (a, b) for a, b in have.next - want.next if leaving.get(a, b) != b or entering.get(b, a) != a or b in firsts
    }
    opened = dict(want.first)
    drop_first = {(s, m) for s, m in have.first - want.first if s in opened or m in entering}
    return LinkChanges(
        make=Links(want.next - have.next, want.first - have.first),
        drop=Links(frozenset(drop_next), frozenset(drop_first)),
    )
