"""What a replay takes of the log, and what follows from its command."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from events import message
from patches import SilentExtractor

from memstream.extractors.vectors.embedders import create_embedder
from memstream.schemas.cloudevents import encode
from memstream.schemas.errors import InvalidInput, InvalidScope
from memstream.schemas.events import Event
from memstream.schemas.extraction import SessionExtraction, SessionTurns
from memstream.schemas.statement import Erased, ErasureKind
from memstream.settings import load
from memstream.streams.chunk import ChunkConfig, ChunkWorker
from memstream.streams.records import Output, Record, SessionWork
from memstream.streams.replay.plan import Plan, Source
from memstream.streams.replay.progress import Meter, State
from memstream.streams.replay.window import Window
from memstream.streams.session_state import SessionState

MAY, JUNE, JULY = (f"2026-0{month}-01T00:00:00.000000Z" for month in (5, 6, 7))


def test_a_window_has_scopes_with_all_below_and_a_span_of_recorded_time() -> None:
    """By whole segments, both ends included."""
    window = Window.of(("acme/a",), since="2026-05-01", until="2026-06-01T00:00:00Z")
    assert window.takes("acme/a", MAY)
    assert window.takes("acme/a/deep", JUNE)
    assert not window.takes("acme/ab", MAY)
    assert not window.takes("acme", MAY)
    assert not window.takes("acme/a", JULY)
    assert not window.takes("acme/a", "2026-04-30T23:59:59.999999Z")
    assert Window().whole
    assert not window.whole


def test_erasures_pass_whenever_they_were_recorded() -> None:
    """What was erased in July stays out of the graph as it was in May, also by an erasure of a scope above."""
    window = Window.of(("acme/a",), until="2026-05-01")
    assert window.takes("acme/a", JULY, erases=True)
    assert window.takes("acme", JULY, erases=True)
    assert not window.takes("other", JULY, erases=True)


def test_a_window_goes_through_a_command_line_and_is_told_in_words() -> None:
    """The stage's process gets the same window; a person reads it."""
    window = Window.of(("b", "a"), since="2026-05-01T02:00:00+02:00")
    assert Window.decode(window.encode()) == window
    assert Window.decode("") == Window()
    assert (str(window), str(Window())) == (f"of a, b since {MAY}", "all")


@pytest.mark.parametrize(("scope", "until", "error"), [("a//b", None, InvalidScope), ("a", "soon", InvalidInput)])
def test_what_is_no_window_is_refused(scope: str, until: str | None, error: type[Exception]) -> None:
    """A slip must not rebuild something else."""
    with pytest.raises(error):
        Window.of((scope,), until=until)


class Remembering(SilentExtractor):
    """Keeps all texts of a session in its state."""

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """What was read goes into the state."""
        found = super().extract(sessions)
        texts = [" ".join(turn.text for turn in session.turns).encode() for session in sessions]
        return [replace(one, state=one.state + text) for one, text in zip(found, texts, strict=True)]


def _read(window: Window, events: list[tuple[Event, str]], folder: Path) -> tuple[list[Output], bytes]:
    """The outputs of one session's events, each appended at a time, and the state they leave."""
    config = ChunkConfig(offload_url=folder.as_uri(), window=window)
    worker = ChunkWorker(config, extractor=Remembering(), embedder=create_embedder("none"))
    records = []
    for offset, (event, appended) in enumerate(events):
        key, value, headers = encode(event)
        at = round(datetime.fromisoformat(appended).timestamp() * 1000)
        records.append(Record(event.kind.topic.value, 0, offset, at, key, value, tuple(headers)))
    [result] = worker.process([SessionWork(records[0].key, b"", records)])
    return result.outputs, result.state or b""


