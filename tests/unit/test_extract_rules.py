"""What the extractor reads out of sentences: facts, what is no fact, preferences, answers, corrections."""

import time
from datetime import timedelta

import pytest
from extracting import NOW, extractor

from memstream.extractors.registry import create_extractor, extractor_names
from memstream.schemas.errors import SettingsError
from memstream.schemas.extraction import EntityName, EntityType, Extraction, SessionTurns, Turn


def read(*messages: str | tuple[str, str]) -> list[Extraction]:
    """What a session of these messages says; a message is a text of the user or (role, text)."""
    turns = []
    for number, message in enumerate(messages):
        role, text = ("user", message) if isinstance(message, str) else message
        turns.append(Turn(f"m{number + 1}", role, role, text, NOW + timedelta(minutes=number)))
    return extractor().extract([SessionTurns(b"", turns)])[0].extractions


def facts(*messages: str | tuple[str, str]) -> set[str]:
    """The facts of a session as "subject | predicate | object", with a "not" and the dates where there are any."""
    found = set()
    for extraction in read(*messages):
        for a in extraction.assertions:
            obj = a.object.name if isinstance(a.object, EntityName) else a.object
            text = f"{'not ' if a.negated else ''}{a.subject.name} | {a.predicate} | {obj}"
            found.add(
                text + (f" from {a.valid_from}" if a.valid_from else "") + (f" to {a.valid_to}" if a.valid_to else "")
            )
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live in Porto.", "user | lives_in | Porto"),
        ("The signing service was built by Ilse de Wit.", "Ilse de Wit | created | signing service"),
        ("Pomelo Sync belongs to Tessellate Holdings.", "Pomelo Sync | owned_by | Tessellate Holdings"),
        ("Castellan acquired Nimbus Archive in November.", "Castellan | acquired | Nimbus Archive from 2025-11"),
        ("payments-gw runs on Nomad.", "payments-gw | runs_on | Nomad"),
        ("RL-77 is blocked by RL-70.", "RL-77 | blocked_by | RL-70"),
        ("The licence server is down.", "licence server | has_status | down"),
        ("relay-api is at 5.5.1 now.", "relay-api | has_version | 5.5.1"),
        ("The outage was caused by an expired cert.", "outage | caused_by | expired cert"),
        ("She is my sister. Ana Petrova reports to Malcolm Opoku.", "Ana Petrova | managed_by | Malcolm Opoku"),
        ("My brother Ilkka lives in Rauma.", "Ilkka | sibling_of | user"),
        ("I am allergic to aspirin.", "user | allergic_to | aspirin"),
        ("Usman moved to Lahore the day before yesterday.", "Usman | lives_in | Lahore from 2026-01-12"),
        ("Tove has left Skagen Data.", "not Tove | works_at | Skagen Data"),
        ("atlas-feed does not depend on Kafka.", "not atlas-feed | depends_on | Kafka"),
        ("ticket-mailer ran on Heroku until June.", "ticket-mailer | runs_on | Heroku to 2025-06"),
        ("The report is due on 3 October.", "report | has_deadline | 2026-10-03"),
        ("Sunniva Brekke, account manager at Nimbus Archive, called.", "Sunniva Brekke | has_role | account manager"),
        ("Sunniva Brekke, account manager at Nimbus Archive, called.", "Sunniva Brekke | works_at | Nimbus Archive"),
        ("- Wangari Mutua, storage lead, +254 700 555 384", "Wangari Mutua | has_phone | +254 700 555 384"),
    ],
)
def test_a_statement_is_a_fact(text: str, expected: str) -> None:
    """Active, passive, appositive, possessive, dated and negated statements."""
    assert expected in facts(text)


@pytest.mark.parametrize(
    "text",
    [
        "Does Lien report to Rosalba?",
        "If Paloma moved to Berlin, who would run the migration?",
        "Tom apparently lives in Porto.",
        "I want to join Pinecrest Metrics.",
        "She will move to Antwerp.",
        "Petter reckons that Castellan acquired Nimbus Archive.",
        "Let's write a short story: Zorp lives in Paris and works at Acme Robotics.",
        '"Zorp lives in Paris with his wife", says the exercise book.',
        "```\nowner: Bo Castellanos lives in Paris\n```",
        "Can you buy milk?",
    ],
)
def test_what_is_not_asserted_is_no_fact(text: str) -> None:
    """Questions, conditions, hedges, plans, hearsay, fiction, quotations and code assert nothing."""
    assert facts(text) == set()


