"""Whom a session means: pronouns, descriptions, groups, parts of names, titles, relatives of relatives, speakers."""

from datetime import timedelta

import pytest
from extracting import NOW, extractor

from memstream.schemas.extraction import EntityName, Extraction, SessionTurns, Turn

# kind, messages ("Name: text" of a speaker with a name), all that they say
TABLE: list[tuple[str, list[str], set[str]]] = [
    (
        "pronoun",
        ["Ana Petrova works at Castellan Freight.", "She lives in Porto."],
        {"Ana Petrova | works_at | Castellan Freight", "Ana Petrova | lives_in | Porto"},
    ),
    (
        "pronoun",
        ["My brother Ilkka lives in Rauma.", "He works at Nimbus Archive."],
        {
            "Ilkka | sibling_of | user",
            "Ilkka | lives_in | Rauma",
            "Ilkka | works_at | Nimbus Archive",
        },
    ),
    (
        "pronoun",
        ["payments-gw runs on Nomad.", "It depends on redis-7."],
        {"payments-gw | runs_on | Nomad", "payments-gw | depends_on | redis-7"},
    ),
    (
        "pronoun",
        ["Nimbus Archive is owned by Meridiem Group.", "Its founder is Sefa Tuilagi."],
        {"Nimbus Archive | owned_by | Meridiem Group", "Sefa Tuilagi | founded | Nimbus Archive"},
    ),
    (
        "pronoun",
        ["Tom Hale manages the checkout squad.", "Ana Petrova reports to him."],
        {"checkout squad | managed_by | Tom Hale", "Ana Petrova | managed_by | Tom Hale"},
    ),
    (
        "pronoun",
        ["My sister Ana met Tom Hale.", "She lives in Porto.", "He lives in Oslo."],
        {"Ana | sibling_of | user", "Ana | lives_in | Porto", "Tom Hale | lives_in | Oslo"},
    ),
    (
        "pronoun",
        ["Tom Hale is my manager.", "his wife is Rosa Hale."],
        {"user | managed_by | Tom Hale", "Rosa Hale | partner_of | Tom Hale"},
    ),
    (
        "pronoun",
        ["The outage was caused by an expired cert.", "Zubair fixed it."],
        {"outage | caused_by | expired cert", "outage | fixed_by | Zubair"},
    ),
    ("pronoun", ["We opened an office in Tampere.", "Ilse de Wit lives there."], {"Ilse de Wit | lives_in | Tampere"}),
    ("pronoun", ["I met Tom Hale.", "It runs on Nomad."], {"user | knows | Tom Hale"}),
    (
        "plural",
        ["Ana Petrova and Tom Hale joined us.", "They live in Porto."],
        {"Ana Petrova | lives_in | Porto", "Tom Hale | lives_in | Porto"},
    ),
    (
        "plural",
        ["My parents Jorge and Ines visited.", "They both live in Porto."],
        {"Jorge | parent_of | user", "Ines | parent_of | user", "Jorge | lives_in | Porto", "Ines | lives_in | Porto"},
    ),
    (
        "plural",
        ["My sons Bo and Cy are here.", "The two of them study at Delft Polytechnic."],
        {
            "user | parent_of | Bo",
            "user | parent_of | Cy",
            "Bo | studied_at | Delft Polytechnic",
            "Cy | studied_at | Delft Polytechnic",
        },
    ),
    (
        "plural",
        ["Ana Petrova and Tom Hale joined us.", "Both work at Castellan Freight."],
        {"Ana Petrova | works_at | Castellan Freight", "Tom Hale | works_at | Castellan Freight"},
    ),
    (
        "definite",
        ["Pomelo Sync is our new project.", "The project depends on redis-7."],
        {"Pomelo Sync | depends_on | redis-7"},
    ),
    (
        "definite",
        ["I moved to Porto.", "Tom Hale lives in that city too."],
        {"user | lives_in | Porto", "Tom Hale | lives_in | Porto"},
    ),
    (
        "definite",
        ["Castellan Freight hired Ana Petrova.", "The company is owned by Meridiem Group."],
        {"Ana Petrova | works_at | Castellan Freight", "Castellan Freight | owned_by | Meridiem Group"},
    ),
    (
        "definite",
        ["I joined the Ingest squad.", "The squad is managed by Tom Hale."],
        {"user | member_of | Ingest squad", "Ingest squad | managed_by | Tom Hale"},
    ),
    ("definite", ["payments-gw was rewritten.", "The service runs on Nomad."], {"payments-gw | runs_on | Nomad"}),
    (
        "definite",
        ["RL-77 is open.", "The ticket is blocked by RL-70."],
        {"RL-77 | has_status | open", "RL-77 | blocked_by | RL-70"},
    ),
    (
        "my role",
        ["My manager is Tom Hale.", "My manager lives in Porto."],
        {"user | managed_by | Tom Hale", "Tom Hale | lives_in | Porto"},
    ),
    (
        "my role",
        ["My sister is called Ana Petrova.", "My sister works at Castellan Freight."],
        {"Ana Petrova | sibling_of | user", "Ana Petrova | works_at | Castellan Freight"},
    ),
    (
        "my role",
        ["My brother Ilkka visited.", "My brother lives in Rauma."],
        {"Ilkka | sibling_of | user", "Ilkka | lives_in | Rauma"},
    ),
    (
        "my role",
        ["My boss is Ines Garrec.", "hi", "My boss works at Castellan Freight."],
        {
            "user | managed_by | Ines Garrec",
            "Ines Garrec | works_at | Castellan Freight",
        },
    ),
    (
        "partial",
        ["Amira Haddad works at Castellan Freight.", "Amira lives in Porto."],
        {"Amira Haddad | works_at | Castellan Freight", "Amira Haddad | lives_in | Porto"},
    ),
    (
        "partial",
        ["Amira Haddad works at Castellan Freight.", "Haddad lives in Porto."],
        {"Amira Haddad | works_at | Castellan Freight", "Amira Haddad | lives_in | Porto"},
    ),
    (
        "partial",
        ["Nimbus Archive is down.", "Nimbus is owned by Meridiem Group."],
        {"Nimbus Archive | has_status | down", "Nimbus Archive | owned_by | Meridiem Group"},
    ),
    ("partial", ["Tom Hale and Tom Reyes joined us.", "Tom Reyes lives in Oslo."], {"Tom Reyes | lives_in | Oslo"}),
    (
        "title",
        ["Dr. Amira Haddad works at St Olave's Hospital.", "Dr. Haddad lives in Porto."],
        {"Amira Haddad | works_at | St Olave's Hospital", "Amira Haddad | lives_in | Porto"},
    ),
    ("title", ["I saw Dr Haddad today.", "The doctor lives in Porto."], {"Dr Haddad | lives_in | Porto"}),
    (
        "title",
        ["Amira Haddad is a nurse.", "The nurse lives in Porto."],
        {"Amira Haddad | has_role | nurse", "Amira Haddad | lives_in | Porto"},
    ),
    ("title", ["Prof. Lund teaches here.", "The professor lives in Oslo."], {"Prof. Lund | lives_in | Oslo"}),
    (
        "kin",
        ["My sister's husband Tom lives in Oslo."],
        {"Tom | partner_of | user's sister", "user's sister | sibling_of | user", "Tom | lives_in | Oslo"},
    ),
    (
        "kin",
        ["My sister Ana is married to Tom Hale.", "Tom's boss is Ines Garrec."],
        {"Ana | sibling_of | user", "Ana | partner_of | Tom Hale", "Tom Hale | managed_by | Ines Garrec"},
    ),
    (
        "kin",
        ["My sister's husband Tom works at Nimbus Archive.", "Tom's boss's wife is Rosa Marin."],
        {
            "Tom | partner_of | user's sister",
            "user's sister | sibling_of | user",
            "Tom | works_at | Nimbus Archive",
            "Rosa Marin | partner_of | Tom's boss",
            "Tom | managed_by | Tom's boss",
        },
    ),
    (
        "kin",
        ["My sister Ana visited.", "Ana's husband is Tom Hale.", "Her husband works at Castellan Freight."],
        {"Ana | sibling_of | user", "Tom Hale | partner_of | Ana", "Tom Hale | works_at | Castellan Freight"},
    ),
    (
        "kin",
        ["My wife's mother lives in Porto."],
        {
            "user's wife's mother | lives_in | Porto",
            "user's wife's mother | parent_of | user's wife",
            "user's wife | partner_of | user",
        },
    ),
    (
        "speaker",
        ["Rasmus: I live in Porto.", "Ana: Rasmus works at Castellan Freight."],
        {"Rasmus | lives_in | Porto", "Rasmus | works_at | Castellan Freight"},
    ),
    (
        "speaker",
        ["Rasmus: I live in Porto.", "Ana: Do you work at Castellan Freight?", "Rasmus: yes"],
        {"Rasmus | lives_in | Porto"},
    ),
    ("speaker", ["Rasmus: Ana's my sister.", "Ana: he lives in Porto."], {"Rasmus | lives_in | Porto"}),
    (
        "speaker",
        ["Rasmus: I manage the checkout squad.", "Ana: I report to Rasmus."],
        {"checkout squad | managed_by | Rasmus", "Ana | managed_by | Rasmus"},
    ),
    (
        "speaker",
        ["Rasmus: hello", "Ana: my manager is Rasmus.", "Rasmus: I live in Porto"],
        {"Ana | managed_by | Rasmus", "Rasmus | lives_in | Porto"},
    ),
]

