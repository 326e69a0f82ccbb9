"""What several extractors say together is a function of the set: no order of asking has any influence."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from memstream.extractors.merge.claims import triple_of
from memstream.extractors.merge.merging import Voice, unite
from memstream.schemas.extraction import (
    EntityName,
    EntityType,
    ExtractedAssertion,
    ExtractedPreference,
    ExtractedRetraction,
    Extraction,
    Mention,
    Missing,
    Polarity,
)

NAMES = st.sampled_from(["Tom", "Tom Hale", "Hale", "Porto", "Kestrel Freight", "Kestrel"])
ENTITIES = st.builds(EntityName, st.sampled_from(list(EntityType)[:3]), NAMES)
USED = st.sampled_from([(), ("e1",), ("e1", "e2")])


@st.composite
def mentions(draw: st.DrawFn) -> Mention:
    """A span of a short text."""
    entity, start, length = draw(ENTITIES), draw(st.integers(0, 12)), draw(st.integers(1, 6))
    return Mention(entity, entity.name, start, start + length, draw(USED))


FACTS = st.builds(
    ExtractedAssertion,
    ENTITIES,
    st.sampled_from(["lives_in", "knows", "owns", "owned_by", "visited"]),
    ENTITIES | st.sampled_from(["3", "blue"]),
    st.booleans(),
    st.sampled_from([None, "2026", "2026-03"]),
    st.sampled_from([None, "2027"]),
    st.sampled_from([0.5, 0.8, 1.0]),
    used=USED,
    rule=st.sampled_from(["a", "b"]),
)
TASTES = st.builds(ExtractedPreference, ENTITIES, st.sampled_from(Polarity), st.sampled_from(["tea", "Tea", "milk"]))
SAID = st.builds(
    Extraction,
    mentions=st.lists(mentions(), max_size=4).map(tuple),
    assertions=st.lists(FACTS, max_size=4).map(tuple),
    retractions=st.lists(st.builds(ExtractedRetraction, ENTITIES, st.just("lives_in"), ENTITIES), max_size=1).map(
        tuple
    ),
    preferences=st.lists(TASTES, max_size=3).map(tuple),
    missing=st.sampled_from([(), (Missing("m", 5, "timeout"),)]),
)
VOICES = st.lists(SAID, min_size=1, max_size=4).map(
    lambda said: [Voice(f"x{rank}", rank, one) for rank, one in enumerate(said)]
)


@settings(max_examples=examples(300))
@given(voices=VOICES, data=st.data())
def test_the_order_of_asking_makes_no_difference(voices: list[Voice], data: st.DataObject) -> None:
    """Rank alone decides."""
    assert unite(data.draw(st.permutations(voices))) == unite(voices)


@settings(max_examples=examples(200))
@given(voices=VOICES)
def test_what_stands_is_sound(voices: list[Voice]) -> None:
    """No two mentions overlap, no fact comes twice, none is said and denied by two, nobody missing is forgotten."""
    united = unite(voices)
    speaking = [one for one in voices if replace(one.said, missing=()) != Extraction()]
    assert {one.extractor for one in united.missing} == {m.extractor for one in voices for m in one.said.missing}
    if len(speaking) < 2:
        assert united == replace(speaking[0].said if speaking else Extraction(), missing=united.missing)
        return
    spans = [(one.start, one.end) for one in united.mentions]
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert len(set(united.assertions)) == len(united.assertions)


@settings(max_examples=examples(200))
@given(first=SAID, second=SAID)
def test_who_only_names_takes_no_fact_of_a_stronger_one_away(first: Extraction, second: Extraction) -> None:
    """A weaker one adds; of the strongest's own facts each is there, under the name that was settled on."""
    weak = Extraction(mentions=first.mentions)
    united = unite([Voice("weak", 0, weak), Voice("strong", 1, second)])
    known = {(triple_of(a.subject, a.predicate, a.object).predicate, a.negated) for a in second.assertions}
    assert {(triple_of(a.subject, a.predicate, a.object).predicate, a.negated) for a in united.assertions} == known
