"""A session is extracted to the same bytes however often the stage dies, and between whichever of its writes.

The stage's writes are one Kafka transaction for each source partition (patches and session states), then the offsets.
So a crash comes before a transaction, of which nothing is left then, or after it and before the offsets are known: the
records come again, and find states that have had them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from story_logs import Place, process, records, story_events, worker

from memstream.schemas.patch import Patch
from memstream.streams.chunk import ChunkWorker
from memstream.streams.records import Record, SessionResult

Patches = dict[tuple[str, int], bytes]
LIMITS = settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def extraction(tmp_path_factory: pytest.TempPathFactory) -> ChunkWorker:
    """The models, loaded once."""
    return worker(tmp_path_factory.mktemp("offload"))


def kept(results: dict[Place, SessionResult], log: Patches, states: dict[Place, bytes], topic: str) -> None:
    """A transaction of a source partition: all of it, or (not called) nothing."""
    for place, result in results.items():
        if place[0] != topic:
            continue
        for output in result.outputs:
            if output.patch is not None:
                address = (output.record.topic, output.record.offset)
                assert address not in log, "an event has one patch in the log"
                log[address] = output.patch
        if result.state is not None:
            states[place] = result.state


def run(
    extraction: ChunkWorker, log: Sequence[Record], pick: random.Random | None
) -> tuple[Patches, dict[Place, bytes]]:
    """Extract a log; with `pick` in batches of many sizes, with a crash between any two writes of a batch."""
    patches: Patches = {}
    states: dict[Place, bytes] = {}
    done: dict[str, int] = {}
    while rest := [record for record in log if record.offset >= done.get(record.topic, 0)]:
        batch = rest[: pick.choice((1, 2, 5, 17))] if pick else rest
        results = process(extraction, batch, states)
        for topic in sorted({record.topic for record in batch}):
            if pick and pick.random() < 0.25:
                break  # died before this transaction
            kept(results, patches, states, topic)
            if pick and pick.random() < 0.25 and topic == "conversation":
                break  # died after it, and its offsets are not known: a state tells what it has had
            done[topic] = max(record.offset for record in batch if record.topic == topic) + 1
    return patches, states


@LIMITS
@given(seed=st.integers(0, 2**32), start=st.integers(0, 400))
def test_crashes_between_any_two_writes_leave_the_same_bytes(extraction: ChunkWorker, seed: int, start: int) -> None:
    """A stretch of the story: each patch and each session's state is as in a calm run, and each patch is there once."""
    log = records(story_events("crashes")[start : start + 50])
    assert run(extraction, log, random.Random(seed)) == run(extraction, log, None)  # noqa: S311


@LIMITS
@given(seed=st.integers(0, 2**32))
def test_sessions_interleaved_otherwise_are_read_the_same(extraction: ChunkWorker, seed: int) -> None:
    """Events in another order across sessions, in theirs inside each: the patches differ in their offsets alone."""
    events = story_events("crashes")[40:110]
    pick = random.Random(seed)  # noqa: S311
    lines: dict[tuple[str, str | None], list[int]] = {}
    for number, event in enumerate(events):
        lines.setdefault((event.scope, getattr(event.data, "session_id", None)), []).append(number)
    order = [line for line in lines.values() for _ in line]
    pick.shuffle(order)
    turns = {id(line): iter(line) for line in lines.values()}
    mixed = [events[next(turns[id(line)])] for line in order]
    said = {}
    for told in (events, mixed):
        patches, _ = run(extraction, records(told), None)
        said[id(told)] = sorted(_placeless(patch) for patch in patches.values())
    assert said[id(events)] == said[id(mixed)]


def _placeless(patch: bytes) -> str:
    """A patch without the place of its event in the log."""
    read = Patch.decode(patch)
    return read.model_copy(update={"origin": read.origin.model_copy(update={"offset": 0})}).model_dump_json()
