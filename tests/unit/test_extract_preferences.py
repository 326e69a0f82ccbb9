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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("House rules for the bot. Metric. Single quotes.", ["user prefer Metric", "user prefer Single quotes"]),
        ("Style notes. Graphs first, prose second.", ["user prefer Graphs over prose"]),
        ("My rules for the reports. Answers by mail, never by phone.", ["user prefer mail over phone"]),
        ('House style, please keep. Never "iconic".', ["user dislike iconic"]),
        ("Preferences page. Lilies: never. Squats yes, lunges no.",
         ["user dislike Lilies", "user like Squats", "user dislike lunges"]),
        ("Hotels for Maria Lopez, keep this for every trip. Courtyard rooms over street rooms.",
         ["Maria Lopez prefer Courtyard rooms over street rooms"]),
        ("Settings. No to surprises.", ["user dislike surprises"]),
    ],
)  # fmt: skip
def test_notes_name_what_is_wanted(extractor: SpacyExtractor, text: str, expected: list[str]) -> None:
    """After a sentence that says that rules follow, what stands alone is one; they are of whom the notes are for."""
    assert sorted(held(extractor, text)) == sorted(expected)


@pytest.mark.parametrize(
    "text",
    [
        "Metric. Single quotes.",
        "Cork, no. It's in Cobh.",
        "Jira: due 30 June.",
        "House rules for the bot. Maria Lopez. See you tomorrow.",
        "She'd rather stay anonymous.",
        "Maria Lopez is off sick.",
        "HR insists on a newcomer card.",
        "He'll tell you he likes figs.",
    ],
)
def test_what_only_looks_like_a_rule_is_none(extractor: SpacyExtractor, text: str) -> None:
    """Fragments without such a sentence, denials, deadlines, names, and what is of one occasion."""
    assert held(extractor, text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Get bread, the plum jam Maria Lopez likes, and a card.", ["Maria Lopez like plum jam"]),
        ("It is owned by Maria Lopez, who hates gyms.", ["Maria Lopez dislike gyms"]),
        ("Maria Lopez loves anything with chilli in it.", ["Maria Lopez like chilli"]),
        ("I have quite gone off open plan.", ["user dislike open plan"]),
        ("id rather run than swim", ["user prefer run over swim"]),
        ("Please stop suggesting true crime.", ["user dislike true crime"]),
    ],
)
def test_a_taste_in_passing_is_one(extractor: SpacyExtractor, text: str, expected: list[str]) -> None:
    """In relative clauses with and without their pronoun, by what a thing is made of, and in the words of chat."""
    assert held(extractor, text) == expected
