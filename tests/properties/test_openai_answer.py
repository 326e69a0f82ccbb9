"""Whatever a model answers to whatever text: nothing breaks, and nothing is asserted that is not in the text."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from examples import examples
from fake_model import NOTHING, entity, fact, preference
from hypothesis import given, settings
from hypothesis import strategies as st

from memstream.extractors.plugins.openai_answer import NoAnswer, believed
from memstream.extractors.plugins.openai_request import Earlier
from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import EntityName, EntityType, Turn

NOW = datetime(2026, 3, 6, tzinfo=UTC)
EARLIER = (
    Earlier("k1", "user", "Bo", "Mara Lind works at Ilex."),
    Earlier("k2", "assistant", "bot", "Where do you live?"),
)
WORDS = st.sampled_from(
    ["Ana", "ana", "Bo", "Mara Lind", "Porto", "porto", "İstanbul", "ß", "I", "she", "3", "Ilex", "", " "]
)
PHRASE = st.lists(WORDS, max_size=4).map(" ".join)
END = st.tuples(WORDS, st.sampled_from([*EntityType, "value", "City"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | PHRASE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PHRASE, inner, max_size=3),
    max_leaves=6,
)
FACTS = st.builds(
    fact,
    END,
    st.sampled_from([*[*catalogue().predicates][:12], "adores"]),
    END,
    PHRASE,
    uses=st.lists(st.integers(0, 3), max_size=2),
    confidence=st.sampled_from([0.2, 0.9, 1]),
)
TASTES = st.builds(preference, WORDS, st.sampled_from(["like", "adore"]), PHRASE, PHRASE)
NAMED = st.builds(entity, WORDS, st.sampled_from(["Person", "Location", "City"]), PHRASE)
ANSWERS = st.fixed_dictionaries(
    {
        "entities": st.lists(NAMED | JSON, max_size=4),
        "facts": st.lists(FACTS | JSON, max_size=4),
        "preferences": st.lists(TASTES | JSON, max_size=3),
    }
)


@settings(max_examples=examples(120))
@given(text=PHRASE | st.text(max_size=30), answer=ANSWERS)
def test_what_is_asserted_stands_in_the_text(text: str, answer: dict[str, Any]) -> None:
    """Names stand in the message, or in an earlier one that is then used, or are the speaker's."""
    said = believed(orjson.dumps(answer).decode(), Turn("k", "user", "Ana", text, NOW), EARLIER)
    plain = text.casefold()
    spans = [(one.start, one.end) for one in said.mentions]
    assert all(text[one.start : one.end] == one.text for one in said.mentions)
    assert spans == sorted(spans)
    shown = {one.event_id: f"{one.speaker} {one.text}".casefold() for one in EARLIER}
    for row in said.assertions:
        known = catalogue().predicates[row.predicate]
        assert row.subject.type.value in known.subject
        assert known.value if isinstance(row.object, str) else row.object.type.value in known.object
        for end in (row.subject, row.object):
            name = end.name if isinstance(end, EntityName) else end
            if name.casefold() not in plain and name != "Ana":
                assert any(name.casefold() in shown[key] for key in row.used)
    assert {key for row in said.assertions for key in row.used} <= set(shown)


@settings(max_examples=examples(80))
@given(
    content=JSON.map(lambda value: orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()) | st.text(max_size=40)
)
def test_what_is_not_of_the_form_is_no_answer(content: str) -> None:
    """It raises NoAnswer and nothing else."""
    try:
        said = believed(content, Turn("k", "user", "Ana", "Ana lives in Porto.", NOW), EARLIER)
    except NoAnswer:
        return
    assert not said.missing


def test_an_answer_without_measure_takes_bounded_time() -> None:
    """Hundreds of names that each stand at thousands of places, in the longest text that is shown."""
    text = "ab ba aa bb " * 1_000
    names = [" ".join(text.split()[n : n + 1 + n % 7]) for n in range(600)]
    answer = {
        **NOTHING,
        "entities": [entity(name, "Person") for name in names],
        "facts": [fact((name, "Person"), "knows", ("aa bb", "Person"), name) for name in names],
    }
    began = time.monotonic()
    said = believed(orjson.dumps(answer).decode(), Turn("k", "user", "Ana", text, NOW), EARLIER)
    assert time.monotonic() - began < 20
    assert said.mentions


@pytest.mark.parametrize("text", ["İ lives in PORTO", "ß Porto", "Porto\n  Alegre"])
def test_places_fit_where_letters_change_their_length(text: str) -> None:
    """Upper and lower case of some letters have different lengths: the span is that of the text all the same."""
    name = "porto alegre" if "Alegre" in text else "porto"
    answer = {**NOTHING, "entities": [entity(name, "Location")]}
    said = believed(orjson.dumps(answer).decode(), Turn("k", "user", "Ana", text, NOW), ())
    assert [text[one.start : one.end].casefold().split() for one in said.mentions] == [name.split()]
