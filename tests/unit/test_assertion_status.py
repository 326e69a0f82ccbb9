"""What is asserted and what is not: negation, questions, conditions, modals, wishes, plans, jokes, reports, doubt."""

from datetime import timedelta

import pytest
from extracting import NOW, extractor

from memstream.schemas.extraction import EntityName, ExtractedAssertion, SessionTurns, Turn

ASSISTANT = "assistant: "

TOM_OSLO = "Tom | lives_in | Oslo"
TOM_WORKS = "Tom | works_at | Castellan"
ME_WORKS = "user | works_at | Castellan"
ME_OSLO = "user | lives_in | Oslo"
ANA_SQUAD = "checkout squad | managed_by | Ana"

# kind, messages, all that stands at the end (nothing more)
TABLE: list[tuple[str, list[str], set[str]]] = [
    ("negation", ["Tom doesn't live in Oslo."], {f"not {TOM_OSLO}"}),
    ("negation", ["I never worked at Castellan."], {f"not {ME_WORKS}"}),
    ("negation", ["Tom no longer works at Castellan."], {f"not {TOM_WORKS}"}),
    ("negation", ["Tom stopped working at Castellan."], {f"not {TOM_WORKS}"}),
    ("negation", ["Nobody at Castellan works on Pomelo Sync."], set()),
    ("negation", ["I don't think Tom works at Castellan."], set()),
    ("negation", ["It's not true that Tom lives in Oslo."], set()),
    ("negation", ["Tom denied that he works at Castellan."], set()),
    ("negation", ["I doubt that Tom works at Castellan."], set()),
    ("negation", ["Neither Tom nor Ana lives in Oslo."], {f"not {TOM_OSLO}", "not Ana | lives_in | Oslo"}),
    ("negation", ["Tom lives in Oslo because he doesn't like Bergen."], {TOM_OSLO}),
    ("negation", ["Not only does Tom live in Oslo, he also speaks Danish."], {TOM_OSLO, "Tom | speaks | Danish"}),
    ("negation", ["Without Tom working at Castellan we would be lost."], set()),
    ("negation", ["Tom doesn't speak Dutch or Danish."], {"not Tom | speaks | Dutch", "not Tom | speaks | Danish"}),
    ("contrast", ["Tom lives in Oslo, not in Bergen."], {TOM_OSLO, "not Tom | lives_in | Bergen"}),
    ("contrast", ["Tom lives in Oslo, not Bergen."], {TOM_OSLO, "not Tom | lives_in | Bergen"}),
    (
        "contrast",
        ["Ana, not Tom, manages the checkout squad."],
        {ANA_SQUAD, "not checkout squad | managed_by | Tom"},
    ),
    ("contrast", ["Ana reports to Tom, not to Ines."], {"Ana | managed_by | Tom", "not Ana | managed_by | Ines"}),
    (
        "contrast",
        ["The outage wasn't caused by the deploy but by an expired cert."],
        {"not outage | caused_by | deploy", "outage | caused_by | expired cert"},
    ),
    ("question", ["Does Tom live in Oslo?"], set()),
    ("question", ["Tom lives in Oslo, right?"], set()),
    ("question", ["tom works at Castellan now?"], set()),
    ("question", ["I wonder whether Tom works at Castellan."], set()),
    ("question", ["Do you know if Tom lives in Oslo?"], set()),
    ("question", ["Why does Tom live in Oslo?"], set()),
    ("question", ["Can you ask Tom whether he lives in Oslo"], set()),
    ("condition", ["If Tom lives in Oslo we could meet there."], set()),
    ("condition", ["Unless Ana works at Castellan, nobody can sign."], set()),
    ("condition", ["Had Tom lived in Oslo, he would know."], set()),
    ("condition", ["Should Ana move to Oslo, we need a new lead."], set()),
    ("condition", ["Suppose Tom works at Castellan."], set()),
    ("condition", ["In case Tom lives in Oslo, bring a coat."], set()),
    ("condition", ["As long as Ana manages the checkout squad, it works."], set()),
    ("condition", ["When Tom lives in Oslo, he will see."], set()),
    ("condition", ["Tom would live in Oslo if he could."], set()),
    ("modal", ["Tom might live in Oslo."], set()),
    ("modal", ["Ana could be the manager of the checkout squad."], set()),
    ("modal", ["Tom must live in Oslo by now."], set()),
    ("modal", ["It's possible that Tom lives in Oslo."], set()),
    ("modal", ["Tom seems to live in Oslo."], set()),
    ("modal", ["Tom is supposed to work at Castellan."], set()),
    ("modal", ["There's a chance that Tom works at Castellan."], set()),
    ("wish", ["I wish I lived in Oslo."], set()),
    ("wish", ["I'd love to work at Castellan."], set()),
    ("wish", ["If only Tom lived in Oslo."], set()),
    ("wish", ["My dream is to live in Oslo."], set()),
    ("plan", ["I'm moving to Oslo in May."], set()),
    ("plan", ["Tom will join Castellan next month."], set()),
    ("plan", ["We are going to deploy relay-api to eu-west-1."], set()),
    ("plan", ["Tom is thinking about joining Castellan."], set()),
    ("plan", ["Ana promised to fix the outage."], set()),
    ("dated plan", ["The review is scheduled for 3 March."], {"review | scheduled_for | 2026-03-03"}),
    ("dated plan", ["The launch will be on 3 March."], {"launch | scheduled_for | 2026-03-03"}),
    ("dated plan", ["The report is due on Friday."], {"report | has_deadline | 2026-01-16"}),
    ("joke", ["I own three islands, just kidding."], set()),
    ("joke", ["I live on the moon lol jk"], set()),
    ("joke", ["My manager is Darth Vader, haha just joking."], set()),
    ("joke", ["I'm the CEO of Castellan. Kidding!"], set()),
    ("joke", ["I work at Castellan lol not really"], set()),
    ("joke", ["Tom owns Castellan /s"], set()),
    ("joke", ["I live in Oslo.", "just kidding"], set()),
    ("joke", ["I live in Oslo.", "jk, I live in Bergen"], {"user | lives_in | Bergen"}),
    ("no joke", ["No kidding, Tom lives in Oslo."], {TOM_OSLO}),
    ("no joke", ["Tom lives in Oslo 😂"], {TOM_OSLO}),
    ("report", ["Tom says he works at Castellan."], {TOM_WORKS}),
    ("report", ["Tom says Ana works at Castellan."], set()),
    ("report", ["According to Ana, Tom works at Castellan."], set()),
    ("report", ["I heard that Tom lives in Oslo."], set()),
    ("report", ["Rumour has it that Tom works at Castellan."], set()),
    ("report", ["Word is Tom works at Castellan."], set()),
    ("report", ["They say Tom lives in Oslo."], set()),
    ("report", ["Ana claims that Tom lives in Oslo."], set()),
    ("report", ['The article reads: "Tom Hale works at Castellan".'], set()),
    ("report", ["It turns out that Tom lives in Oslo."], {TOM_OSLO}),
    ("doubt", ["I think Tom lives in Oslo."], set()),
    ("doubt", ["Tom works at Castellan, I think."], set()),
    ("doubt", ["Apparently Tom lives in Oslo."], set()),
    ("doubt", ["I'm not sure Tom works at Castellan."], set()),
    ("doubt", ["Tom lives in Oslo, as far as I know."], set()),
    ("doubt", ["Tom lives in Oslo, if I remember correctly."], set()),
    ("doubt", ["Tom lives in Oslo or Bergen."], set()),
    ("doubt", ["Tom lives in Oslo or something."], set()),
    ("doubt", ["Tom speaks Dutch or Danish."], set()),
    ("restated", ["hi", f"{ASSISTANT}So you live in Oslo?"], set()),
    ("restated", ["hi", f"{ASSISTANT}So you live in Oslo?", "yes"], {ME_OSLO}),
    ("restated", ["hi", f"{ASSISTANT}Tom works at Castellan.", "that's right, thanks"], {TOM_WORKS}),
    ("restated", ["hi", f"{ASSISTANT}Tom works at Castellan.", "maybe"], set()),
    ("restated", ["hi", f"{ASSISTANT}Tom works at Castellan.", "I guess so"], set()),
    ("restated", ["hi", f"{ASSISTANT}Tom works at Castellan.", "no"], set()),
    ("restated", ["hi", f"{ASSISTANT}You should work at Castellan.", "yes"], set()),
]