def test_an_assistants_word_counts_once_the_user_confirms_it() -> None:
    """A guess is kept back; a yes makes it the user's, and names the event it rests on."""
    guess = ("assistant", "payments-gw runs on Nomad.")
    assert facts(guess) == set()
    said = read(guess, "yes")[1].assertions
    assert [(a.predicate, a.used) for a in said] == [("runs_on", ("m1",))]
    assert facts(guess, "no, it does not") == set()


def test_a_short_answer_is_completed_from_its_question() -> None:
    """As in "Porto." after "Where do you live?" is a fact of the answer, which rests on the question."""
    answer = read(("assistant", "Where do you live?"), "Porto.")[1].assertions
    assert [(a.subject.name, a.predicate, a.used) for a in answer] == [("user", "lives_in", ("m1",))]


def test_a_name_that_was_given_in_full_before_rests_on_the_message_that_gave_it() -> None:
    """As in "Anna" and "she" after "Anna Kowalska": without that message nobody knows the name that is written down."""
    full, short, she = read("Anna Kowalska is a nurse.", "Anna lives in Porto.", "She works at Kelda Systems.")
    assert not any(mention.used for mention in full.mentions)
    named = [mention.used for mention in short.mentions if mention.entity.name == "Anna Kowalska"]
    assert named == [("m1",)]
    assert all("m1" in said.used for said in short.assertions)
    assert she.assertions
    assert all(set(said.used) == {"m1", "m2"} for said in she.assertions)


def test_pronouns_mean_the_last_fitting_entity_of_the_session() -> None:
    """As in "She" is the woman named before, and the fact names the message that named her."""
    said = read("My sister Anna called.", "She lives in Porto.")[1].assertions
    assert [(a.subject.name, a.predicate, a.used) for a in said] == [("Anna", "lives_in", ("m1",))]


def test_named_speakers_are_their_own_first_person() -> None:
    """In a talk of several, "I" is whoever speaks, whatever the role."""
    turn = Turn("m1", "assistant", "qa-bot", "I depend on orders-v2.", NOW, named=True)
    said = extractor().extract([SessionTurns(b"", [turn])])[0].extractions[0].assertions
    assert [(a.subject.name, a.subject.type, a.predicate) for a in said] == [("qa-bot", "Object", "depends_on")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I prefer small diffs.", ("prefer", "small diffs", None)),
        ("I hate force pushes.", ("dislike", "force pushes", None)),
        ("I can't stand aniseed.", ("dislike", "aniseed", None)),
        ("I've gone off dictations.", ("dislike", "dictations", None)),
        ("I'd rather type than talk.", ("prefer", "type", "talk")),
        ("House rules: courtyard rooms over street rooms.", ("prefer", "courtyard rooms", "street rooms")),
    ],
)
def test_a_taste_is_a_preference(text: str, expected: tuple[str, str, str | None]) -> None:
    """Verbs of liking, comparisons and standing rules."""
    found = [(p.polarity.value, p.object, p.over) for e in read(text) for p in e.preferences]
    assert expected in found


