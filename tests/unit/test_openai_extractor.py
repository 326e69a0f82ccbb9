"""The extractor that asks a model, against one that speaks the protocol on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from fake_model import HANG, NOTHING, Failure, FakeModel, entity, fact, fake_model, preference

from memstream.extractors.options import OpenAiOptions, options_of
from memstream.extractors.plugins import openai_client
from memstream.extractors.plugins.openai_model import STEP, OpenAiExtractor
from memstream.schemas.errors import SettingsError
from memstream.schemas.extraction import EntityName, EntityType, Extraction, Polarity, SessionTurns, Turn
from memstream.settings import load

NOW = datetime(2026, 3, 6, 9, 0, tzinfo=UTC)
ANA = ("Ana", "Person")
TEXT = "I work at Kestrel Freight in Porto since March, and I love green tea."
SAID = {
    "entities": [entity("Kestrel Freight", "Organization"), entity("Porto", "Location")],
    "facts": [fact(ANA, "works_at", ("Kestrel Freight", "Organization"), "I work at Kestrel", valid_from="2026-03")],
    "preferences": [preference("Ana", "like", "green tea", "I love green tea")],
}

Make = Callable[..., OpenAiExtractor]


@pytest.fixture
def model() -> Iterator[FakeModel]:
    """A model of this test alone."""
    with fake_model() as made:
        yield made


@pytest.fixture
def make(model: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes extractors that ask it, with little patience, and closes them."""
    monkeypatch.setattr(openai_client, "FIRST_PAUSE", 0.01)
    made: list[OpenAiExtractor] = []

    def one(**more: Any) -> OpenAiExtractor:
        own = OpenAiOptions(model.url, "tiny", tmp_path / "ledger.sqlite", api_key="sk-secret", seconds=5.0)
        made.append(OpenAiExtractor(replace(own, **more)))
        return made[-1]

    yield one
    for extractor in made:
        extractor.close()


def turn(text: str, number: int = 1, role: str = "user", **more: Any) -> Turn:
    """A message of Ana's, or of the assistant."""
    return Turn(f"e{number}", role, "Ana" if role == "user" else role, text, NOW, **more)


def read(extractor: OpenAiExtractor, *turns: Turn) -> list[Extraction]:
    """What is read of one session."""
    [found] = extractor.extract([SessionTurns(b"", list(turns))])
    return found.extractions


def missing(said: Extraction) -> list[str]:
    """Why there is no answer."""
    return [one.why for one in said.missing]


def test_what_the_model_says_is_read_with_its_places(model: FakeModel, make: Make) -> None:
    """Mentions where they stand in the text, facts by the catalogue, preferences, all in one request with a form."""
    model.answers[TEXT] = SAID
    [said] = read(make(), turn(TEXT))
    assert [(m.text, TEXT[m.start : m.end]) for m in said.mentions] == [("Kestrel Freight",) * 2, ("Porto",) * 2]
    [job] = said.assertions
    assert (job.subject.name, job.predicate, job.valid_from, job.confidence) == ("Ana", "works_at", "2026-03", 0.9)
    assert job.object == EntityName(EntityType.ORGANIZATION, "Kestrel Freight")
    assert (job.used, job.rule) == ((), "openai")
    assert [(p.polarity, p.object) for p in said.preferences] == [(Polarity.LIKE, "green tea")]
    assert said.missing == ()
    [body] = model.asked
    assert body["response_format"]["json_schema"]["strict"] is True
    assert (body["temperature"], body["model"]) == (0, "tiny")
    assert model.headers[0]["authorization"] == "Bearer sk-secret"


