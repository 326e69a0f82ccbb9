"""The session's state, and what happens where a model fails."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memstream.extractors.errors import EmbedderUnavailable
from memstream.extractors.vectors.embedders import NoEmbedder
from memstream.schemas import cloudevents
from memstream.schemas.base import Data
from memstream.schemas.board import ItemKind, Posted
from memstream.schemas.conversation import Document, Message, Role
from memstream.schemas.errors import FatalError, Reason
from memstream.schemas.events import Event
from memstream.schemas.extraction import (
    EntityName,
    EntityType,
    ExtractedAssertion,
    Extraction,
    SessionExtraction,
    SessionTurns,
)
from memstream.schemas.patch import Patch
from memstream.schemas.tools import ToolCall, ToolStatus
from memstream.streams.chunk import ChunkConfig, ChunkWorker
from memstream.streams.records import Record, SessionResult, SessionWork
from memstream.streams.session_state import KEPT_EVENTS, SessionState

SCOPE, SOURCE = "acme/u-1", "agent://scout"
TIME = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class Counting:
    """Its state is how many turns it saw; it says so of each turn. It fails at `boom`, and at all while `broken`."""

    name = "counting"
    generation = 1

    def __init__(self) -> None:
        self.broken = False
        self.calls = 0

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """The number of each turn in its session, as a fact."""
        self.calls += 1
        return [self._session(session) for session in sessions]

    def _session(self, session: SessionTurns) -> SessionExtraction:
        seen, said = int(session.state or b"0"), []
        for turn in session.turns:
            if self.broken or turn.text == "boom":
                raise ValueError(f"cannot read {turn.text}")
            seen += 1
            subject = EntityName(EntityType.PERSON, turn.speaker)
            said.append(Extraction(assertions=(ExtractedAssertion(subject, "has_age", str(seen)),)))
        return SessionExtraction(str(seen).encode(), said)


class Away:
    """An embedding endpoint that does not answer."""

    name = "away"
    dims = 2

    def embed(self, texts: list[str]) -> np.ndarray[Any, Any]:
        """Nothing."""
        raise EmbedderUnavailable(f"no answer for {len(texts)} texts")


class Counted:
    """Vectors of ones; counts the texts it was asked for."""

    name = "ones"
    dims = 2

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed(self, texts: list[str]) -> np.ndarray[Any, Any]:
        """Ones."""
        self.asked.append(texts)
        return np.ones((len(texts), 2), dtype=np.float32)


@pytest.fixture
def extractor() -> Counting:
    """The counting extractor."""
    return Counting()


@pytest.fixture
def worker(tmp_path: Path, extractor: Counting) -> ChunkWorker:
    """A worker around the counting extractor, without vectors."""
    return ChunkWorker(ChunkConfig(tmp_path.as_uri()), extractor=extractor, embedder=NoEmbedder())


def record(offset: int, data: Data, event_id: str | None = None) -> Record:
    """The record of an event at an offset."""
    event = Event.of(data, id=event_id or f"e{offset}", source=SOURCE, time=TIME, scope=SCOPE)
    key, value, headers = cloudevents.encode(event)
    appended = int((TIME + timedelta(seconds=offset)).timestamp() * 1000)
    return Record(event.kind.topic.value, 0, offset, appended, key, value, tuple(headers))


def said(offset: int, text: str = "hello", session: str = "s1", event_id: str | None = None) -> Record:
    """A message's record."""
    return record(offset, Message(session_id=session, role=Role.USER, content=text), event_id)


def work(records: Sequence[Record], state: bytes = b"") -> SessionWork:
    """The work of the records' key."""
    return SessionWork(records[0].key, state, list(records))


def ages(result: SessionResult) -> list[str | None]:
    """What the extractor counted, for each output."""
    return [
        Patch.decode(o.patch).assertions[0].value if o.patch and o.refusal is None else None for o in result.outputs
    ]


def test_the_state_goes_from_chunk_to_chunk(worker: ChunkWorker) -> None:
    """Two chunks give the same bytes and the same state as one."""
    records = [said(offset) for offset in range(4)]
    [whole] = worker.process([work(records)])
    [first] = worker.process([work(records[:2])])
    assert first.state is not None
    [second] = worker.process([work(records[2:], first.state)])
    assert ages(whole) == ["1", "2", "3", "4"]
    assert [o.patch for o in whole.outputs] == [o.patch for o in first.outputs + second.outputs]
    assert whole.state == second.state


def test_what_the_state_covers_is_not_sent_again(worker: ChunkWorker) -> None:
    """After a crash between commit and offset the records come again: no patch, no refusal, the state unchanged."""
    records = [said(0), record(1, Message(session_id="s1", role=Role.USER, content="x"))]
    broken = Record("conversation", 0, 2, records[0].appended_ms, records[0].key, b"{", records[0].headers)
    [result] = worker.process([work([*records, broken])])
    assert result.state is not None
    [again] = worker.process([work([*records, broken], result.state)])
    assert again.state is None
    assert [(o.patch, o.refusal) for o in again.outputs] == [(None, None)] * 3
    [further] = worker.process([work([records[1], said(3)], result.state)])
    assert [o.patch is None for o in further.outputs] == [True, False]
    assert ages(further) == [None, "3"]


