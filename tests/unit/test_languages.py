"""More languages: which one a message is in, what its own model reads, and what is kept where there is no model."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from german import german_model

from memstream.extractors.context.session import Session
from memstream.extractors.explain import explain
from memstream.extractors.languages.tongues import Tongues
from memstream.extractors.parse.reader_input import Parsed
from memstream.extractors.spacy_extractor import SpacyExtractor, create
from memstream.extractors.text.language import ENGLISH, detect
from memstream.extractors.text.lru import LruCache
from memstream.schemas.errors import SettingsError
from memstream.schemas.extraction import EntityName, Extraction, SessionTurns, Turn
from memstream.settings import load

START = datetime(2026, 3, 9, 10, 0, tzinfo=UTC)
TRAINING = Path(__file__).parents[2] / "training"

FOREIGN = [
    ("de", "Ich wohne seit drei Jahren in Leipzig und arbeite bei Siemens."), ("de", "Wo wohnst du?"),
    ("de", "Nein, nicht Berlin."), ("de", "Der Server payments-gw läuft auf Nomad."), ("de", "Tom hat gekündigt."),
    ("es", "Mi hermana se llama Lucía y trabaja en Telefónica."), ("es", "¿Dónde vives?"),
    ("es", "El servicio payments-gw depende de redis-7."), ("fr", "J'habite à Lyon depuis mai."),
    ("fr", "Le service relay est en panne."), ("fr", "Non, pas Paris."), ("it", "Abito a Milano e lavoro per Fiat."),
    ("pt", "Moro em Lisboa e trabalho no banco."), ("nl", "Mijn zus werkt bij Philips."),
    ("pl", "Mieszkam w Krakowie i pracuję w banku."), ("cs", "Bydlím v Praze a pracuji pro Škodu."),
    ("sv", "Jag bor i Göteborg och jobbar på Volvo."), ("fi", "Asun Helsingissä ja työskentelen Nokialla."),
    ("tr", "İstanbul'da yaşıyorum ve bir bankada çalışıyorum."), ("ru", "Я живу в Москве."), ("el", "Μένω στην Αθήνα."),
    ("uk", "Я живу у Києві та працюю в банку."), ("he", "שלום, אני גר בברלין"), ("ar", "أعيش في القاهرة"),
    ("zh", "我住在北京"), ("ja", "東京に住んでいます"), ("ko", "저는 서울에 살아요"), ("hi", "मैं दिल्ली में रहता हूँ।"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text"), FOREIGN)
def test_a_message_tells_its_language(language: str, text: str) -> None:
    """By its letters, its small words, or a model of letters."""
    assert detect(text) == language


NOT_FOREIGN = [
    "Porto.", "ngozi", "lol ok", "yep", "and??", "send", "NO", "👍", "", "12:30", "Juan Carlos Fernández de la Vega",
    "Müller GmbH & Co. KG", "Dr Haapasalo, in Turku?", "Freyja: kiwi, sesame", "ask Femke :)", "im zarina, 26",
    "Maëlys Tchoumi", "Cobalt & Reed, devrel intern", "i moved to berlin w/ anna", "RL-77 est. 3h", "die, villain, die",
    "payments-gw runs on Nomad", "Médecins Sans Frontières hired Jean", "So 90 euros to Íñigo. Reference?", "zxcvvvvvv",
    "El Niño made it a wet year for Santiago de Compostela", "squash the last four commits on hotfix/teal",
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_FOREIGN)
def test_names_and_fragments_are_no_other_language(text: str) -> None:
    """Where a message could be English, or anything, it is not taken for something else."""
    assert detect(text) in (ENGLISH, "")


def test_hardly_any_message_of_the_training_dialogues_is_taken_for_another_language() -> None:
    """Of twelve thousand messages of English talk with names of many countries: five, two quote another language."""
    lines = [line for file in sorted(TRAINING.glob("*.jsonl")) for line in file.read_bytes().splitlines()]
    texts = {message["text"] for line in lines for message in orjson.loads(line)["messages"]}
    assert len(texts) > 5_000
    taken = {text for text in texts if text[:1] not in "[{" and detect(text) not in (ENGLISH, "")}
    assert len(taken) <= 5, taken


class Watched(SpacyExtractor):
    """Remembers what the English parser was given."""

    def __init__(self, tongues: Tongues) -> None:
        super().__init__(tongues=tongues)
        self.parsed: list[str] = []
        self._cache = LruCache(1)

    def _parse(self, texts: set[str]) -> dict[str, Parsed]:
        self.parsed += sorted(texts)
        return super()._parse(texts)


def talk(*said: str | tuple[str, str]) -> list[Turn]:
    """Turns of a user, or of whoever is named before the text."""
    pairs = [("user", each) if isinstance(each, str) else each for each in said]
    return [
        Turn(f"e{n}", role, "assistant" if role == "assistant" else "user", text, START + timedelta(hours=n))
        for n, (role, text) in enumerate(pairs)
    ]


def read(extractor: SpacyExtractor, turns: Sequence[Turn]) -> list[Extraction]:
    """What each turn of one session says."""
    return extractor.extract([SessionTurns(b"", list(turns))])[0].extractions


def facts(extraction: Extraction) -> list[str]:
    """Triples as text."""
    return [
        f"{a.subject.name} | {a.predicate} | {a.object.name if isinstance(a.object, EntityName) else a.object}"
        for a in extraction.assertions
    ]


def named(extraction: Extraction) -> set[tuple[str, str]]:
    """Names and types of what is mentioned."""
    return {(m.text, m.entity.type.value) for m in extraction.mentions}


@functools.cache
def plain() -> SpacyExtractor:
    """Without any model but the English one."""
    return create(language="en", language_models={})


def test_without_a_model_names_are_kept_by_rule_and_no_facts() -> None:
    """Addresses, technical names, legal forms, titles, and what the session knows; the patch says how it was read."""
    turns = talk(
        "My sister Anna works at Nimbus Archive.",
        "Ich habe Frau Dr. Lund von der Kestrel GmbH geschrieben: lund@kestrel.example, oder +49 341 555 0101.",
        "Der Server payments-gw läuft nicht mehr, siehe RL-77 und src/app.py. Anna wohnt jetzt in Leipzig.",
    )
    _, first, second = read(plain(), turns)
    assert named(first) == {
        ("Lund", "Person"), ("Kestrel GmbH", "Organization"), ("lund@kestrel.example", "Object"),
        ("+49 341 555 0101", "Object"),
    }  # fmt: skip
    assert named(second) == {
        ("payments-gw", "Object"), ("RL-77", "Object"), ("src/app.py", "Object"), ("Anna", "Person")
    }  # fmt: skip
    for extraction, turn in ((first, turns[1]), (second, turns[2])):
        assert (extraction.assertions, extraction.preferences) == ((), ())
        assert "language 'de': no model is set for it; names by rule, no facts" in extraction.cut
        assert all(turn.text[m.start : m.end] == m.text for m in extraction.mentions)


def test_the_english_parser_never_sees_another_language() -> None:
    """Nor what is in doubt in a session of another language; English in between is English."""
    extractor = Watched(Tongues("en", {}, 16))
    german = ["Ich wohne seit drei Jahren in Leipzig.", "Leipzig"]
    read(extractor, talk(*german, "I live in Porto now, thanks.", "Porto", "אני גר בברלין"))
    assert extractor.parsed == ["I live in Porto now, thanks.", "Porto"]


def test_what_is_in_doubt_is_read_in_the_sessions_language_else_in_the_default() -> None:
    """The state remembers the language; what a tool prints does not change it."""
    turns = talk(
        "Ich wohne seit drei Jahren in Leipzig.", ("tool", "le service est en panne depuis hier soir"), "Kestrel GmbH"
    )
    result = plain().extract([SessionTurns(b"", turns)])[0]
    assert Session.decode(result.state).language == "de"
    assert ["'de'" in "".join(e.cut) for e in result.extractions] == [True, False, True]
    later = replace(talk("Anna lives in Porto now.")[0], event_id="later")
    back = plain().extract([SessionTurns(result.state, [later])])[0]
    assert Session.decode(back.state).language == ""
    german = create(language="de", language_models={})
    assert read(german, talk("Kestrel GmbH"))[0].cut
    assert facts(read(german, talk("Anna lives in Porto, doesn't she? Yes, Anna lives in Porto."))[0])


@functools.cache
def with_model(folder: Path) -> SpacyExtractor:
    """With a German model."""
    return create(language="en", language_models={"de": str(folder)})


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> SpacyExtractor:
    """An extractor with a German model of its own."""
    return with_model(german_model(tmp_path_factory.mktemp("model")))


def test_a_second_language_is_read_by_its_own_model(own: SpacyExtractor) -> None:
    """Its names, and the facts of plain sentences; nothing is cut."""
    [found] = read(own, talk("Mara Winter wohnt jetzt in Leipzig. Jonas Klee arbeitet viel. Guten Tag noch!"))
    assert named(found) == {("Mara Winter", "Person"), ("Leipzig", "Location"), ("Jonas Klee", "Person")}
    assert facts(found) == ["Mara Winter | lives_in | Leipzig"]
    assert found.cut == ()
    [found] = read(own, talk("Hallo! Mara Winter leitet die Stadtwerke Dresden. payments-gw läuft auf node-3."))
    assert facts(found) == ["Stadtwerke Dresden | managed_by | Mara Winter", "payments-gw | runs_on | node-3"]


@pytest.mark.parametrize(
    "text",
    [
        "Wohnt Mara Winter jetzt in Leipzig?", "Mara Winter wohnt nicht in Leipzig.", "Mara Winter wohnt in Leipzig?",
        "Ich glaube, Mara Winter wohnt in Leipzig.", "Wenn Mara Winter in Leipzig wohnt, ist das gut.",
        "Mara Winter wohnt in Leipzig, glaube ich.", "„Mara Winter wohnt in Leipzig“, sagt Jonas Klee.",
        "Angeblich wohnt Mara Winter in Leipzig und nicht in Dresden.",
    ],
)  # fmt: skip
def test_only_a_whole_plain_sentence_of_another_language_says_a_fact(own: SpacyExtractor, text: str) -> None:
    """No question, denial, condition, hedge, quotation or report."""
    [found] = read(own, talk(text))
    assert ("Mara Winter", "Person") in named(found)
    assert found.assertions == ()


def test_who_may_not_assert_in_english_may_not_in_another_language(own: SpacyExtractor) -> None:
    """An assistant alone, and what was recalled."""
    said = "Mara Winter wohnt jetzt in Leipzig."
    assert read(own, talk(("assistant", said)))[0].assertions == ()
    recalled = [Turn("e", "user", "user", said, START, asserts=False)]
    assert read(own, recalled)[0].assertions == ()


def test_names_go_from_one_language_to_the_other(own: SpacyExtractor) -> None:
    """A person named in German is known in English, with the message that named them."""
    _, found = read(own, talk("Mara Winter wohnt jetzt in Leipzig.", "She works at Nimbus Archive."))
    assert facts(found) == ["Mara Winter | works_at | Nimbus Archive"]
    assert found.assertions[0].used == ("e0",)


def test_models_are_part_of_what_the_extractor_is(own: SpacyExtractor) -> None:
    """Who reads with other models bears another name."""
    assert plain().name == "spacy"
    assert own.name != plain().name
    assert own.name.startswith("spacy~")


def test_an_explanation_says_by_what_it_was_read(own: SpacyExtractor) -> None:
    """The language, its model or the fallback, and the line of the pattern."""
    found = explain(own, talk("Mara Winter wohnt jetzt in Leipzig."))
    assert (found.language, found.facts[0].rule) == ("de", "surface:de")
    assert found.facts[0].pattern.startswith("patterns.toml:")
    assert "own model" in found.notes[0]
    found = explain(plain(), talk("Mara Winter wohnt jetzt in Leipzig."))
    assert (found.parts, found.facts) == ((), ())
    assert "no model is set for it" in found.notes[0]


def test_the_settings_are_checked() -> None:
    """A model that is not there, a list that is none, English in it."""
    assert load(language_models="de=a,cs=/models/cs").models_by_language == {"de": "a", "cs": "/models/cs"}
    for wrong in ("de", "de=", "=x", "en=x", "german=x"):
        with pytest.raises(SettingsError, match="MEMSTREAM_LANGUAGE_MODELS"):
            load(language_models=wrong)
    with pytest.raises(SettingsError, match="'xx_no_model' can't be loaded"):
        create(language="en", language_models={"xx": "xx_no_model"})
