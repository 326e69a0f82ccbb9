"""Corrections: what a later message, or a later word of the same one, takes back, and what it says in its place."""

from datetime import timedelta

import orjson
import pytest
from extracting import NOW, extractor

from memstream.extractors.context.session import MAX_BYTES, Session
from memstream.schemas.extraction import EntityName, Extraction, SessionTurns, Turn

ROLES = ("user", "assistant", "system", "tool")


def turns_of(*messages: str) -> list[Turn]:
    """Messages as turns: a text of the user, or "role: text", or "Name: text" of a named speaker."""
    turns = []
    for number, message in enumerate(messages):
        who, colon, text = message.partition(": ")
        if not colon or not (who in ROLES or who.istitle()):
            who, text = "user", message
        named = who not in ROLES
        role = "user" if named else who
        turns.append(Turn(f"m{number + 1}", role, who, text, NOW + timedelta(minutes=number), named=named))
    return turns


def read(*messages: str) -> list[Extraction]:
    """What each message of a session says."""
    return extractor().extract([SessionTurns(b"", turns_of(*messages))])[0].extractions


def triple(subject: EntityName, predicate: str, obj: EntityName | str) -> str:
    """As text."""
    return f"{subject.name} | {predicate} | {obj.name if isinstance(obj, EntityName) else obj}"


def said(extraction: Extraction) -> set[str]:
    """The assertions of a message, "not" before those that deny."""
    return {("not " if a.negated else "") + triple(a.subject, a.predicate, a.object) for a in extraction.assertions}


def taken_back(extraction: Extraction) -> set[str]:
    """The retractions of a message."""
    return {triple(r.subject, r.predicate, r.object) for r in extraction.retractions}


BERGEN = "user | lives_in | Bergen"
OSLO = "user | lives_in | Oslo"

CORRECTED = [
    ("I live in Bergen.", "No wait, Oslo.", BERGEN, OSLO),
    ("I live in Bergen.", "scratch that, it's Oslo", BERGEN, OSLO),
    ("I live in Bergen.", "Scratch that. It's Oslo.", BERGEN, OSLO),
    ("I live in Bergen.", "sorry, I meant Oslo", BERGEN, OSLO),
    ("I live in Bergen.", "Actually, it's Oslo.", BERGEN, OSLO),
    ("I live in Bergen.", "Oslo, sorry", BERGEN, OSLO),
    ("I live in Bergen.", "oops, Oslo", BERGEN, OSLO),
    ("I live in Bergen.", "correction: Oslo", BERGEN, OSLO),
    ("I live in Bergen.", "*Oslo", BERGEN, OSLO),
    (
        "The design review is on Monday.",
        "no wait, Tuesday",
        "design review | scheduled_for | 2026-01-19",
        "design review | scheduled_for | 2026-01-20",
    ),
    (
        "The kickoff is on Friday at 13:00.",
        "make that 14:00",
        "kickoff | scheduled_for | 2026-01-16T13:00",
        "kickoff | scheduled_for | 2026-01-16T14:00",
    ),
    (
        "Lina manages the checkout squad.",
        "sorry, I meant Lena, not Lina",
        "checkout squad | managed_by | Lina",
        "checkout squad | managed_by | Lena",
    ),
    ("I have a sister, Lina.", "Lena. Typo.", "Lina | sibling_of | user", "Lena | sibling_of | user"),
    ("relay-api runs on node-7.", "I mean node-4.", "relay-api | runs_on | node-7", "relay-api | runs_on | node-4"),
    ("relay-api is at 5.5.1.", "sorry, 5.5.2", "relay-api | has_version | 5.5.1", "relay-api | has_version | 5.5.2"),
    ("Uma is 34.", "36, sorry", "Uma | has_age | 34", "Uma | has_age | 36"),
    ("The budget of Atlas is 40k €.", "sorry, 45k EUR", "Atlas | has_budget | 40k €", "Atlas | has_budget | 45k EUR"),
    ("I'm allergic to aspirin.", "I meant ibuprofen", "user | allergic_to | aspirin", "user | allergic_to | ibuprofen"),
    ("Zubair fixed the outage.", "it was Zainab, actually", "outage | fixed_by | Zubair", "outage | fixed_by | Zainab"),
    ("Zubair fixed the outage.", "No, Zainab fixed it.", "outage | fixed_by | Zubair", "outage | fixed_by | Zainab"),
    ("Rosa wrote the manual.", "No, Pilar wrote it.", "Rosa | created | manual", "Pilar | created | manual"),
    (
        "The launch is scheduled for 3 May.",
        "The launch got pushed to 10 May.",
        "launch | scheduled_for | 2026-05-03",
        "launch | scheduled_for | 2026-05-10",
    ),
    (
        "The retro is on Tuesday.",
        "It moved to Thursday.",
        "retro | scheduled_for | 2026-01-20",
        "retro | scheduled_for | 2026-01-15",
    ),
    (
        "The outage was caused by an expired cert.",
        "Actually it was caused by a full disk.",
        "outage | caused_by | expired cert",
        "outage | caused_by | full disk",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "was", "now"), CORRECTED)