LEFT_OUT = [
    ("not_in_text", fact(ANA, "works_at", ("Kestrel Freight", "Organization"), "I have joined Kestrel")),
    ("not_in_text", fact(ANA, "works_at", ("Acme", "Organization"), "I work at")),
    ("not_in_text", fact(("Bo", "Person"), "lives_in", ("Porto", "Location"), "in Porto")),
    ("not_in_text", fact(ANA, "works_at", ("Kestrel Fr", "Organization"), "I work at")),  # a half of a word
    ("unknown_predicate", fact(ANA, "adores", ("Porto", "Location"), "in Porto")),
    ("wrong_type", fact(ANA, "lives_in", ("Kestrel Freight", "Organization"), "I work at")),
    ("wrong_type", fact(("Porto", "Location"), "works_at", ("Kestrel Freight", "Organization"), "in Porto")),
    ("wrong_type", fact(ANA, "works_at", ("Porto", "value"), "in Porto")),
    ("no_name", fact(("she", "Person"), "works_at", ("Kestrel Freight", "Organization"), "I work at")),
    ("of_itself", fact(ANA, "knows", ("I", "Person"), "I work at")),
    ("unsure", fact(ANA, "lives_in", ("Porto", "Location"), "in Porto", confidence=0.3)),
    ("malformed", fact(ANA, "lives_in", ("Porto", "Location"), "in Porto", valid_from="next spring")),
    ("malformed", fact(ANA, "lives_in", ("Porto", "Location"), "in Porto", confidence=7)),
    ("malformed", fact(ANA, "lives_in", ("Porto", "Location"), "in Porto", uses=[4])),
    ("malformed", fact(ANA, "lives_in", ("Porto", "City"), "in Porto")),
    ("malformed", {"subject": "Ana"}),
    ("malformed", "Ana works at Kestrel Freight"),
]


@pytest.mark.parametrize(("why", "item"), LEFT_OUT)
def test_what_does_not_fit_is_left_out_and_counted(model: FakeModel, make: Make, why: str, item: Any) -> None:
    """A quote or a name that is not in the text, another predicate, other types: that one goes, the others stay."""
    model.script.append(orjson.dumps({**SAID, "facts": [item, *SAID["facts"]]}).decode())
    [said] = read(make(), turn(TEXT))
    assert [one.predicate for one in said.assertions] == ["works_at"]
    assert ("openai", f"left_out_{why}") in said.outcomes
    assert said.missing == ()


def test_a_name_from_before_is_used_and_said_so(model: FakeModel, make: Make) -> None:
    """A name or a question of an earlier message makes that message one without which this could not be read."""
    asked = turn("Is Mara Lind still your boss at Nimbus?", 1, "assistant")
    model.answers["Yes, she leads it."] = {
        **NOTHING,
        "facts": [fact(("Nimbus", "Organization"), "managed_by", ("Mara Lind", "Person"), "she leads it")],
    }
    model.answers["Porto."] = {**NOTHING, "facts": [fact(ANA, "lives_in", ("Porto", "Location"), "Porto")]}
    extractor = make()
    told = read(
        extractor, asked, turn("Yes, she leads it.", 2), turn("Where do you live?", 3, "assistant"), turn("Porto.", 4)
    )
    assert told[1].assertions[0].used == ("e1",)
    assert told[3].assertions[0].used == ("e3",)
    # what tells of it goes along with the state, however a session is cut
    [first] = extractor.extract([SessionTurns(b"", [asked])])
    [second] = extractor.extract([SessionTurns(first.state, [turn("Yes, she leads it.", 2)])])
    assert second.extractions[0].assertions == told[1].assertions


def test_only_what_may_assert_is_asked_for(model: FakeModel, make: Make) -> None:
    """No assistant's guess, no tool's output, nothing recalled, nobody's silence: asking costs money."""
    said = read(
        make(),
        turn("You live in Porto.", 1, "assistant"),
        turn('{"city": "Porto"}', 2, "tool"),
        turn("Porto is nice.", 3, asserts=False),
        turn("I moved.", 4, silent=True),
        turn("👍 100", 5),
        turn("Ana here.", 6),
    )
    assert model.messages == ["Ana here."]
    assert all(not one.missing for one in said)


def test_an_answer_is_paid_for_once(model: FakeModel, make: Make) -> None:
    """What is read again, since something else in its chunk failed, is remembered."""
    model.answers[TEXT] = SAID
    extractor = make()
    first, again = read(extractor, turn(TEXT)), read(extractor, turn(TEXT))
    assert again[0].assertions == first[0].assertions
    assert len(model.asked) == 1


@pytest.mark.parametrize("content", ["Sure! Here it is:", "{}", '{"entities": [], "facts": 3, "preferences": []}', ""])
def test_an_answer_that_is_not_of_the_form_is_none(model: FakeModel, make: Make, content: str) -> None:
    """Nothing of it is used, and the message lacks the model."""
    model.script.append(content)
    [said] = read(make(), turn(TEXT))
    assert (said.assertions, missing(said)) == ((), ["malformed"])