def test_a_repeated_event_leaves_the_state_alone(worker: ChunkWorker) -> None:
    """The same id again, in the same chunk or a later one, has its patch and does not count."""
    [result] = worker.process([work([said(0), said(1, event_id="e0"), said(2)])])
    assert ages(result) == ["1", "1", "2"]
    assert result.state is not None
    [later] = worker.process([work([said(3, event_id="e0"), said(4)], result.state)])
    assert ages(later) == ["1", "3"]


def test_only_a_bounded_number_of_events_is_remembered() -> None:
    """The state stays small; the oldest events are forgotten first."""
    state = SessionState()
    for number in range(KEPT_EVENTS + 10):
        state.take_in(f"{number:016x}{'0' * 16}")
    assert len(SessionState.decode(state.encode()).seen) == KEPT_EVENTS
    assert not state.has_seen("0" * 32)
    assert len(state.encode()) < 4_000


def test_a_state_from_elsewhere_stops_the_worker() -> None:
    """Bytes that this code did not write are never taken for an empty state."""
    for foreign in (b"{", b'{"v":9}', b'{"v":1,"offset":0,"seen":"?","state":""}'):
        with pytest.raises(FatalError):
            SessionState.decode(foreign)


def test_other_topics_and_documents_are_read_without_a_session(worker: ChunkWorker) -> None:
    """A board's and a document's text never see nor move the state of a session."""
    post = record(0, Posted(item_id="i", kind=ItemKind.NOTE, text="hello", agent_id="a"))
    document = record(1, Document(document_id="d", title="t", text="hello", session_id="s1"))
    board, talk = worker.process([work([post, post]), work([said(0), document, said(2)])])
    assert board.state is None
    assert ages(board) == ["1", "1"]
    assert ages(talk) == ["1", "1", "2"]


def test_one_event_that_fails_costs_the_others_nothing(worker: ChunkWorker, extractor: Counting) -> None:
    """The culprit is refused with a verdict; the outputs of all others are the same as without it."""
    talk = [said(0), said(1, "boom"), said(2), said(3)]
    other = [said(7, session="s2")]
    first, second = worker.process([work(talk), work(other)])
    assert ages(first) == ["1", None, "2", "3"]
    assert ages(second) == ["1"]
    refused = first.outputs[1]
    assert refused.refusal is not None
    assert refused.refusal.reason is Reason.EXTRACTION_FAILED
    assert "ValueError at test_chunk_state.py" in refused.refusal.message
    assert "boom" not in refused.refusal.message
    assert refused.patch is not None
    assert Patch.decode(refused.patch).reason is not None
    [part] = worker.process([work(talk[:2])])
    assert part.state is not None
    [rest] = worker.process([work(talk[2:], part.state)])
    assert rest.state == first.state
    assert [o.patch for o in first.outputs] == [o.patch for o in part.outputs + rest.outputs]


def test_one_call_reads_the_whole_chunk(worker: ChunkWorker, extractor: Counting) -> None:
    """All sessions of a chunk go to the extractor at once."""
    worker.process([work([said(n, session=f"s{n}"), said(n + 1, session=f"s{n}")]) for n in range(5)])
    assert extractor.calls == 1


def test_a_bug_does_not_empty_a_topic_into_the_dead_letters(worker: ChunkWorker, extractor: Counting) -> None:
    """Where the extractor fails at anything it is given, the worker stops and no event is blamed."""
    extractor.broken = True
    with pytest.raises(FatalError, match="fail at any text"):
        worker.process([work([said(0), said(1)])])


def test_an_endpoint_that_is_away_is_waited_for(tmp_path: Path) -> None:
    """A transient error goes to the caller, who tries the chunk again: nothing is refused for it."""
    worker = ChunkWorker(ChunkConfig(tmp_path.as_uri()), extractor=Counting(), embedder=Away())
    with pytest.raises(EmbedderUnavailable):
        worker.process([work([said(0), said(1)])])


def test_texts_of_a_chunk_are_embedded_once(tmp_path: Path) -> None:
    """One call with each different text once; empty messages have no vector."""
    embedder = Counted()
    worker = ChunkWorker(ChunkConfig(tmp_path.as_uri()), extractor=Counting(), embedder=embedder)
    worker.process([work([said(0, "a"), said(1, "b"), said(2, "a"), said(3, " ")]), work([said(4, "b", "s2")])])
    assert embedder.asked == [["a", "b"]]


def test_a_large_result_is_cut_and_its_whole_is_stored_first(worker: ChunkWorker, tmp_path: Path) -> None:
    """The patch has the cut, size and handle; the store has the bytes; the same of a tool's message."""
    rows = [{"id": number, "note": "x" * 50} for number in range(1_000)]
    call = record(0, ToolCall(call_id="c", tool="t", status=ToolStatus.SUCCESS, result=rows, session_id="s1"))
    message = record(1, Message(session_id="s1", role=Role.TOOL, content="line\n" * 10_000))
    for one in (call, message):
        [result] = worker.process([work([one])])
        value = result.outputs[0].patch
        assert value is not None
        assert len(value) < 40_000
        patch = Patch.decode(value)
        props = next(row.props for row in patch.nodes if "offload" in row.props)
        stored = next(path for path in tmp_path.rglob("*") if path.is_file() and path.name in props["offload"])
        assert stored.stat().st_size == props["result_size"]
        assert "cut down" in patch.cut[0]


def test_what_goes_to_a_child_can_be_pickled() -> None:
    """Config, work and results cross a process border; a key is not in the config's repr."""
    config = ChunkConfig("file:///tmp/x", embedder_api_key="secret")
    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301 - our own bytes
    assert "secret" not in repr(config)