def test_what_lies_before_the_window_makes_nothing_and_is_read(tmp_path: Path) -> None:
    """A patch is a function of what its session said before: so that is read, while what follows the window is not."""
    events = [(message("acme/a", n, "abc"[n]), at) for n, at in enumerate((MAY, JUNE, JULY))]
    outputs, state = _read(Window.of(since=JUNE, until=JUNE), events, tmp_path)
    assert [output.patch is not None for output in outputs] == [False, True, False]
    whole, _ = _read(Window(), events, tmp_path)
    assert outputs[1].patch == whole[1].patch
    _, without_the_last = _read(Window(), events[:2], tmp_path)
    assert SessionState.decode(state).extractor == SessionState.decode(without_the_last).extractor == b"a b"


def test_another_scope_makes_nothing(tmp_path: Path) -> None:
    """Neither a patch nor a state."""
    outputs, state = _read(Window.of(("acme/b",)), [(message("acme/a", 1, "a"), MAY)], tmp_path)
    assert ([output.patch for output in outputs], state) == ([None], b"")


def test_an_erasure_makes_its_patch_outside_of_the_window(tmp_path: Path) -> None:
    """As-was graphs hold what is forgotten since no more than others."""
    erased = Erased(kind=ErasureKind.SESSION, ids=("s1",))
    event = Event.of(erased, id="e1", source="tests", time=message("acme/a", 1, "a").time, scope="acme/a")
    outputs, _ = _read(Window.of(until=MAY), [(event, JULY)], tmp_path)
    assert outputs[0].patch is not None


def test_the_same_command_is_the_same_replay() -> None:
    """Its lineage follows from what it is asked for, or has the name that it was given."""
    settings = load(topic_prefix="memory")
    plan = Plan(Source.EVENTS, Window.of(("a",)), into="bolt://127.0.0.1:7688", extractor="next")
    assert plan.lineage(settings) == Plan(**{f: getattr(plan, f) for f in plan.__slots__}).lineage(settings)
    assert plan.lineage(settings).startswith("memory.replay-")
    assert plan.lineage(settings) != replace(plan, extractor="other").lineage(settings)
    assert replace(plan, name="x").lineage(settings) == "memory.replay-x"


def test_a_replay_from_events_reads_the_live_events_and_writes_a_lineage_of_its_own() -> None:
    """Into the live graph it writes the live patches topic; from patches there is no lineage of its own."""
    settings = load(topic_prefix="memory", neo4j_uri="bolt://127.0.0.1:7687")
    own = Plan(Source.EVENTS, into="bolt://127.0.0.1:7688", extractor="next", name="x").target(settings)
    told = (own.topic_prefix, own.events_prefix, own.patches_prefix, own.extractor, own.neo4j_uri)
    assert told == ("memory.replay-x", "memory", None, "next", "bolt://127.0.0.1:7688")
    live = Plan(Source.EVENTS, name="x").target(settings)
    assert (live.patches_prefix, live.neo4j_uri) == ("memory", "bolt://127.0.0.1:7687")
    assert Plan(Source.PATCHES, wipe=True).target(settings) == settings


@pytest.mark.parametrize(
    ("plan", "word"),
    [
        (Plan(Source.PATCHES), "--into"),
        (Plan(Source.PATCHES, into="bolt://127.0.0.1:1", extractor="next"), "--from events"),
        (Plan(Source.EVENTS, Window.of(until="2026-05-01")), "--until"),
    ],
)
def test_what_makes_no_sense_is_refused(plan: Plan, word: str) -> None:
    """With what to write instead."""
    with pytest.raises(InvalidInput, match=word):
        plan.check()


def test_an_address_that_is_none_is_refused() -> None:
    """Before anything is done."""
    with pytest.raises(InvalidInput, match="--into"):
        Plan(Source.PATCHES, into="127.0.0.1:7688").target(load())


def test_a_meter_counts_from_where_an_earlier_run_was() -> None:
    """The rate is of this run; what was done before counts as done."""
    states: list[State] = []
    meter = Meter(states.append)
    meter.begin("apply", 50, 100)
    meter.add(20)
    meter.reach(90)
    assert states[-1] == State("apply", 90, 100)
    assert meter.counted == {"apply": 40}
    assert meter.rate("apply") > 0
    assert meter.rate("wipe") == 0
