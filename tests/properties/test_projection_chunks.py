"""The bytes of an output depend on the records and the state before them alone, however they are put into chunks."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstream.schemas import cloudevents
from memstream.schemas.conversation import Document, Message, Role
from memstream.schemas.events import Event
from memstream.schemas.extraction import (
    EntityName,
    EntityType,
    ExtractedAssertion,
    Extraction,
    Mention,
    SessionExtraction,
    SessionTurns,
    Turn,
)
from memstream.schemas.patch import Patch
from memstream.schemas.tools import ToolCall, ToolStatus
from memstream.streams.chunk import ChunkConfig, ChunkWorker
from memstream.streams.records import Output, Record, SessionWork

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
FACT = re.compile(r"(\w+) lives in (\w+)")


class Toy:
    """Reads "X lives in Y", where X may be "she": whom the session named last. It fails at the word boom."""

    name = "toy"
    generation = 1

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """In order; the state is the last name and the event that gave it."""
        return [self._session(session) for session in sessions]

    def _session(self, session: SessionTurns) -> SessionExtraction:
        state, found = orjson.loads(session.state or b"[]"), []
        for turn in session.turns:
            extraction, state = self._turn(turn, state)
            found.append(extraction)
        return SessionExtraction(orjson.dumps(state), found)

    def _turn(self, turn: Turn, state: list[str]) -> tuple[Extraction, list[str]]:
        if "boom" in turn.text:
            raise RuntimeError("boom")
        match = FACT.search(turn.text)
        if match is None or (match[1] == "she" and not state):
            return Extraction(), state
        name, used = (match[1], ()) if match[1] != "she" else (state[0], (state[1],))
        who, where = EntityName(EntityType.PERSON, name), EntityName(EntityType.LOCATION, match[2])
        fact = ExtractedAssertion(who, "lives_in", where, used=used)
        return Extraction((Mention(where, match[2], match.start(2), match.end(2)),), (fact,)), [name, turn.event_id]


class Letters:
    """A vector made of a text's letters."""

    name = "letters"
    dims = 4

    def embed(self, texts: list[str]) -> np.ndarray[Any, Any]:
        """Four numbers for each text."""
        return np.array([[text.count(c) for c in "aeio"] for text in texts], dtype=np.float32)


Worker = Callable[[], ChunkWorker]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> ChunkWorker:
    """A worker around the toy extractor."""
    return ChunkWorker(config(tmp_path_factory.mktemp("toy")), extractor=Toy(), embedder=Letters())


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Worker:
    """Workers with the models that ship; each new one has empty caches."""
    folder = tmp_path_factory.mktemp("real")
    return lambda: ChunkWorker(config(folder))


def config(folder: Path) -> ChunkConfig:
    """A small threshold, so that results are cut."""
    return ChunkConfig(folder.as_uri(), offload_threshold=200)


TEXTS = st.sampled_from(
    [
        "Mara lives in Leipzig.",
        "she lives in Porto",
        "Tom lives in Oslo",
        "My sister Ana moved to Porto last May, and she works at Nimbus Archive.",
        "Where does she live?",
        "I don't like coffee, I prefer tea.",
        "",
        "boom",
    ]
)


@st.composite
def logs(draw: st.DrawFn, texts: st.SearchStrategy[str] = TEXTS) -> list[Record]:
    """A log of a few sessions: messages, repeated ones, documents, tool calls, and bytes that are none of these."""
    records: list[Record] = []
    for offset in range(draw(st.integers(1, 12))):
        session = draw(st.sampled_from(["s1", "s2"]))
        kind = draw(st.sampled_from(["message"] * 5 + ["document", "call", "broken"]))
        text = draw(texts)
        event_id = f"e{draw(st.integers(0, 8))}"
        records.append(record(offset, kind, session, text, event_id))
    return records