# what looks like a reference and is none, or none that can be told
UNTOLD: list[tuple[list[str], str]] = [
    (
        ["My sister Ana visited.", "My sister Rosa called.", "My sister lives in Porto."],
        "user's sister | lives_in | Porto",
    ),
    (["My brother Ilkka visited.", "My sister lives in Porto."], "user's sister | lives_in | Porto"),
    (["Ana Petrova's husband is Tom Hale.", "My husband lives in Porto."], "user's husband | lives_in | Porto"),
]


def read(*messages: str) -> list[Extraction]:
    """What each message of a session says."""
    turns = []
    for number, message in enumerate(messages):
        who, colon, text = message.partition(": ")
        named = bool(colon) and who.istitle() and " " not in who
        speaker, said = (who, text) if named else ("user", message)
        turns.append(Turn(f"m{number + 1}", "user", speaker, said, NOW + timedelta(minutes=number), named=named))
    return extractor().extract([SessionTurns(b"", turns)])[0].extractions


def facts(*messages: str, rules_only: bool = False) -> set[str]:
    """All that a session says, as text; without what only the model of relations saw, if so wanted."""
    return {
        f"{'not ' if a.negated else ''}{a.subject.name} | {a.predicate} | "
        f"{a.object.name if isinstance(a.object, EntityName) else a.object}"
        for extraction in read(*messages)
        for a in extraction.assertions
        if not (rules_only and a.rule == "model")
    }