def standing(*messages: str) -> dict[str, ExtractedAssertion]:
    """What was asserted and not taken back at the end of a session."""
    turns = []
    for number, message in enumerate(messages):
        role = "assistant" if message.startswith(ASSISTANT) else "user"
        text = message.removeprefix(ASSISTANT)
        turns.append(Turn(f"m{number + 1}", role, role, text, NOW + timedelta(minutes=number)))
    found: dict[str, ExtractedAssertion] = {}
    for extraction in extractor().extract([SessionTurns(b"", turns)])[0].extractions:
        for r in extraction.retractions:
            found.pop(_triple(r.subject, r.predicate, r.object), None)
        for a in extraction.assertions:
            found[("not " if a.negated else "") + _triple(a.subject, a.predicate, a.object)] = a
    return found


def _triple(subject: EntityName, predicate: str, obj: EntityName | str) -> str:
    return f"{subject.name} | {predicate} | {obj.name if isinstance(obj, EntityName) else obj}"


@pytest.mark.parametrize(("kind", "messages", "expected"), TABLE, ids=[f"{row[0]}: {row[1][-1]}" for row in TABLE])
def test_what_stands_at_the_end(kind: str, messages: list[str], expected: set[str]) -> None:
    """All that is asserted is put down, and nothing that is only asked, wished, planned, joked, reported or doubted."""
    assert set(standing(*messages)) == expected, kind


def test_doubt_that_leaves_a_fact_is_its_confidence() -> None:
    """Someone's word of their own life counts for less than a plain statement, and "pretty sure" for less than both."""
    plain = standing("Tom Hale works at Castellan.")
    told = standing("Tom Hale says he works at Castellan.")
    nearly = standing("I'm pretty sure Tom Hale works at Castellan.")
    sure = [found["Tom Hale | works_at | Castellan"].confidence for found in (plain, told, nearly)]
    assert sure == [1.0, 0.9, 0.8]


def test_a_confirmed_restatement_used_the_one_who_guessed() -> None:
    """What a yes confirms was read with the help of the message that guessed it."""
    found = standing("hi", f"{ASSISTANT}So you live in Oslo?", "yes")
    assert found[ME_OSLO].used == ("m2",)
