"""Extraction is a pure function: of a session's turns, however they are batched, and of nothing else."""

import functools
import itertools
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstream.extractors.context.session import MAX_BYTES, Session
from memstream.extractors.registry import create_extractor
from memstream.schemas.extraction import Extraction, Extractor, SessionTurns, Turn

START = datetime(2026, 3, 9, 10, 0, tzinfo=UTC)
LINES = [
    "I'm Gulnara and I live in Leipzig.",
    "My sister Anna works at Nimbus Archive. She moved to Porto in May.",
    "Where do you live?",
    "Porto.",
    "Is Ana Lindqvist your manager?",
    "yes",
    "payments-gw runs on Nomad and depends on redis-7.",
    "It was deployed to eu-west-1 yesterday.",
    "no, not Berlin",
    "no wait, Lisbon",
    "sorry, I meant Anna, not Ana",
    "scratch that",
    "My manager is Ana Lindqvist. My manager and Tom Hale live in Porto.",
    "They both work at Nimbus Archive, just kidding",
    "The checkout outage was caused by an expired cert; Zubair fixed it.",
    '{"service": "relay", "owner": "Team Ash", "version": "5.5.1", "since": "2026-01-04"}',
    "I prefer tea over coffee. Never send me voice notes.",
    "Tom left Acme on 3 May and no longer reports to Ines Garrec.",
    "apparently he owns a boat",
    "```\nTraceback (most recent call last):\n  boom\n```\nRL-77 is blocked by RL-70",
    "",
    "🙂🙂",
    "שלום, אני גר בברלין",
    "Ich wohne jetzt in Leipzig und arbeite mit Frau Dr. Lund bei der Kestrel GmbH.",
    "Leipzig",
    "The company is owned by Meridiem Group. Its founder, Sefa Tuilagi, is 52.",
]
ROLES = ["user", "user", "user", "assistant", "system", "tool"]


@functools.cache
def extractor() -> Extractor:
    """One loaded extractor for this module."""
    return create_extractor("spacy")


@st.composite
def sessions(draw: st.DrawFn) -> list[Turn]:
    """A few turns of a talk, some of them by named speakers, some texts arbitrary."""
    turns = []
    for number in range(draw(st.integers(1, 8))):
        text = draw(st.sampled_from(LINES) | st.text(max_size=60))
        role = draw(st.sampled_from(ROLES))
        named = draw(st.booleans()) and role in ("user", "assistant")
        speaker = draw(st.sampled_from(["Rasmus", "schema-bot"])) if named else role
        turns.append(Turn(f"e{number}", role, speaker, text, START + timedelta(hours=number), named=named))
    return turns


SLOW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SLOW
@given(sessions(), st.data())
def test_cutting_a_session_into_calls_changes_nothing(turns: list[Turn], data: st.DataObject) -> None:
    """The same turns over several calls, the state handed on, give the same extractions and the same state bytes."""
    whole = extractor().extract([SessionTurns(b"", turns)])[0]
    cuts = sorted({0, len(turns), *data.draw(st.lists(st.integers(0, len(turns)), max_size=4))})
    state, pieces = b"", []
    for a, b in itertools.pairwise(cuts):
        part = extractor().extract([SessionTurns(state, turns[a:b])])[0]
        state = part.state
        pieces += part.extractions
    assert pieces == whole.extractions
    assert state == whole.state


@SLOW
@given(st.lists(sessions(), min_size=1, max_size=4))
def test_other_sessions_in_a_batch_have_no_influence(batch: list[list[Turn]]) -> None:
    """A session gives the same alone and among others, whatever the extractor read before."""
    together = extractor().extract([SessionTurns(b"", turns) for turns in batch])
    for turns, result in zip(reversed(batch), reversed(together), strict=True):
        alone = extractor().extract([SessionTurns(b"", turns)])[0]
        assert alone == result


@SLOW
@given(sessions())
def test_state_is_bounded_and_reads_back(turns: list[Turn]) -> None:
    """State bytes stay under the cap and decode to what they were made of."""
    state = extractor().extract([SessionTurns(b"", turns)])[0].state
    assert len(state) <= MAX_BYTES
    assert Session.decode(state).encode() == state


@SLOW
@given(sessions())
def test_a_repeated_event_leaves_the_state(turns: list[Turn]) -> None:
    """An event that arrives twice changes the state once."""
    once = extractor().extract([SessionTurns(b"", turns)])[0].state
    again = extractor().extract([SessionTurns(once, [turns[-1]])])[0].state
    assert again == once


@SLOW
@given(sessions())
def test_mentions_index_the_original_text(turns: list[Turn]) -> None:
    """text[start:end] is what the mention says, whatever was masked or cut before the parser."""
    for turn, extraction in zip(turns, extractor().extract([SessionTurns(b"", turns)])[0].extractions, strict=True):
        for mention in extraction.mentions:
            assert turn.text[mention.start : mention.end] == mention.text


@SLOW
@given(sessions())
def test_recalled_text_asserts_nothing(turns: list[Turn]) -> None:
    """What was served from memory names things and says nothing new."""
    recalled = [replace(turn, asserts=False) for turn in turns]
    for extraction in extractor().extract([SessionTurns(b"", recalled)])[0].extractions:
        assert extraction.assertions == ()
        assert extraction.preferences == ()


SCRIPT = """
import sys, orjson
from datetime import datetime
from memstream.extractors.registry import create_extractor
from memstream.schemas.extraction import SessionTurns, Turn
at = datetime.fromisoformat("2026-03-09T10:00:00+00:00")
turns = [Turn(i, r, r, t, at) for i, r, t in orjson.loads(sys.stdin.buffer.read())]
result = create_extractor("spacy").extract([SessionTurns(b"", turns)])[0]
sys.stdout.buffer.write(repr(result.extractions).encode() + result.state)
"""


def test_another_process_reads_the_same() -> None:
    """Two processes with different hash seeds give the same bytes."""
    turns = orjson.dumps([[f"e{i}", "user", line] for i, line in enumerate(LINES)])
    answers = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            input=turns,
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1


def test_nothing_said_gives_nothing() -> None:
    """Empty input is fine everywhere."""
    assert extractor().extract([]) == []
    result = extractor().extract([SessionTurns(b"", [Turn("e", "user", "user", "", START)])])[0]
    assert result.extractions == [Extraction()]
