"""Which of the spans that several extractors name stand, and which names turn out to be one."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memstream.schemas.extraction import EntityName, Mention, SameAs
from memstream.schemas.names import normalise_name

Said = tuple[int, EntityName]
"""An entity as one extractor knows it: its place among them (0 is the strongest), and the name it gives."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The mentions that stand; the names that others get; those that a stronger one names otherwise; what is one."""

    mentions: tuple[Mention, ...]
    names: dict[Said, EntityName]
    disputed: frozenset[Said]
    same_as: tuple[SameAs, ...]


@dataclass(slots=True)
class _Taken:
    """Spans that do not overlap, found by their place."""

    starts: list[tuple[int, int]] = field(default_factory=list)  # start, and index of the mention
    held: list[tuple[int, Mention]] = field(default_factory=list)  # whose, and the mention

    def over(self, start: int, end: int) -> list[tuple[int, Mention]]:
        """What overlaps with a span that is no longer than any that is taken: one before it and one behind at most."""
        at = bisect_right(self.starts, (start, len(self.held)))
        near = [self.held[index] for _, index in self.starts[max(at - 1, 0) : at + 1]]
        return [(rank, one) for rank, one in near if one.start < end and start < one.end]

    def take(self, rank: int, mention: Mention) -> None:
        """It stands."""
        insort(self.starts, (mention.start, len(self.held)))
        self.held.append((rank, mention))


def settle(said: Sequence[Sequence[Mention]]) -> Settled:
    """The longest of spans that overlap, of equal ones the strongest's; `said` has the strongest's mentions first."""
    everything = [(rank, mention) for rank, mentions in enumerate(said) for mention in mentions]
    everything.sort(key=_weight)
    taken = _Taken()
    became: dict[Said, set[Said | None]] = {}  # what each entity's spans became: its own, another's, or nobody's
    helped: dict[tuple[Said, Said], tuple[str, ...]] = {}
    for rank, mention in everything:
        own = (rank, mention.entity)
        over = taken.over(mention.start, mention.end)
        if not over:
            taken.take(rank, mention)
            became.setdefault(own, set()).add(own)
            continue
        other = _heir(mention, over)
        if other is None and not any(whose < rank for whose, _ in over):
            other = own  # only weaker ones name it otherwise
        became.setdefault(own, set()).add(other)
        if other is not None and other != own:
            used = next(one.used for whose, one in over if (whose, one.entity) == other)
            helped.setdefault((own, other), tuple(dict.fromkeys((*mention.used, *used))))
    names = _names(became)
    same_as = [
        SameAs(own[1], names[own], used) for (own, _), used in helped.items() if own in names and names[own] != own[1]
    ]
    mentions = [_named(mention, names.get((rank, mention.entity))) for rank, mention in taken.held]
    return Settled(
        mentions=tuple(sorted(mentions, key=lambda one: (one.start, one.end))),
        names={own: name for own, name in names.items() if name != own[1]},
        disputed=frozenset(own for own, all_of in became.items() if all_of == {None}),
        same_as=tuple(dict.fromkeys(same_as)),
    )


def longest(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """Of one extractor's mentions those that stand where some overlap: the longest, each place once."""
    taken = _Taken()
    for _, mention in sorted(((0, one) for one in mentions), key=_weight):
        if not taken.over(mention.start, mention.end):
            taken.take(0, mention)
    return tuple(sorted((one for _, one in taken.held), key=lambda one: one.start))


def _weight(said: tuple[int, Mention]) -> tuple[int, int, int, str, str]:
    rank, one = said
    return one.start - one.end, rank, one.start, one.entity.type.value, one.entity.name


def _heir(mention: Mention, over: list[tuple[int, Mention]]) -> Said | None:
    """Whose entity a mention that does not stand is: of the same span, or a longer one of its type; else nobody's."""
    for rank, one in over:
        same_span = (one.start, one.end) == (mention.start, mention.end)
        if (same_span or one.entity.type is mention.entity.type) and akin(one.entity.name, mention.entity.name):
            return rank, one.entity
    return None


def akin(a: str, b: str) -> bool:
    """Whether one name is the other, or begins or ends it by whole words: "Hale" and "Tom Hale"."""
    short, long = sorted((normalise_name(a).split(), normalise_name(b).split()), key=len)
    return bool(short) and short in (long[: len(short)], long[-len(short) :])


def _names(became: dict[Said, set[Said | None]]) -> dict[Said, EntityName]:
    """One name for all that became one. An entity whose spans became several things stays what it was."""
    parent: dict[Said, Said] = {own: own for own in became}

    def root(one: Said) -> Said:
        while parent[one] != one:
            one = parent[one]
        return one

    for own, all_of in became.items():
        others = {other for other in all_of if other is not None and other != own}
        if len(others) == 1 and None not in all_of:
            [other] = others
            low, high = sorted((root(own), root(other)), key=_strength)
            parent[high] = low
    groups: dict[Said, list[Said]] = {}
    for own in became:
        groups.setdefault(root(own), []).append(own)
    return {own: name for group in groups.values() for name in [_best(group)] for own in group}


def _best(group: list[Said]) -> EntityName:
    """The type that the strongest gives, under the longest name."""
    strongest = min(group, key=_strength)[1]
    longest = min(group, key=lambda one: (-len(one[1].name), *_strength(one)))[1]
    subtype = strongest.subtype or longest.subtype
    return EntityName(strongest.type, longest.name, subtype)


def _strength(one: Said) -> tuple[int, int, str, str]:
    rank, entity = one
    return rank, -len(entity.name), entity.type.value, entity.name


def _named(mention: Mention, name: EntityName | None) -> Mention:
    if name is None or name == mention.entity:
        return mention
    return Mention(name, mention.text, mention.start, mention.end, mention.used)
