"""Tastes and standing instructions: whose they are, what is liked, avoided or preferred, and what is none."""

from __future__ import annotations

import datetime as dt

import pytest

from memstream.extractors.rules.taste_words import gerund, trim
from memstream.extractors.spacy_extractor import SpacyExtractor, create
from memstream.schemas.extraction import SessionTurns, Turn


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    """One for all: the model is loaded once."""
    return create()


def held(extractor: SpacyExtractor, *texts: str) -> list[str]:
    """The preferences of a session of user messages, one a line."""
    time = dt.datetime(2026, 3, 4, 10, tzinfo=dt.UTC)
    turns = [Turn(f"m{n}", "user", "user", text, time) for n, text in enumerate(texts)]
    [said] = extractor.extract([SessionTurns(b"", turns)])
    return [
        f"{p.holder.name} {p.polarity.value} {p.object}" + (f" over {p.over}" if p.over else "")
        for extraction in said.extractions
        for p in extraction.preferences
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I love figs and I hate coriander.", ["user like figs", "user dislike coriander"]),
        ("Clay I adore.", ["user like Clay"]),
        ("I don't like aubergines.", ["user dislike aubergines"]),
        ("I'm not a big fan of opera.", ["user dislike opera"]),
        ("I'm fond of black tea.", ["user like black tea"]),
        ("I'm sick of meetings.", ["user dislike meetings"]),
        ("Maria Lopez hates being called before ten.", ["Maria Lopez dislike being called before ten"]),
        ("Maria Lopez likes to be met on the platform.", ["Maria Lopez like being met on the platform"]),
        ("I prefer rail to road.", ["user prefer rail over road"]),
        ("I'd rather eat at seven than at nine.", ["user prefer eating at seven over at nine"]),
        ("Maria Lopez can't stand slides.", ["Maria Lopez dislike slides"]),
        ("My favourite cheese is Comté.", ["user like Comté"]),
    ],
)
def test_a_taste_has_a_holder_and_an_object(extractor: SpacyExtractor, text: str, expected: list[str]) -> None:
    """Verbs and idioms give who likes, avoids or prefers what, whoever it is and wherever the object stands."""
    assert held(extractor, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Do you like figs?",
        "I don't mind figs.",
        "I would love to see Porto.",
        "If Maria Lopez loves figs, buy some.",
        "Apparently Maria Lopez hates figs.",
        "I used to love figs.",
        "Anders took over from Maria Lopez.",
        "She is over 70 and looking over my shoulder.",
        "We like it better there.",
    ],
)
def test_what_is_no_taste_gives_none(extractor: SpacyExtractor, text: str) -> None:
    """Questions, indifference, wishes, conditions, hearsay, what is over, and "over" that compares nothing."""
    assert held(extractor, text) == []


def test_a_note_goes_on_about_whom_it_named(extractor: SpacyExtractor) -> None:
    """Verbs without a subject belong to the one the note is about, and each item of a list is a taste."""
    said = held(extractor, "Guest card for Maria Lopez. Loves: figs, jazz. Hates: lilies.")
    assert said == ["Maria Lopez like figs", "Maria Lopez like jazz", "Maria Lopez dislike lilies"]


def test_a_standing_rule_is_a_preference(extractor: SpacyExtractor) -> None:
    """House rules in the imperative hold for the one who gives them."""
    said = held(extractor, "House rules: never suggest renaming variables. No calls before ten, ever.")
    assert said == ["user dislike suggesting renaming variables", "user dislike calls before ten"]


def test_an_order_for_once_is_none(extractor: SpacyExtractor) -> None:
    """What is to be done now is no standing choice."""
    assert held(extractor, "Book the 442 for Friday and send me the slides.") == []


def test_objects_are_written_plainly() -> None:
    """No articles before and fillers behind; an act by its noun."""
    assert trim("the warm ones, too") == "warm ones"
    assert [gerund(v) for v in ("walk", "write", "run", "be", "lie", "see", "eat")] == [
        "walking", "writing", "running", "being", "lying", "seeing", "eating",
    ]  # fmt: skip
