"""Why a message says what it says: a trace tells of each rule what became of it, and changes nothing."""

from __future__ import annotations

import functools
import json
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from memstream.cli.explain_page import page_of
from memstream.cli.main import app
from memstream.extractors.context.trace import WHY
from memstream.extractors.explain import Explanation, explain
from memstream.extractors.spacy_extractor import SpacyExtractor, create
from memstream.schemas.extraction import SessionTurns, Turn

START = datetime(2026, 3, 9, 10, 0, tzinfo=UTC)


@functools.cache
def extractor() -> SpacyExtractor:
    """One loaded extractor for this module."""
    return create()


def told(*texts: str, role: str = "user", asserts: bool = True) -> Explanation:
    """The explanation of the last text, after those before it."""
    turns = [Turn(f"e{i}", "user", "user", text, START + timedelta(hours=i)) for i, text in enumerate(texts[:-1])]
    speaker = "assistant" if role == "assistant" else "user"
    last = Turn("last", role, speaker, texts[-1], START + timedelta(days=1), asserts=asserts)
    return explain(extractor(), [*turns, last])


def run(*words: str) -> Result:
    """The command as a person gives it."""
    return CliRunner().invoke(app, ["explain-extraction", *words], prog_name="memstream", env={"COLUMNS": "160"})


DOUBTS = [
    ("Does Anna live in Porto?", "question"),
    ("Anna might live in Porto.", "modal"),
    ("If Anna lives in Porto, she is lucky.", "conditional"),
    ("Apparently Anna lives in Porto.", "hedge"),
    ("“Anna lives in Porto”, it said.", "quoted"),
    ("Anna wants to live in Porto.", "plan"),
    ("Peter says that Anna lives in Porto.", "hearsay"),
    ("Anna will live in Porto.", "future"),
]


@pytest.mark.parametrize(("text", "why"), DOUBTS)
def test_what_is_not_asserted_has_its_reason(text: str, why: str) -> None:
    """Questions, modals, conditions, hedges, quotations, plans, hearsay, what is to come."""
    found = told(text)
    assert not [fact for fact in found.facts if fact.predicate == "lives_in"]
    reasons = {a.why for a in found.refused if a.predicate == "lives_in"}
    reasons |= {clause.unsure for part in found.parts for clause in part.clauses if clause.verb == "live"}
    assert why in reasons


def test_a_fact_names_the_pattern_that_gave_it() -> None:
    """A line of the file for patterns, the rule's name for rules in code, the messages that were needed."""
    found = told("Anna lives in Porto.", "She works at Nimbus Archive.")
    [fact] = found.facts
    assert (fact.subject, fact.predicate, fact.object, fact.rule) == ("Anna", "works_at", "Nimbus Archive", "verb:work")
    assert fact.pattern.startswith("patterns.toml:")
    assert fact.used == ("e0",)
    assert told("My sister Anna is a nurse.").facts[0].pattern == ""


def test_a_condition_that_did_not_hold_is_named() -> None:
    """The pattern fits but for one thing, and that thing is told."""
    found = told("Ana moves to Porto in May.")
    assert ("lives_in", "done") in {(miss.predicate, miss.condition) for miss in found.missed}


def test_what_holds_for_the_whole_message_is_told() -> None:
    """An assistant's word, what was recalled, what is made up, what is no prose, what was cut."""
    assert "no user has confirmed" in told("You live in Porto, right.", role="assistant").notes[0]
    assert "recalled from memory" in told("Anna lives in Porto.", asserts=False).notes[0]
    assert "making things up" in told("Let's do a role-play.", "Anna lives in Porto.").notes[0]
    assert "records" in told('{"service": "relay", "version": "5.5.1", "owner": "Team Ash"}', role="tool").notes[0]
    assert "were not read" in told("Anna lives in Porto. " * 2_000).notes[0]


LINES = [
    "I'm Gulnara and I live in Leipzig.", "Where do you live?", "Porto.", "no, not Berlin", "apparently he owns a boat",
    "Tom left Acme on 3 May and no longer reports to Ines Garrec.", "payments-gw runs on Nomad and depends on redis-7.",
    "The outage was caused by an expired cert; Zubair fixed it.", "I prefer tea over coffee.", "", "🙂🙂",
    '{"service": "relay", "owner": "Team Ash", "version": "5.5.1"}', "We moved to Lyon. Ro\0me is nice, says Tom.",
]  # fmt: skip


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_a_trace_changes_nothing(role: str) -> None:
    """Read with a trace, each message of a session says what it says without."""
    state = b""
    for number, line in enumerate(LINES):
        turn = Turn(f"e{number}", role, "user", line, START + timedelta(hours=number))
        plain = extractor().extract([SessionTurns(state, [turn])])[0]
        assert extractor().traced(state, turn).extraction == plain.extractions[0]
        state = plain.state


def test_every_reason_is_put_in_words() -> None:
    """No attempt is refused for a reason that WHY does not know."""
    for line in (*LINES, *(text for text, _ in DOUBTS)):
        for attempt in told("Anna said hello.", line).refused:
            assert attempt.why in WHY, attempt


class Tags(HTMLParser):
    """The tags of a page, which must close as they were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        """Remember it."""
        self.seen.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """It must be the last that was opened."""
        assert self.open.pop() == tag


def test_the_page_draws_each_sentence_and_escapes_the_text() -> None:
    """One drawing a sentence, the mentions marked, and no markup of a message's own."""
    page = page_of(told("Anna lives in Porto. <script>alert(1)</script> Tom might move to Lyon, he said."))
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "script" not in tags.seen
    assert tags.seen.count("svg") >= 2
    assert "mark" in tags.seen
    assert "Anna | lives_in | Porto" in page


def test_the_command_prints_and_writes(tmp_path: Path) -> None:
    """In the terminal, as JSON, as a page; messages before it and the speaker's role count."""
    done = run("She might move to Porto, but she works at Nimbus Archive.", "--before", "My sister is Anna.")
    assert done.exit_code == 0, done.output
    for words in (
        "Tree",
        "Anna | works_at | Nimbus Archive",
        "verb:work at patterns.toml:",
        "a modal verb",
        "Not said",
    ):
        assert words in done.output
    row = json.loads(run("Does Anna live in Porto?", "--json").stdout)
    assert row["refused"][0]["reason"] == WHY["question"]
    assert row["parts"][0]["tokens"][0]["text"] == "Does"
    page = tmp_path / "page.html"
    assert run("Anna lives in Porto.", "--html", str(page)).exit_code == 0
    assert "<svg" in page.read_text(encoding="utf-8")
    asked = run("Porto.", "--before", "assistant: Where do you live?", "--time", "2026-03-06T09:00Z", "--json")
    assert [f["rule"] for f in json.loads(asked.stdout)["facts"]] == ["answer"]
    assert run("x", "--role", "judge").exit_code == 1
    assert run("x", "--time", "noon").exit_code == 1