def record(offset: int, kind: str, session: str, text: str, event_id: str) -> Record:
    """One record of a log."""
    data: Message | Document | ToolCall = Message(session_id=session, role=Role.USER, content=text, user_id="mara")
    if kind == "document":
        data = Document(document_id="d", title="t", text=f"{text}\n\nTom lives in Oslo.", session_id=session)
    if kind == "call":
        rows = [{"service": f"relay{n}", "version": "1"} for n in range(offset * 3)]
        data = ToolCall(call_id=event_id, tool="t", status=ToolStatus.SUCCESS, result=rows, session_id=session)
    time = START + timedelta(minutes=offset)
    event = Event.of(data, id=event_id, source="agent://a", time=time, scope="acme/u-1")
    key, value, headers = cloudevents.encode(event)
    topic = event.kind.topic.value
    body = b"{oops" if kind == "broken" else value
    return Record(topic, 0, offset, int(time.timestamp() * 1000), key, body, tuple(headers))


def run(worker: ChunkWorker, records: list[Record], cuts: list[int]) -> tuple[list[Output], dict[bytes | None, bytes]]:
    """Process a log chunk by chunk as the stage does: grouped by topic and key, each group with its state."""
    states: dict[bytes | None, bytes] = {}
    outputs: dict[tuple[str, int], Output] = {}
    bounds = [0, *sorted(set(cuts)), len(records)]
    for start, end in itertools.pairwise(bounds):
        works: dict[tuple[str, bytes | None], SessionWork] = {}
        for one in records[start:end]:
            state = states.get(one.key, b"") if one.topic == "conversation" else b""
            works.setdefault((one.topic, one.key), SessionWork(one.key, state)).records.append(one)
        for work, result in zip(works.values(), worker.process(list(works.values())), strict=True):
            if result.state is not None:
                states[work.key] = result.state
            outputs.update({(o.record.topic, o.record.offset): o for o in result.outputs})
    return [outputs[one.topic, one.offset] for one in records], states


CUTS = st.lists(st.integers(0, 12), max_size=6)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(logs(), CUTS)
def test_chunks_do_not_matter(toy: ChunkWorker, records: list[Record], cuts: list[int]) -> None:
    """Whatever the chunks, outputs and states are the same, those around a failing event included."""
    cuts = [cut for cut in cuts if cut < len(records)]
    assert run(toy, records, cuts) == run(toy, records, [])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(logs(), st.data())
def test_a_crash_after_the_state_was_written_sends_nothing_twice(
    toy: ChunkWorker, records: list[Record], data: st.DataObject
) -> None:
    """Records that come again after their state have no patch, and those after them are what they would have been."""
    talk = [one for one in records if one.topic == "conversation" and one.key == records[0].key] or [records[0]]
    cut = data.draw(st.integers(0, len(talk)))
    whole = toy.process([SessionWork(talk[0].key, b"", talk)])[0]
    first = toy.process([SessionWork(talk[0].key, b"", talk[:cut])])[0] if cut else None
    if first is None or first.state is None:
        return
    again = toy.process([SessionWork(talk[0].key, first.state, talk)])[0]
    assert all(output.patch is None and output.refusal is None for output in again.outputs[:cut])
    assert again.outputs[cut:] == whole.outputs[cut:]
    assert (again.state or first.state) == whole.state


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(logs())
def test_every_record_has_one_output_and_every_patch_can_be_read(toy: ChunkWorker, records: list[Record]) -> None:
    """Nothing is dropped in silence: a patch, or a refusal with its verdict."""
    outputs, _ = run(toy, records, [])
    for one, output in zip(records, outputs, strict=True):
        assert output.record == one
        patch = Patch.decode(output.patch)
        assert patch.origin.offset == one.offset
        assert (patch.verdict == "dead_lettered") is (output.refusal is not None)
        assert Patch.decode(patch.encode()) == patch


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(logs(TEXTS.filter(lambda text: text != "boom")), CUTS)
def test_chunks_do_not_matter_to_the_models_that_ship(real: Worker, records: list[Record], cuts: list[int]) -> None:
    """The same with spaCy and MiniLM: byte for byte, vectors included, whatever was cached."""
    cuts = [cut for cut in cuts if cut < len(records)]
    assert run(real(), records, cuts) == run(real(), records, list(range(len(records))))
