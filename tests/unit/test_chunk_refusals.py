"""Bad input: each gives a refusal that a person understands, and the events around it go through unharmed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from memstream.extractors.vectors.embedders import NoEmbedder
from memstream.schemas import cloudevents
from memstream.schemas.conversation import Message, Role
from memstream.schemas.errors import Reason
from memstream.schemas.events import Event
from memstream.schemas.extraction import Extraction, SessionExtraction, SessionTurns
from memstream.schemas.ids import event_key
from memstream.schemas.patch import Patch, Verdict
from memstream.streams.chunk import ChunkConfig, ChunkWorker, refuse
from memstream.streams.records import Output, Record, Refusal, SessionWork

SCOPE, SOURCE = "acme/u-1", "agent://scout"
TIME = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
APPENDED_MS = int(TIME.timestamp() * 1000)
Headers = tuple[tuple[str, bytes], ...]


class Silent:
    """An extractor that finds nothing."""

    name = "silent"
    generation = 1

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """Nothing, for each turn."""
        return [SessionExtraction(b"", [Extraction() for _ in session.turns]) for session in sessions]


@pytest.fixture
def worker(tmp_path: Path) -> ChunkWorker:
    """A worker without models."""
    return ChunkWorker(ChunkConfig(tmp_path.as_uri()), extractor=Silent(), embedder=NoEmbedder())


def good(number: int, offset: int) -> Record:
    """A valid message."""
    data = Message(session_id="s1", role=Role.USER, content="hello")
    event = Event.of(data, id=f"good-{number}", source=SOURCE, time=TIME, scope=SCOPE)
    key, value, headers = cloudevents.encode(event)
    return Record("conversation", 0, offset, APPENDED_MS, key, value, tuple(headers))


def headers(**changed: str | None) -> Headers:
    """The headers of a message, with some changed or left out."""
    plain: dict[str, str | None] = {
        "ce_specversion": "1.0",
        "content-type": "application/json",
        "ce_id": "bad",
        "ce_source": SOURCE,
        "ce_type": "memstream.message.v1",
        "ce_time": "2026-03-01T09:00:00Z",
        "ce_scope": SCOPE,
    }
    return tuple((name, text.encode()) for name, text in (plain | changed).items() if text is not None)


def body(**changed: object) -> bytes:
    """The data of a message, with some fields changed or left out."""
    plain = {"session_id": "s1", "role": "user", "content": "hi"} | changed
    return orjson.dumps({name: value for name, value in plain.items() if value is not None})


NESTED = b'{"session_id":"s1","role":"user","content":"hi","metadata":' + b'{"a":' * 1_000 + b"1" + b"}" * 1_001
SURROGATE = b'{"session_id":"s1","role":"user","content":"\\ud800"}'

BAD: dict[str, tuple[Headers, bytes | None, Reason, str]] = {
    "bytes that are not JSON": (headers(), b"\x00\x01oops", Reason.NOT_JSON, "not JSON"),
    "no value": (headers(), None, Reason.NOT_JSON, "no value"),
    "an unknown type": (headers(ce_type="memstream.shout.v1"), body(), Reason.UNKNOWN_TYPE, "unknown event type"),
    "a missing field": (headers(), body(content=None), Reason.MISSING_FIELD, "'content'"),
    "an unknown field": (headers(), body(mood="sunny"), Reason.BAD_FIELD, "'mood'"),
    "a scope with an empty segment": (headers(ce_scope="acme//u-1"), body(), Reason.BAD_SCOPE, "segment 2"),
    "a time in the year 3000": (headers(ce_time="3000-01-01T00:00:00Z"), body(), Reason.BAD_TIME, "more than a day"),
    "a time in the year 1": (headers(ce_time="0001-01-02T00:00:00Z"), body(), Reason.BAD_TIME, "year 1000"),
    "no time": (headers(ce_time=None), body(), Reason.MISSING_FIELD, "'time'"),
    "a message of 2 MB": (headers(), body(content="x" * 2_000_000), Reason.TOO_LARGE, "at most 1,000,000"),
    "nesting 1,000 deep": (headers(), NESTED, Reason.TOO_DEEP, "nested deeper"),
    "a lone surrogate": (headers(), SURROGATE, Reason.BAD_TEXT, "surrogate"),
    "NUL in a name": (headers(), body(name="Ma\x00ra"), Reason.BAD_FIELD, "U+0000"),
    "the wrong topic": (headers(ce_type="memstream.posted.v1"), body(), Reason.WRONG_TOPIC, "'board'"),
    "another session's key": (headers(), body(session_id="s2"), Reason.WRONG_KEY, "belongs under"),
    "no event at all": ((), b"[1,2]", Reason.NOT_CLOUDEVENT, "CloudEvents 1.0"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_and_its_neighbours_are_not(worker: ChunkWorker, name: str) -> None:
    """One bad record between two good ones: refused with its reason, and the good ones are the same as without it."""
    head, value, reason, said = BAD[name]
    before, after = good(1, 10), good(2, 12)
    bad = Record("conversation", 0, 11, APPENDED_MS, before.key, value, head)
    [result] = worker.process([SessionWork(before.key, b"", [before, bad, after])])
    first, middle, last = result.outputs
    assert middle.refusal is not None
    assert middle.refusal.reason is reason
    assert said in middle.refusal.message
    assert middle.record is bad
    [alone] = worker.process([SessionWork(before.key, b"", [before, after])])
    assert [first.patch, last.patch] == [output.patch for output in alone.outputs]


@pytest.mark.parametrize(
    "name", [name for name in BAD if name not in ("no event at all", "a scope with an empty segment")]
)
def test_whoever_waits_for_a_refused_event_gets_its_verdict(worker: ChunkWorker, name: str) -> None:
    """Where scope, source and id can be read the refusal has a patch, which ranks below any patch of that event."""
    head, value, reason, _ = BAD[name]
    record = Record("conversation", 3, 11, APPENDED_MS, good(1, 0).key, value, head)
    [result] = worker.process([SessionWork(record.key, b"", [record])])
    patch = verdict_of(result.outputs[0])
    assert patch.origin.key == event_key(SCOPE, SOURCE, "bad")
    assert (patch.verdict, patch.generation, patch.origin.offset) == (Verdict.DEAD_LETTERED, 0, 11)
    assert patch.reason is not None
    assert patch.reason.startswith(reason.value)
    assert patch.nodes == ()


def verdict_of(output: Output) -> Patch:
    """The patch of a refusal."""
    assert output.patch_key == SCOPE.encode()
    return Patch.decode(output.patch)


@pytest.mark.parametrize("name", ["no event at all", "a scope with an empty segment"])
def test_no_verdict_without_a_valid_identity(worker: ChunkWorker, name: str) -> None:
    """What names no valid scope gets a dead letter only: no patch could be sent anywhere."""
    head, value, _, _ = BAD[name]
    record = Record("conversation", 0, 11, APPENDED_MS, b"acme//u-1", value, head)
    [result] = worker.process([SessionWork(record.key, b"", [record])])
    assert result.outputs[0].refusal is not None
    assert result.outputs[0].patch is None


def test_structured_events_have_their_identity_in_the_value() -> None:
    """The verdict finds scope, source and id in a structured event as well."""
    document = {"specversion": "1.0", "id": "bad", "source": SOURCE, "type": "nope", "scope": SCOPE, "data": {}}
    record = Record("statement", 0, 1, APPENDED_MS, SCOPE.encode(), orjson.dumps(document))
    output = refuse(record, Refusal(Reason.UNKNOWN_TYPE, "unknown"))
    assert verdict_of(output).origin.key == event_key(SCOPE, SOURCE, "bad")
    assert verdict_of(output).reason == "unknown_type: unknown"


def test_a_copy_counts_from_its_first_appearance(worker: ChunkWorker) -> None:
    """Recordedtime before the append time is when it was recorded, one after it is not believed."""
    for given, expected in (("2026-02-01T00:00:00Z", "2026-02-01T"), ("2026-04-01T00:00:00Z", "2026-03-01T")):
        head = headers(ce_time="2026-01-31T00:00:00Z", ce_recordedtime=given)
        record = Record("conversation", 0, 1, APPENDED_MS, good(1, 0).key, body(), head)
        [result] = worker.process([SessionWork(record.key, b"", [record])])
        assert Patch.decode(result.outputs[0].patch).origin.recorded_at.startswith(expected)


def test_a_time_up_to_a_day_ahead_is_taken(worker: ChunkWorker) -> None:
    """A clock that is a little fast is no reason to lose an event."""
    for time, fine in (("2026-03-02T09:00:00Z", True), ("2026-03-02T09:00:01Z", False)):
        record = Record("conversation", 0, 1, APPENDED_MS, good(1, 0).key, body(), headers(ce_time=time))
        [result] = worker.process([SessionWork(record.key, b"", [record])])
        assert (result.outputs[0].refusal is None) is fine