def test_an_answer_that_was_cut_off_is_none(model: FakeModel, make: Make) -> None:
    """Half a list may lack the half that matters."""
    model.finish_reason, model.answers[TEXT] = "length", SAID
    [said] = read(make(), turn(TEXT))
    assert missing(said) == ["malformed"]


def test_a_model_that_refuses_has_answered(model: FakeModel, make: Make) -> None:
    """It would again: the message lacks nobody."""
    model.refusal = "I can't help with that."
    [said] = read(make(), turn(TEXT))
    assert (missing(said), said.outcomes) == ([], (("openai", "refused"),))


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_passes_is_tried_again(model: FakeModel, make: Make, status: int) -> None:
    """Two failures, then the answer."""
    model.answers[TEXT] = SAID
    model.script.extend([Failure(status), Failure(status)])
    [said] = read(make(), turn(TEXT))
    assert len(said.assertions) == 1
    assert len(model.asked) == 3


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_honoured(model: FakeModel, make: Make, form: str) -> None:
    """No request comes before the time that the endpoint names."""
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    model.script.append(Failure(429, {"retry-after": "1" if form == "seconds" else later}))
    model.answers[TEXT] = SAID
    began = time.monotonic()
    [said] = read(make(), turn(TEXT))
    assert len(said.assertions) == 1
    assert time.monotonic() - began > (0.9 if form == "seconds" else 0.8)


def test_a_retry_after_beyond_the_time_is_not_waited_for(model: FakeModel, make: Make) -> None:
    """The message goes without, and so do others until then, without a request."""
    model.script.append(Failure(429, {"retry-after": "60"}))
    extractor = make()
    began = time.monotonic()
    assert [missing(one) for one in read(extractor, turn(TEXT))] == [["http_429"]]
    assert [missing(one) for one in read(extractor, turn("Another one.", 2))] == [["rate_limit"]]
    assert time.monotonic() - began < 3
    assert len(model.asked) == 1


def test_one_that_hangs_is_given_up(model: FakeModel, make: Make) -> None:
    """After the time that a message may take, all tries together; the others of the call have their answers."""
    model.answers["Hello there."] = NOTHING
    model.script.append(HANG)
    extractor = make(seconds=0.6, parallel=1)
    began = time.monotonic()
    said = read(extractor, turn(TEXT), turn("Hello there.", 2))
    assert [missing(one) for one in said] == [["timeout"], []]
    assert time.monotonic() - began < 3


def test_an_outage_costs_little(model: FakeModel, make: Make) -> None:
    """After some failures in a row nothing is asked for a while; each message says that it lacks the model."""
    model.down = Failure(500)
    extractor = make(parallel=1)
    said = read(extractor, *(turn(f"Message {n} of many.", n) for n in range(40)))
    assert all(one.missing for one in said)
    assert {missing(one)[0] for one in said} == {"http_500", "resting"}
    assert len(model.asked) == openai_client.FAILURES * openai_client.TRIES


def test_a_whole_call_ends_in_bounded_time(model: FakeModel, make: Make) -> None:
    """However many messages hang: the pool would take the process to hang, and refuse what it was at."""
    model.script.extend([HANG] * 50)
    began = time.monotonic()
    said = read(make(seconds=0.4, parallel=1), *(turn(f"Message {n}.", n) for n in range(30)))
    assert time.monotonic() - began < 4 * 0.4 + 1
    assert all(one.missing for one in said)


