"""What several extractors say of one message, made one. A pure function of the set of what each says, and its rank.

The one that is named last in the setting ranks highest, "the stronger" below: the model in `spacy+gliner+openai`.

- **One alone** says something: it stands as it is.
- **The same span**: one mention. Where types or names differ, the stronger's; what was said of the other is said of it.
- **Overlapping spans**: the longest; of two as long the stronger's. Where both are of one type, and one name begins or
  ends the other, they are one, under the longer name.
- **Two names for one span**, neither part of the other: the stronger's. What the weaker says of an entity that only
  such spans name is left out.
- **What turned out to be one** is linked, so that messages that know it by the other name or type lead to it.
- **The same fact**: one, with the greater confidence, the finer times and the least help of earlier messages.
- **Said and denied**: the stronger's.
- **Several values of a single-valued predicate**: those of the strongest that says any; others' values are left out.
- **Preferences**: one for holder, object and context; where they contradict, the stronger's.
- **What is taken back**: by any of them.
- **Order**: the strongest's own, then what only the next one says, in its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from memstream.extractors.merge.claims import Slot, Triple, preference_slot, slot_of, triple_of
from memstream.extractors.merge.spans import Settled, settle
from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import (
    EntityName,
    ExtractedAssertion,
    ExtractedPreference,
    ExtractedRetraction,
    Extraction,
)

_JOINT = "+"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Voice:
    """What one extractor says of a message. Ranks differ."""

    name: str
    rank: int
    said: Extraction


def unite(voices: Collection[Voice]) -> Extraction:
    """What they say together; see the table of the module."""
    loudest = sorted(voices, key=lambda voice: -voice.rank)
    speaking = [voice for voice in loudest if _says_something(voice.said)]
    if len(speaking) > 1:
        united = _united([voice.said for voice in speaking])
    else:
        united = speaking[0].said if speaking else Extraction()
    missing = {one.extractor: one for voice in loudest for one in voice.said.missing}
    return replace(
        united,
        cut=_once(cut for voice in reversed(loudest) for cut in voice.said.cut),
        missing=tuple(missing[name] for name in sorted(missing)),
        outcomes=tuple(outcome for voice in loudest for outcome in voice.said.outcomes),
    )


def _says_something(said: Extraction) -> bool:
    return any((said.mentions, said.assertions, said.retractions, said.preferences, said.same_as))


def _united(said: list[Extraction]) -> Extraction:
    """Of several that say something, the strongest first."""
    settled = settle([one.mentions for one in said])
    renamed = [_renamed(one, settled, rank) for rank, one in enumerate(said)]
    return Extraction(
        mentions=settled.mentions,
        assertions=_facts([one.assertions for one in renamed]),
        retractions=_once(row for one in renamed for row in one.retractions),
        preferences=_preferences([one.preferences for one in renamed]),
        same_as=_once((*(row for one in renamed for row in one.same_as), *settled.same_as)),
    )


def _renamed(said: Extraction, settled: Settled, rank: int) -> Extraction:
    """With the names that were settled on, and without what is said of what nobody stronger knows."""

    def name(entity: EntityName) -> EntityName:
        return settled.names.get((rank, entity), entity)

    def end(value: EntityName | str) -> EntityName | str:
        return value if isinstance(value, str) else name(value)

    def stands(*ends: EntityName | str | None) -> bool:
        return not any((rank, each) in settled.disputed for each in ends if isinstance(each, EntityName))

    return replace(
        said,
        assertions=tuple(
            replace(row, subject=name(row.subject), object=end(row.object))
            for row in said.assertions
            if stands(row.subject, row.object)
        ),
        retractions=tuple(
            ExtractedRetraction(name(row.subject), row.predicate, end(row.object), row.used)
            for row in said.retractions
            if stands(row.subject, row.object)
        ),
        preferences=tuple(
            replace(row, holder=name(row.holder), about=name(row.about) if row.about is not None else None)
            for row in said.preferences
            if stands(row.holder, row.about)
        ),
    )


def _facts(said: list[tuple[ExtractedAssertion, ...]]) -> tuple[ExtractedAssertion, ...]:
    found: dict[tuple[Triple, bool], ExtractedAssertion] = {}
    first: dict[Triple, int] = {}  # who says or denies a triple, the strongest
    holders: dict[Slot, int] = {}  # who has the values of a single-valued slot
    for rank, rows in enumerate(said):
        for row in rows:
            triple = triple_of(row.subject, row.predicate, row.object)
            if first.setdefault(triple, rank) != rank and (triple, row.negated) not in found:
                continue  # denied by a stronger one, or the other way round
            if catalogue().is_single(triple.predicate) and not row.negated:
                holder = holders.setdefault(slot_of(triple), rank)
                if holder != rank and (triple, False) not in found:
                    continue
            key = (triple, row.negated)
            found[key] = _same_fact(found[key], row) if key in found else row
    return tuple(found.values())


def _same_fact(stronger: ExtractedAssertion, weaker: ExtractedAssertion) -> ExtractedAssertion:
    return replace(
        stronger,
        valid_from=_finer(stronger.valid_from, weaker.valid_from),
        valid_to=_finer(stronger.valid_to, weaker.valid_to),
        confidence=max(stronger.confidence, weaker.confidence),
        used=_least_help(stronger.used, weaker.used),
        rule=_JOINT.join(_once(each for row in (stronger, weaker) for each in row.rule.split(_JOINT) if each)),
    )


def _preferences(said: list[tuple[ExtractedPreference, ...]]) -> tuple[ExtractedPreference, ...]:
    found: dict[tuple[Slot, str, str], ExtractedPreference] = {}
    holders: dict[Slot, int] = {}
    for rank, rows in enumerate(said):
        for row in rows:
            slot = preference_slot(row)
            key = (slot, row.polarity.value, (row.over or "").casefold())
            if key in found:
                found[key] = _same_preference(found[key], row)
            elif holders.setdefault(slot, rank) == rank:
                found[key] = row
    return tuple(found.values())


def _same_preference(stronger: ExtractedPreference, weaker: ExtractedPreference) -> ExtractedPreference:
    return replace(
        stronger,
        about=stronger.about or weaker.about,
        confidence=max(stronger.confidence, weaker.confidence),
        used=_least_help(stronger.used, weaker.used),
    )


def _finer(stronger: str | None, weaker: str | None) -> str | None:
    """The stronger's time, unless the weaker tells more of the same, or something where the stronger tells nothing."""
    if stronger is None or (weaker is not None and weaker.startswith(stronger)):
        return weaker
    return stronger


def _least_help(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    return min((len(a), a), (len(b), b))[1]


def _once(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))
