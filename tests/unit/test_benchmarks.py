"""What the benchmarks compute: texts, rates, quantiles, and how figures are told."""

from __future__ import annotations

import io
from pathlib import Path

import orjson
import pytest
from rich.console import Console

from benchmarks.extract import Measured, steady_rate
from benchmarks.figures import Aim, Figure, Section, as_json, number, show
from benchmarks.lineage import environment
from benchmarks.texts import SHARED, Corpus, corpus, events, scopes_below, texts_of
from benchmarks.whole import quantile
from memstream.schemas.conversation import Message
from memstream.settings import load


@pytest.fixture
def story(monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """The texts that the project itself has."""
    monkeypatch.delenv(SHARED, raising=False)
    return corpus()


def test_no_text_comes_twice_however_many_are_asked_for(story: Corpus) -> None:
    """Dialogues come again with their repetition said, in other sessions and scopes, and always the same."""
    made = events(story, "root", 2_000)
    assert len(set(texts_of(made))) == len(made) == len({event.id for event in made}) == 2_000
    assert made == events(story, "root", 2_000)
    assert {event.scope for event in made} <= set(scopes_below("root"))
    assert any(text.endswith(" (1)") for text in texts_of(made))


def test_a_dialogue_stays_in_order_in_one_session(story: Corpus) -> None:
    """The first session has the lines of the first dialogue."""
    made = events(story, "root", 200)
    first = [event.data.content for event in made if isinstance(event.data, Message) and event.data.session_id == "0-0"]
    assert first == [line.text for line in story.dialogues[0]]


def test_annotated_dialogues_are_taken_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON as a whole is left out: the extractor does not parse it, the bare models would."""
    texts = ("hello", '{"a": 1}', "bye")
    messages = [{"role": "user", "time": "2026-01-01T00:00:00Z", "text": text} for text in texts]
    (tmp_path / "gold").mkdir()
    (tmp_path / "gold" / "train.jsonl").write_bytes(orjson.dumps({"id": "d", "messages": messages}))
    monkeypatch.setenv(SHARED, str(tmp_path))
    found = corpus()
    assert found.origin == "annotated dialogues"
    assert texts_of(events(found, "root", 3)) == ["hello", "bye", "hello (1)"]


def test_the_rate_counts_from_the_end_of_the_burst_that_warming_up_ends_in() -> None:
    """Three bursts of ten, a second apart: the first is the warm-up, twenty in two seconds are left."""
    stamps = [burst + i * 0.001 for burst in (10.0, 11.0, 12.0) for i in range(10)]
    assert steady_rate(stamps, 5) == pytest.approx(10.0, rel=0.01)
    assert steady_rate(stamps, 10) == pytest.approx(10.0, rel=0.01)
    assert steady_rate(stamps[::-1], 11) == pytest.approx(10.0, rel=0.01)


def test_a_ratio_is_to_the_mean_of_the_bare_runs_around_it() -> None:
    """A machine that slows down slows both."""
    assert Measured(bare=[100, 80, 60], stage=[81, 35], cpu=[]).ratios == [0.9, 0.5]


@pytest.mark.parametrize(("share", "wanted"), [(0.5, 2), (0.95, 4), (0.0, 1), (1.0, 4)])
def test_a_quantile_is_a_value_that_was_measured(share: float, wanted: float) -> None:
    """The least that so many of the values do not exceed."""
    assert quantile([1, 2, 3, 4], share) == wanted


@pytest.mark.parametrize(
    ("value", "text"), [(0.8, "0.80"), (12.34, "12.3"), (123.4, "123"), (1234.5, "1,234"), (10.0, "10")]
)
def test_numbers_have_the_digits_that_matter(value: float, text: str) -> None:
    """Two significant digits or more, no false precision."""
    assert number(value) == text


def test_a_section_is_told_to_people_and_programs() -> None:
    """The table says which aims were reached; the JSON has everything."""
    figures = (
        Figure("rate", 120.0, "messages/s"),
        Figure("ratio", 0.9, aim=Aim(0.8)),
        Figure("p95", 2.0, "s", Aim(1, most=True)),
    )
    section = Section("x", "A title", figures, ("How.",), {"runs": [1]})
    said = io.StringIO()
    show(section, Console(file=said, width=100))
    for part in ("A title", "120 messages/s", "≥ 0.80 reached", "≤ 1.00 missed", "How."):
        assert part in " ".join(said.getvalue().split()).replace("│", "").replace("  ", " ")
    told = orjson.loads(orjson.dumps(as_json([section], 1.0)))
    assert told["machine"]["cores"] >= 1
    assert [figure["met"] for figure in told["benchmarks"]["x"]["figures"]] == [None, True, False]
    assert told["benchmarks"]["x"]["detail"] == {"runs": [1]}


def test_processes_are_told_all_settings_that_were_set(tmp_path: Path) -> None:
    """Secrets too, since the process has to log in; nothing of what was left to its default."""
    told = environment(load(data_dir=tmp_path, neo4j_password="secret", topic_prefix="x", partitions=3))
    assert told["MEMSTREAM_NEO4J_PASSWORD"] == "secret"
    assert (told["MEMSTREAM_TOPIC_PREFIX"], told["MEMSTREAM_PARTITIONS"]) == ("x", "3")
    assert "MEMSTREAM_REPLICATION_FACTOR" not in told