def test_it_comes_back_by_itself(model: FakeModel, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the rest is over and the model answers, messages are asked for again."""
    monkeypatch.setattr(openai_client, "REST_SECONDS", 0.3)
    model.down, model.answers[TEXT] = Failure(401), SAID
    extractor = make()
    assert missing(read(extractor, turn(TEXT))[0]) == ["http_401"]
    assert missing(read(extractor, turn(TEXT))[0]) == ["resting"]
    model.down = None
    deadline = time.monotonic() + 10
    while missing(read(extractor, turn(TEXT))[0]):
        assert time.monotonic() < deadline
    assert len(read(extractor, turn(TEXT))[0].assertions) == 1


def test_nobody_at_the_address_is_an_outage(make: Make) -> None:
    """A refused connection, as while the endpoint is restarted."""
    [said] = read(make(url="http://127.0.0.1:9/v1"), turn(TEXT))
    assert missing(said) == ["unreachable"]


def test_beyond_the_day_s_money_nothing_is_asked(model: FakeModel, make: Make) -> None:
    """Three answers are within it by what they have cost; a fourth might not be, for any process of the machine."""
    options = {"cost_in": 1.0, "cost_out": 1_000.0, "spend_a_day": 0.12, "answer_tokens": 64}
    extractor = make(**options)
    said = [read(extractor, turn(f"Message {n}.", n))[0] for n in range(5)]
    assert [missing(one) for one in said] == [[], [], [], ["over_spending"], ["over_spending"]]
    assert len(model.asked) == 3
    assert missing(read(make(**options), turn("Another process."))[0]) == ["over_spending"]


def test_a_rate_limit_is_waited_for_or_not(model: FakeModel, make: Make) -> None:
    """Within the time of a message it waits for room; where that would take longer the message goes without."""
    slow = make(requests_a_minute=120, seconds=5.0)
    for _ in range(119):
        slow._client._ledger.take(1, 0.0)
    began = time.monotonic()
    assert [missing(one) for one in read(slow, turn("One.", 1), turn("Two.", 2))] == [[], []]
    assert time.monotonic() - began > 0.3
    assert missing(read(make(requests_a_minute=1, seconds=2.0), turn("Three."))[0]) == ["rate_limit"]
    assert len(model.asked) == 2


def test_the_key_is_shown_to_nobody() -> None:
    """Not where options are printed, and not by the settings."""
    options = OpenAiOptions("http://127.0.0.1:9/v1", "m", Path("unused"), api_key="sk-secret")
    assert "sk-secret" not in repr(options)
    assert "sk-secret" not in repr(load(openai_api_key="sk-secret"))


def test_what_is_missing_tells_what_the_generation_lacks(model: FakeModel, make: Make) -> None:
    """So the patch that is made without it ranks below the one that is made with it."""
    model.down = Failure(503, {"retry-after": "99"})
    extractor = make(generation=3)
    [said] = read(extractor, turn(TEXT))
    assert [(one.extractor, one.lacks) for one in said.missing] == [("openai", extractor.generation)]
    assert extractor.generation == 3 * STEP


def test_more_can_be_told_in_the_body(model: FakeModel, make: Make) -> None:
    """What a server does not take is taken out, what it needs is put in."""
    read(make(body={"temperature": None, "reasoning_effort": "low"}), turn(TEXT))
    assert "temperature" not in model.asked[0]
    assert model.asked[0]["reasoning_effort"] == "low"


def test_a_long_message_is_cut_and_says_so(model: FakeModel, make: Make) -> None:
    """The model is shown the beginning; the patch tells what it was not shown."""
    [said] = read(make(), turn("word " * 4_000))
    assert len(model.messages[0]) == 12_000
    assert said.cut == ("characters 12000 to 20000 were not shown to the model",)


def test_broken_characters_are_sent_as_what_json_holds(model: FakeModel, make: Make) -> None:
    """Halves of characters in a text keep nobody from reading the rest."""
    model.answers["Porto ? here"] = {**NOTHING, "entities": [entity("Porto", "Location")]}
    [said] = read(make(), turn("Porto \ud800 here"))
    assert [one.text for one in said.mentions] == ["Porto"]


def test_the_settings_name_what_is_lacking() -> None:
    """Without an address and a model nothing is guessed; a limit of money needs prices."""
    with pytest.raises(SettingsError, match="MEMSTREAM_OPENAI_URL and MEMSTREAM_OPENAI_MODEL"):
        options_of(load(extractor="spacy+openai"))
    with pytest.raises(SettingsError, match="OPENAI_COST_IN"):
        load(openai_spend_a_day=3.0)
    with pytest.raises(SettingsError, match="MEMSTREAM_OPENAI_BODY: is no JSON"):
        load(openai_body="{")
    with pytest.raises(SettingsError, match="MEMSTREAM_OPENAI_API_KEY instead"):
        load(openai_url="https://me:secret@example.org/v1")
    with pytest.raises(SettingsError, match="each once"):
        options_of(load(extractor="spacy+spacy"))
    assert options_of(load(extractor="spacy")) == {}