def test_a_correction_takes_back_and_says_anew(first: str, second: str, was: str, now: str) -> None:
    """The old fact is retracted by the event that said it; the new one is said in its slot and used that event too."""
    before, after = read(first, second)
    assert was in said(before)
    assert now in said(after)
    assert was in taken_back(after)
    assert all(r.used == ("m1",) for r in after.retractions)
    assert all("m1" in a.used for a in after.assertions if a.rule == "correction")


def test_an_answer_in_between_changes_nothing() -> None:
    """The assistant's acknowledgement does not hide what is corrected."""
    after = read("I live in Bergen.", "assistant: Noted!", "sorry, Oslo")[2]
    assert said(after) == {OSLO}
    assert taken_back(after) == {BERGEN}


@pytest.mark.parametrize(
    "text",
    [
        "I live in Bergen, no wait, Oslo.",
        "I live in Bergen, sorry, I mean Oslo.",
        "I live in Bergen. Scratch that, Oslo.",
    ],
)
def test_a_message_corrects_itself(text: str) -> None:
    """What is taken back in the same breath is not said, and so needs no retraction."""
    (only,) = read(text)
    assert said(only) == {OSLO}
    assert taken_back(only) == set()


@pytest.mark.parametrize(
    "text", ["Not Dutch, Danish.", "not Dutch but Danish", "Danish, not Dutch", "Not Dutch. Danish."]
)
def test_one_value_against_another_denies_the_old_one(text: str) -> None:
    """Where both are named the old value is denied, so that it is known not to hold."""
    after = read("Tomas speaks Dutch.", text)[1]
    assert said(after) == {"not Tomas | speaks | Dutch", "Tomas | speaks | Danish"}
    assert taken_back(after) == {"Tomas | speaks | Dutch"}


def test_a_name_alone_is_denied() -> None:
    """As in "not Tsering" after "Tsering runs it": it says who does not, and nobody who does."""
    after = read("Tsering manages the billing cutover.", "no, not Tsering")[1]
    assert said(after) == {"not billing cutover | managed_by | Tsering"}


def test_what_an_assistant_guessed_is_put_right() -> None:
    """A guess was never asserted, so that nothing is retracted; the value said instead is."""
    after = read("hello", "assistant: So you live in Porto?", "No, Lisbon.")[2]
    assert said(after) == {"user | lives_in | Lisbon"}
    assert taken_back(after) == set()
    assert after.assertions[0].used == ("m2",)


def test_all_that_was_said_last_is_scratched() -> None:
    """As in "scratch that" alone: it takes back the speaker's last message, and no message before it."""
    after = read("I live in Bergen.", "My sister Ana lives in Porto.", "Scratch that.")[2]
    assert said(after) == set()
    assert taken_back(after) == {"Ana | sibling_of | user", "Ana | lives_in | Porto"}


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        ("Priya works at Nimbus Archive.", "Priya is now at Castellan.", "Priya | works_at | Castellan"),
        ("My sister Ana lives in Porto.", "She's in Lisbon now.", "Ana | lives_in | Lisbon"),
        (
            "The deadline of the grant report is 3 October.",
            "the deadline is now 10 October",
            "grant report | has_deadline | 2026-10-10",
        ),
        ("Bahar's phone is 555 4410.", "And the phone's 555 4401", "Bahar | has_phone | 555 4401"),
    ],
)
def test_what_is_so_now_goes_on_about_what_was_said(before: str, text: str, expected: str) -> None:
    """As in "is now": it says anew what the session knows; the fold ends the older value, and nothing is taken back."""
    after = read(before, text)[1]
    assert expected in said(after)
    assert after.assertions[0].used == ("m1",)
    assert taken_back(after) == set()


