"""The attribute ruler with a memo: what spaCy's own says, on every text, the first time and the second."""

from __future__ import annotations

import numpy as np
import orjson
import pytest
import spacy
from spacy.pipeline import AttributeRuler

from memstream.deploy.story import story_lines
from memstream.extractors.parse.pipeline import load_bare
from memstream.extractors.parse.ruler import RULER, MemoRuler, remember

PARTS: list[int | str] = ["TAG", "POS", "DEP", "MORPH", "LEMMA"]
ODD = ["gonna go", "Let's  go\n\n!", "I ain't, y'all: there is nothin' and it gets me", "c'mon", "", " ", "gotta"]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """What the sample story says, and what patterns over several tokens are for."""
    said = [text for line in story_lines() if isinstance(text := orjson.loads(line)["data"].get("content"), str)]
    assert len(said) > 200
    return said + ODD


def test_annotations_are_those_of_spacys_own(texts: list[str]) -> None:
    """Twice over the texts: without a memo, and with it."""
    usual, ours = load_bare()[0], load_bare()[0]
    remember(ours)
    assert isinstance(ours.get_pipe(RULER), MemoRuler)
    wanted = [doc.to_array(PARTS) for doc in usual.pipe(texts)]
    for _ in range(2):
        found = [doc.to_array(PARTS) for doc in ours.pipe(texts)]
        assert all(np.array_equal(one, other) for one, other in zip(found, wanted, strict=True))


def test_matches_are_those_of_spacys_own(texts: list[str]) -> None:
    """Which rule, where: in the same order, since later ones win."""
    nlp = load_bare()[0]
    usual = nlp.get_pipe(RULER)
    assert isinstance(usual, AttributeRuler)
    ours = MemoRuler(nlp.vocab, "ours")
    ours.add_patterns(usual.patterns)
    for doc in nlp.pipe(texts, disable=["lemmatizer", "ner"]):
        assert ours.match(doc) == usual.match(doc)


def test_a_pipeline_without_a_ruler_stays_as_it_is() -> None:
    """Another model may have none."""
    nlp = spacy.blank("en")
    remember(nlp)
    assert nlp.pipe_names == []
