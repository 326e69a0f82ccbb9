"""The fitted model's word on what the rules say, and what only it sees."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import resources
from itertools import pairwise

import numpy as np
import pytest

from memstream.extractors.models.hashing import hashed
from memstream.extractors.models.judge import ADD, KEEP
from memstream.extractors.models.relation_model import BUCKETS, NONE, RelationModel, relation_model
from memstream.extractors.spacy_extractor import SpacyExtractor
from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import EntityName, Extraction, SessionTurns, Turn

NOW = datetime(2026, 1, 14, 10, 0, tzinfo=UTC)


def read(text: str, *, judged: bool = True) -> Extraction:
    """What a user's only message says, with or without the model's last word."""
    extractor = SpacyExtractor() if judged else SpacyExtractor(judged=lambda _: None)
    turn = Turn("m1", "user", "user", text, NOW)
    return extractor.extract([SessionTurns(b"", [turn])])[0].extractions[0]


def triples(extraction: Extraction) -> set[tuple[str, str, str]]:
    """Subject, predicate and object of all that is asserted."""
    return {
        (a.subject.name, a.predicate, a.object.name if isinstance(a.object, EntityName) else a.object)
        for a in extraction.assertions
    }


def test_it_finds_what_no_rule_says() -> None:
    """A note in the manner of the training dialogues, without a verb."""
    found = [a for a in read("Amira: 41, dentist, Oslo.").assertions if a.rule == "model"]
    assert [(a.subject.name, a.predicate, a.object) for a in found] == [("Amira", "has_age", "41")]
    assert ADD <= found[0].confidence < 1
    assert ("Amira", "has_age", "41") not in triples(read("Amira: 41, dentist, Oslo.", judged=False))


def test_it_takes_back_what_it_does_not_believe() -> None:
    """A rule's reading that the annotated dialogues speak against."""
    text = "Kofi Mensah (product manager, Accra) owns the roadmap."
    taken_back = triples(read(text, judged=False)) - triples(read(text))
    assert taken_back == {("Kofi Mensah", "owns", "roadmap")}


@pytest.mark.parametrize(
    "text",
    [
        "Anna works at Siemens as a nurse.",
        "My sister Lena has a dog called Biscuit.",
        "Payments-gw depends on Postgres 14.",
        "I live in Porto and I work at Acme.",
    ],
)
def test_what_is_plainly_said_stays(text: str) -> None:
    """The model has nothing against the plain statements that the rules were written for."""
    assert triples(read(text, judged=False)) <= triples(read(text))


@pytest.mark.parametrize(
    "text",
    [
        "Does Anna live in Porto?",
        "If Anna lived in Porto, she would work at Siemens.",
        "Maybe Anna owns the boat.",
        "I wish Ravi were our manager.",
    ],
)
def test_it_adds_nothing_that_a_clause_does_not_assert(text: str) -> None:
    """Questions, conditions, hedges and wishes are no facts for the model either."""
    assert triples(read(text)) == set()


def test_it_keeps_to_the_catalogue() -> None:
    """Each class is a predicate of the catalogue."""
    assert [name for name in relation_model().classes if name != NONE and name not in catalogue()] == []
    assert relation_model().classes[0] == NONE


def test_scores_do_not_depend_on_their_neighbours() -> None:
    """One by one or together: the same numbers, each row a distribution."""
    named = [["bias", f"w={word}", "order=so"] for word in ("own", "live", "work", "marry")]
    together = relation_model().scores(named)
    assert np.array_equal(together, np.vstack([relation_model().scores([one]) for one in named]))
    assert np.allclose(together.sum(axis=1), 1, atol=0.01)


def test_best_is_among_what_was_seen_of_such_a_pair() -> None:
    """A relation that no annotated pair of these kinds stands in is none, however likely."""
    model = RelationModel(
        np.zeros(BUCKETS, np.int32), np.zeros((1, 3), np.float32), [NONE, "owns", "knows"], {"Person>Object": [1]}
    )
    score = np.array([0.1, 0.2, 0.7], np.float32)
    best, sure = model.best(score, "Person>Object")
    assert (best, round(sure, 3)) == ("owns", 0.2)
    assert model.best(score, "Person>date") == (NONE, 0.0)
    assert model.of(score, "allergic_to") is None


def test_an_addition_must_be_surer_than_what_a_rule_said() -> None:
    """A wrong memory costs more than a missing one."""
    assert KEEP < ADD


def test_buckets_are_the_same_everywhere() -> None:
    """A feature's bucket is fixed by its name alone, as the stored weights need it."""
    assert hashed(["bias", "w=own"], BUCKETS).tolist() == [181453, 223835]


def test_the_file_is_ordered() -> None:
    """Each bucket stands in the file once, in order."""
    with (resources.files("memstream.extractors") / "data" / "relations.npz").open("rb") as f:
        stored = np.load(f)["buckets"].tolist()
    assert all(a < b for a, b in pairwise(stored))


def test_it_gives_no_second_value_where_one_can_hold() -> None:
    """Where a rule has said where someone lives, the model names no other place in the same text."""
    lives = [t for t in triples(read("I live in Porto since the office in Braga closed.")) if t[1] == "lives_in"]
    assert lives == [("user", "lives_in", "Porto")]


@pytest.mark.parametrize("text", ["¹", "Ana is ² years old.", "Version ³ of the plan", "①②③", "٣ cats"])
def test_digits_of_all_kinds_are_read(text: str) -> None:
    """What looks like a digit and is no number to Python fails nowhere."""
    read(text)