@pytest.mark.parametrize(
    "messages",
    [
        ("We meet on Monday.", "no, Tuesday works better for me"),
        ("Tom lives in Oslo.", "Sorry, Ana!"),
        ("Tom lives in Oslo.", "Sorry, wrong Tom."),
        ("Tom lives in Oslo.", "No, thanks."),
        ("Tom lives in Oslo.", "assistant: And when is the retro?", "Actually, Tuesday"),
        ("Tom lives in Oslo.", "is it actually Bergen?"),
        ("Tom lives in Oslo.", "Bergen"),
        ("The demo is on Monday. The retro is on Friday.", "no wait, Tuesday"),
        ("The demo is on Monday.", "assistant: Shall I remind you on Thursday?", "No, Friday."),
        ("Tom: I live in Oslo.", "Ana: sorry, Bergen"),
        ("Tom speaks Dutch.", "He also speaks Danish, actually."),
        ("Lorcan studied at Delft Polytechnic.", "Lorcan is not a founder."),
        ("Tom lives in Oslo.", "hi", "hi", "hi", "hi", "hi", "sorry, Bergen"),
    ],
)
def test_what_is_no_correction_takes_nothing_back(messages: tuple[str, ...]) -> None:
    """A name that is spoken to, another speaker's slip, two facts that fit, another question: nothing is retracted."""
    after = read(*messages)[-1]
    assert taken_back(after) == set()
    assert not any(a.rule == "correction" for a in after.assertions)


def test_who_said_it_is_looked_at_for_slips_only() -> None:
    """Another speaker says "no" to what was said right before, and puts it right."""
    after = read("Ana: Ferrum Labs is located in Split.", "Tom: No, in Zadar.")[1]
    assert taken_back(after) == {"Ferrum Labs | located_in | Split"}
    assert said(after) == {"Ferrum Labs | located_in | Zadar"}


def test_states_of_before_are_read_still() -> None:
    """Facts that an older state keeps without their event are known, and corrected by none."""
    state = extractor().extract([SessionTurns(b"", turns_of("I live in Bergen."))])[0].state
    old = orjson.loads(state)
    old["f"] = [row[:6] for row in old["f"]]
    del old["w"]
    bare = orjson.dumps(old)
    assert [row[3] for row in Session.decode(bare).facts] == ["Bergen"]
    after = extractor().extract([SessionTurns(bare, [Turn("n", "user", "user", "sorry, Oslo", NOW)])])[0]
    assert after.extractions[0].retractions == ()


def test_the_state_keeps_who_said_what_within_its_bounds() -> None:
    """Sixteen facts of as many events stay under the cap, and the events are those of the facts that are kept."""
    texts = [f"relay-{n} runs on node-{n}." for n in range(30)]
    key = "0123456789abcdef0123456789abcdef"
    turns = [Turn(f"{key}{n:02}", "user", "user", text, NOW) for n, text in enumerate(texts)]
    state = extractor().extract([SessionTurns(b"", turns)])[0].state
    assert len(state) <= MAX_BYTES
    session = Session.decode(state)
    assert session.stated()[0].event == f"{key}29"
    assert {row[0] for row in session.told} == {row[6] for row in session.facts}


def test_a_dated_value_retracts_with_the_event_of_the_old_one() -> None:
    """What a dated new value takes the place of was said by an event, and the retraction names it."""
    after = read("Usman lives in Karachi.", "Usman moved to Lahore in May.")[1]
    assert [r.used for r in after.retractions] == [("m1",)]
