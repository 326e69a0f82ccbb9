"""Slots, claims, keys and sentences of assertions."""

from __future__ import annotations

import pytest

from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import EntityName, EntityType, Polarity
from memstream.schemas.ids import entity_id
from memstream.streams.projection.claims import claim_of, literal_key, preference_slot, preference_value
from memstream.streams.projection.phrases import PHRASES, fact_text, preference_text

SCOPE = "acme/u-1"
MARA, TOM = EntityName(EntityType.PERSON, "Mara"), EntityName(EntityType.PERSON, "Tom")
LEIPZIG, PORTO = EntityName(EntityType.LOCATION, "Leipzig"), EntityName(EntityType.LOCATION, "Porto")


def test_values_of_a_single_valued_predicate_share_a_slot() -> None:
    """Two homes compete, two claims; two pets stand side by side in slots of their own."""
    leipzig, porto = claim_of(SCOPE, MARA, "lives_in", LEIPZIG), claim_of(SCOPE, MARA, "lives_in", PORTO)
    assert leipzig.single
    assert leipzig.slot == porto.slot
    assert leipzig.claim != porto.claim
    cat, dog = claim_of(SCOPE, MARA, "has_pet", "a cat"), claim_of(SCOPE, MARA, "has_pet", "a dog")
    assert not cat.single
    assert cat.slot != dog.slot


def test_slots_are_of_one_scope_subject_and_predicate() -> None:
    """Nothing of another scope, subject or predicate meets in a slot."""
    slots = {
        claim_of(scope, subject, predicate, LEIPZIG).slot
        for scope in (SCOPE, "acme/u-2")
        for subject in (MARA, TOM)
        for predicate in ("lives_in", "born_in")
    }
    assert len(slots) == 8


def test_spellings_of_one_value_are_one_claim() -> None:
    """Names and literals count in their normal form."""
    said, again = claim_of(SCOPE, MARA, "has_role", "the CTO"), claim_of(SCOPE, MARA, "has_role", "cto")
    assert (said.claim, said.slot) == (again.claim, again.slot)
    shouting = EntityName(EntityType.PERSON, "MARA")
    assert claim_of(SCOPE, shouting, "lives_in", LEIPZIG).slot == claim_of(SCOPE, MARA, "lives_in", LEIPZIG).slot


@pytest.mark.parametrize("predicate", ["knows", "partner_of", "friend_of", "sibling_of"])
def test_a_symmetric_predicate_has_one_direction(predicate: str) -> None:
    """Whoever is named first, it is one claim."""
    assert claim_of(SCOPE, MARA, predicate, TOM) == claim_of(SCOPE, TOM, predicate, MARA)
    assert claim_of(SCOPE, MARA, predicate, "Tom").subject.name == "Mara"


@pytest.mark.parametrize(
    ("said", "stored"),
    [("child_of", "parent_of"), ("manages", "managed_by"), ("employs", "works_at"), ("founded_by", "founded")],
)
def test_an_inverse_predicate_is_stored_the_other_way_round(said: str, stored: str) -> None:
    """The direction that the catalogue states first is the stored one."""
    assert claim_of(SCOPE, MARA, said, TOM) == claim_of(SCOPE, TOM, stored, MARA)
    assert claim_of(SCOPE, TOM, stored, MARA).predicate == stored


def test_a_predicate_outside_the_catalogue_is_open_and_holds_many() -> None:
    """`plays` is a slot for each object."""
    claim = claim_of(SCOPE, MARA, "plays", "chess")
    assert claim.open
    assert not claim.single


def test_an_entity_is_a_value_by_its_id() -> None:
    """The value key of an entity is its id, that of a literal its normal form."""
    assert claim_of(SCOPE, MARA, "lives_in", LEIPZIG).value_key == entity_id(SCOPE, "Location", "leipzig")
    assert claim_of(SCOPE, MARA, "has_version", "5.5.1").value_key == "5.5.1"


def test_long_literals_keep_their_difference() -> None:
    """Two texts that begin alike for longer than a name may be are two values, of bounded keys."""
    one, other = "x" * 600 + "a", "x" * 600 + "b"
    assert literal_key(one) != literal_key(other)
    assert len(literal_key("x" * 4_000)) < 512


def test_preferences_meet_by_holder_object_and_context() -> None:
    """A changed mind is another value in the same slot; another context is another slot."""
    holder = entity_id(SCOPE, "Person", "Mara")
    assert preference_slot(SCOPE, holder, "The tea", None) == preference_slot(SCOPE, holder, "tea", None)
    assert preference_slot(SCOPE, holder, "tea", "mornings") != preference_slot(SCOPE, holder, "tea", None)
    assert len({preference_value("like", None), preference_value("prefer", None), preference_value("prefer", "x")}) == 3


def test_every_predicate_of_the_catalogue_has_its_words() -> None:
    """Each reads as a sentence, said and denied."""
    assert set(PHRASES) == set(catalogue().predicates)


@pytest.mark.parametrize(
    ("predicate", "said", "denied"),
    [
        ("lives_in", "Mara lives in Leipzig", "Mara does not live in Leipzig"),
        ("play", "Mara plays Leipzig", "Mara does not play Leipzig"),
        ("carry", "Mara carries Leipzig", "Mara does not carry Leipzig"),
        ("teach", "Mara teaches Leipzig", "Mara does not teach Leipzig"),
        ("report_to", "Mara reports to Leipzig", "Mara does not report to Leipzig"),
        ("aunt_of", "Mara is aunt of Leipzig", "Mara is not aunt of Leipzig"),
        ("is_paid_by", "Mara is paid by Leipzig", "Mara is not paid by Leipzig"),
        ("likes", "Mara likes Leipzig", "Mara not: likes Leipzig"),
    ],
)
def test_facts_read_as_sentences(predicate: str, said: str, denied: str) -> None:
    """Names, and the words of the predicate."""
    assert fact_text("Mara", predicate, "Leipzig", negated=False) == said
    assert fact_text("Mara", predicate, "Leipzig", negated=True) == denied


def test_preferences_read_as_sentences() -> None:
    """Tastes and standing instructions; braces in them are text."""
    assert (
        preference_text("Mara", Polarity.PREFER, "tea", "coffee", "at work") == "Mara prefers tea over coffee (at work)"
    )
    assert preference_text("Mara", Polarity.NEVER, "force-push {x}", None, None) == "Mara: never force-push {x}"