def test_the_names_of_a_message_are_typed() -> None:
    """People, organizations, places and technical names; no entity for an amount or a date."""
    mentions = {
        m.text: m.entity.type.value
        for e in read("Ana Petrova joined Nimbus Archive and paid 61 dollars for payments-gw in Porto on 3 May.")
        for m in e.mentions
    }
    assert mentions["Ana Petrova"] == "Person"
    assert mentions["Nimbus Archive"] == "Organization"
    assert mentions["Porto"] == "Location"
    assert mentions["payments-gw"] == "Object"
    assert not {"61 dollars", "3 May", "61"} & set(mentions)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "I live in Porto. " * 12_000,
        "\n".join(f"{i},Ana,{i * 7}" for i in range(20_000)),
        ", ".join(f"Person{i} Name{i}" for i in range(5_000)),
        "[{" * 100_000,
        "\n" * 200_000,
        "🙂" * 100_000,
        "שלום " * 40_000,
        "(" * 100_000 + ")" * 100_000,
        "Traceback (most recent call last):\n" + '  File "x.py", line 3\n' * 8_000,
        "iVBORw0KGgo" * 18_000,
    ],
    ids=["word", "prose", "csv", "names", "brackets", "lines", "emoji", "hebrew", "nested", "trace", "base64"],
)
def test_any_text_is_read_in_bounded_time(text: str) -> None:
    """Monstrous texts are cut, and the extraction says so."""
    started = time.perf_counter()
    extraction = read(text)[0]
    assert time.perf_counter() - started < 10
    assert extraction.cut


def test_an_unknown_extractor_is_named_with_those_that_are_there() -> None:
    """The registry goes by entry points and says what it has."""
    assert "spacy" in extractor_names()
    with pytest.raises(SettingsError, match=r"'nobody'; installed are: .*spacy"):
        create_extractor("spacy+nobody")


def test_a_model_that_is_not_installed_is_named() -> None:
    """Another model is a setting; where it is missing the error says what to install."""
    with pytest.raises(SettingsError, match="xx_no_model"):
        create_extractor("spacy", model="xx_no_model")


FIRST_NAMES = (
    "Ana", "Bo", "Mai", "Igor", "May", "Will", "Rose", "Grace", "Sky", "Jun", "Per", "Åse", "Zoë", "Jack", "Amy",
)  # fmt: skip
SEATS = [
    ("{} lives in Oslo.", "{} | lives_in | Oslo"),
    ("{} works at Northwind Traders.", "{} | works_at | Northwind Traders"),
    ("{} moved to Lisbon.", "{} | lives_in | Lisbon"),
    ("{} is married to Peter.", "{} | partner_of | Peter"),
    ("{} was born in Kraków.", "{} | born_in | Kraków"),
    ("{} speaks Polish.", "{} | speaks | Polish"),
]


@pytest.mark.parametrize("name", FIRST_NAMES)
def test_a_clause_that_only_a_person_fits_makes_its_subject_a_person(name: str) -> None:
    """Short, rare and wordlike first names too, whatever the parser takes them for."""
    for sentence, expected in SEATS:
        assert facts(sentence.format(name)) == {expected.format(name)}


@pytest.mark.parametrize(
    "text",
    [
        "Traffic moved to Frankfurt.",
        "Google moved to Frankfurt.",
        "Marketing moved to Lisbon.",
        "Everyone speaks Polish.",
        "Jazz was born in Kraków.",
        "Will lives in Oslo?",
        "Grace apparently lives in Oslo.",
        "Rose works at night.",
    ],
)
def test_a_word_at_the_head_of_a_clause_is_not_always_a_person(text: str) -> None:
    """Things and crowds that move or speak, questions and hedges make no fact about a person."""
    assert not [a for e in read(text) for a in e.assertions if a.subject.type is EntityType.PERSON]


def test_a_denial_is_never_asserted() -> None:
    """What is denied is a negated fact, or none."""
    assert facts("Mark is not married to Peter.") <= {"not Mark | partner_of | Peter"}


@pytest.mark.parametrize(
    "text",
    [
        "I live in Ro\0me.",
        "I live in New Yo\x07rk.",
        "I live in Ro\x0bme.",
        "I live in Ro\ud800me.",
        "A\0na lives in Oslo.",
        "I am allergic to pea\0nuts.",
        "Mail me at an\0a@post.example.",
        "relay-api is at 5.5\0.1 now.",
    ],
)
def test_half_a_word_is_no_name(text: str) -> None:
    """A control character or half a character inside a word makes that word unknown."""
    assert facts(text) == set()


def test_control_characters_between_words_are_spaces() -> None:
    """They change nothing where no word is split."""
    assert facts("Ana\0 lives\x07 in \x01Oslo\0.") == {"Ana | lives_in | Oslo"}