@pytest.mark.parametrize(("kind", "messages", "expected"), TABLE, ids=[f"{row[0]}: {row[1][-1]}" for row in TABLE])
def test_whom_a_session_means(kind: str, messages: list[str], expected: set[str]) -> None:
    """What is referred to is the one that was named, and no rule says anything else."""
    assert expected <= facts(*messages), kind
    assert facts(*messages, rules_only=True) <= expected, kind


@pytest.mark.parametrize(("messages", "expected"), UNTOLD)
def test_two_that_fit_are_none(messages: list[str], expected: str) -> None:
    """Where two fit a description, or one of another gender or owner, it stays a description."""
    found = facts(*messages)
    assert expected in found
    assert not any(fact.startswith(("Ana", "Rosa", "Ilkka", "Tom")) and "Porto" in fact for fact in found)


@pytest.mark.parametrize(
    ("messages", "used"),
    [
        (["My manager is Tom Hale.", "My manager lives in Porto."], {"m1"}),
        (["Amira Haddad is a nurse.", "The nurse lives in Porto."], {"m1"}),
        (["Ana Petrova and Tom Hale joined us.", "They live in Porto."], {"m1"}),
        (["Pomelo Sync is our new project.", "The project depends on redis-7."], {"m1"}),
        (["We opened an office in Tampere.", "Ilse de Wit lives there."], {"m1"}),
    ],
)
def test_a_reference_used_the_event_that_told(messages: list[str], used: set[str]) -> None:
    """What could not be read without an earlier message names it, so that its erasure reaches what was read by it."""
    said = read(*messages)[-1].assertions
    assert said
    assert all(used <= set(a.used) for a in said if a.rule.startswith("verb:"))


def test_a_group_is_forgotten() -> None:
    """Three messages later "they" is not the two who were named then."""
    found = facts("Ana Petrova and Tom Hale joined us.", "hi", "hi", "hi", "They live in Porto.")
    assert found.isdisjoint({"Ana Petrova | lives_in | Porto"})