def test_a_fragment_introduces_the_speaker() -> None:
    """A name with "here", "that's me" or an age after "I'm" is the speaker's, and so is what is said of it."""
    assert facts("Ngozi here, born and raised in Enugu, currently living in Aberdeen.") == {
        "user | has_name | Ngozi",
        "user | born_in | Enugu",
        "user | lives_in | Aberdeen",
    }
    assert facts("im zarina, 26") == {"user | has_name | zarina", "user | has_age | 26"}
    assert facts("Farrukh, that's me.") == {"user | has_name | Farrukh"}


@pytest.mark.parametrize(
    "text", ["Engineer here, one question.", "Oslo here, any news?", "I'm sorry, 5 of them broke."]
)
def test_what_is_no_introduction_names_nobody(text: str) -> None:
    """Roles, places and moods are no names of the speaker."""
    assert not any("has_name" in fact for fact in facts(text))


def test_owners_of_owners_end_somewhere() -> None:
    """However many there are, nothing fails, and only what a person could follow is said."""
    assert facts("my sister's " * 300 + "dog is a nurse.") <= {"user's sister | sibling_of | user"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Vigdis is on leave until the 18th.", "Vigdis | has_status | on leave to 2026-01-18"),
        ("Ana Petrova has lived in Porto for the last six years.", "Ana Petrova | lives_in | Porto from 2020"),
        ("The licence server has been down since 02:36.", "licence server | has_status | down from 2026-01-14T02:36"),
        ("Tove turned 40 on Monday.", "Tove | has_age | 40 from 2026-01-12"),
        ("Tove doesn't live in Moss any more, she left in May.", "not Tove | lives_in | Moss from 2025-05"),
        ("rota-web left the pilot in May and is at 2.2.1 since.", "rota-web | has_version | 2.2.1 from 2025-05"),
        ("Ana Petrova is our treasurer, been since '99.", "Ana Petrova | has_role | treasurer from 1999"),
        ("Ana Petrova is our treasurer since Ivo retired in May.", "Ana Petrova | has_role | treasurer from 2025-05"),
    ],
)
def test_a_fact_has_the_dates_of_its_clause(text: str, expected: str) -> None:
    """Until looks ahead in the present; a clause on its start or end further on gives it its date."""
    assert expected in facts(text)


@pytest.mark.parametrize(
    "text",
    [
        "On Saturday Malcolm Opoku, our VP of data, glued it back together.",
        "The review opened on 14 March, with Malcolm Opoku, VP of data.",
        "Malcolm Opoku, our VP of data, has been ill since Friday.",
    ],
)
def test_a_noun_takes_no_date_of_its_sentence(text: str) -> None:
    """What happened on Saturday is no start of the role of who did it."""
    assert "Malcolm Opoku | has_role | VP of data" in facts(text)


@pytest.mark.parametrize(
    "text",
    [
        "The current time is 2024-05-15 15:00:00 EST.",
        "The calculation is based on the extracted data.",
        "The answer is in the dataset.",
        "Here is [Martial Arts Schools, Studios & Dojos in New York](https://dojos.example/ny).",
    ],
)
def test_words_of_thought_and_titles_of_links_make_no_facts(text: str) -> None:
    """What agents write to each other is full of both."""
    assert facts(text) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna works at Kestrel Freight, has done for six years.", "Anna | works_at | Kestrel Freight from 2020"),
        ("The outage last night was caused by a full disk.", "outage | caused_by | full disk"),
        ("payments-gw is down as of 09:40.", "payments-gw | has_status | down from 2026-01-14T09:40"),
        (
            "Wanda Lopez, founder of the Barefoot Milers and, since January, physio at Kestrel Freight, is here.",
            "Wanda Lopez | founded | Barefoot Milers",
        ),
    ],
)
def test_a_date_is_of_what_it_stands_with(text: str, expected: str) -> None:
    """Of the clause that lends it, of what follows it between commas, and never of what has no beginning."""
    assert expected in facts(text)


def test_a_day_at_a_firm_is_no_job() -> None:
    """As in "I was at Kestrel Freight on Tuesday": it says nothing of who works there."""
    assert not {fact for fact in facts("I was at Kestrel Freight on Tuesday.") if "works_at" in fact}
