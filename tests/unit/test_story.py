"""The sample story: what it holds, and that the shipped file is what the script says."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import Any

import orjson
import pytest

from memstream.deploy.story import BOARD, INVALID_IDS, QUESTIONS, SCOPES, story_lines
from memstream.deploy.story import build as builder
from memstream.schemas.cloudevents import decode_structured, encode
from memstream.schemas.errors import InvalidEvent, InvalidInput, Reason
from memstream.schemas.events import Event
from memstream.schemas.ids import event_key
from memstream.schemas.statement import Corrected, Retracted
from memstream.schemas.tools import ToolCall, ToolStatus


@cache
def valid_events() -> list[Event]:
    """The story's events without the two that are none."""
    return [decode_structured(line) for line in story_lines() if orjson.loads(line)["id"] not in INVALID_IDS]


def documents() -> list[dict[str, Any]]:
    """Every line as JSON."""
    return [orjson.loads(line) for line in story_lines()]


def of_type(short: str) -> list[Event]:
    """The events of one type."""
    return [event for event in valid_events() if event.kind.short == short]


def test_shipped_file_is_what_the_script_says() -> None:
    """The builder gives the bytes of events.jsonl, each time."""
    assert builder.build() == builder.TARGET.read_bytes()
    assert builder.build().splitlines() == story_lines()


def test_ids_are_readable_and_count_up() -> None:
    """story-0001, story-0002 …, without a gap or a repeat."""
    assert [d["id"] for d in documents()] == [f"story-{n:04d}" for n in range(1, len(documents()) + 1)]


def test_is_as_long_as_a_story() -> None:
    """Hundreds of events over six weeks, in the order of their times, all in the past and no two at one time."""
    times = [event.time for event in valid_events()]
    assert len(documents()) >= 250
    assert all(earlier < later for earlier, later in pairwise(times))
    assert timedelta(weeks=5, days=5) <= times[-1] - times[0] <= timedelta(weeks=6)
    assert times[-1] < datetime(2026, 11, 2, tzinfo=UTC)


def test_is_an_import_of_a_recording() -> None:
    """Each event was recorded when it happened, so that what was believed then can be asked for now."""
    assert all(event.recordedtime == event.time for event in valid_events())


def test_has_its_cast() -> None:
    """Two people and three agents speak, over many sessions and several scopes with one shared board."""
    sources = {event.source for event in valid_events()}
    assert sources == {"person/mara", "person/jonas", "agent/scout", "agent/wrench", "agent/quill", "app/console"}
    assert {event.scope for event in valid_events()} == set(SCOPES)
    sessions = {(event.scope, event.data.session_id) for event in of_type("message")}  # type: ignore[attr-defined]
    assert len(sessions) >= 10
    on_the_board = {event.source for event in of_type("message") if event.scope == BOARD}
    assert on_the_board == sources - {"app/console"}


def test_every_speaker_is_told_apart() -> None:
    """A person's message has a user_id, an agent's an agent_id, and on the board each has a name."""
    for event in of_type("message"):
        data = event.data.model_dump()
        kind, _, who = event.source.partition("/")
        if kind != "app":
            assert data["user_id" if kind == "person" else "agent_id"] == who, event.id
            assert (data["name"] is not None) == (event.scope == BOARD), event.id


def test_private_talk_is_about_its_person() -> None:
    """What is said in a person's own scope has the person as its subject, for an erasure to find."""
    for event in valid_events():
        owner = event.scope.rpartition("/")[2]
        assert event.scope == BOARD or event.subject in (owner, None)
    assert all(event.subject for event in of_type("message") if event.source.startswith("person/"))


def test_sessions_begin_and_end() -> None:
    """Every session is started and ended once, with all its messages between."""
    started = {(e.scope, e.data.key_part()): e.time for e in of_type("session.started")}
    ended = {(e.scope, e.data.key_part()): e.time for e in of_type("session.ended")}
    assert started.keys() == ended.keys()
    for event in of_type("message"):
        session = (event.scope, event.data.key_part())
        assert started[session] < event.time < ended[session], event.id


def test_tool_calls_fare_as_tool_calls_do() -> None:
    """They succeed, fail, time out, break and are cancelled, and one that was pending is completed by a later event."""
    calls = [event.data for event in of_type("tool-call")]
    assert all(isinstance(call, ToolCall) for call in calls)
    statuses = Counter(call.status for call in calls)  # type: ignore[attr-defined]
    assert set(statuses) == set(ToolStatus)
    assert statuses[ToolStatus.TIMEOUT] >= 2
    by_id = Counter(call.call_id for call in calls)  # type: ignore[attr-defined]
    assert [call_id for call_id, count in by_id.items() if count > 1] == ["tiles-saxony"]


def test_one_tool_result_is_too_long_to_keep_whole() -> None:
    """One result has more than 16 KB, and its deliveries show the fault that the story is about."""
    results = [call.data.model_dump()["result"] for call in of_type("tool-call")]
    large = [result for result in results if len(orjson.dumps(result)) > 16 * 1024]
    assert len(large) == 1
    rows = large[0]["rows"]
    swapped = [row for row in rows if row["lat"] < 13]
    assert large[0]["count"] == len(rows) == 412
    assert len(swapped) > 10
    assert all(re.search(r"\d[abc]$", row["address"]) and row["at"] >= "17:30" for row in swapped)


def test_traces_are_whole() -> None:
    """Every trace is started, has steps, and is completed; some succeed and some do not."""
    by_kind = {kind: {e.data.model_dump()["trace_id"] for e in of_type(kind)} for kind in ("trace.started", "step")}
    completed = {e.data.model_dump()["trace_id"]: e.data.model_dump()["success"] for e in of_type("trace.completed")}
    assert by_kind["trace.started"] == by_kind["step"] == completed.keys()
    assert set(completed.values()) == {True, False}


def test_what_it_needs_to_show_is_there() -> None:
    """Feedback, corrections, board items, documents, preferences, cards, joins and an erasure."""
    kinds = Counter(event.kind.short for event in valid_events())
    wanted = {
        *("recalled", "rated", "corrected", "retracted", "merged", "unmerged", "erased", "document", "preference"),
        *("card", "entity", "fact", "relationship", "posted", "claimed", "released", "answered", "closed"),
        *("item.put", "item.deleted", "trace.started", "step", "trace.completed"),
    }
    assert wanted <= kinds.keys()
    rewards = {event.data.model_dump()["reward"] for event in of_type("rated")}
    assert {1.0, -0.5} <= rewards


def test_references_name_events_of_the_same_scope() -> None:
    """What a trace was initiated by, a correction is of, an erasure erases: all of it is in the story, and earlier."""
    places = {(e.scope, e.source, e.id): n for n, e in enumerate(valid_events())}
    checked = 0
    for number, event in enumerate(valid_events()):
        data = event.data.model_dump()
        refs = [data.get("initiated_by"), (data.get("target") or {}).get("event")]
        if event.kind.short == "erased":
            refs += [{"id": each, "source": data["source"]} for each in data["ids"]]
        for ref in filter(None, refs):
            assert places[event.scope, ref["source"], ref["id"]] < number, event.id
            checked += 1
    assert checked >= 10


def test_served_items_are_things_of_the_scope() -> None:
    """The messages that a recall served are messages of its scope, and ratings speak of what was served."""
    keys = {event_key(e.scope, e.source, e.id): e.scope for e in of_type("message")}
    served: dict[str, set[str]] = {}
    for event in of_type("recalled"):
        data = event.data.model_dump()
        served[data["recall_id"]] = {item["id"] for item in data["items"]}
        assert all(keys[item["id"]] == event.scope for item in data["items"] if item["kind"] == "message")
    for event in of_type("rated"):
        data = event.data.model_dump()
        rated = {*data["used"], *data["useful"], *data["not_useful"], *data["neutral"]}
        assert rated <= served.get(data["recall_id"], set())


def test_corrections_are_said_and_stated() -> None:
    """The deadline moves, the cause of the outage is corrected, and wrong assertions are taken back."""
    facts = [event.data.model_dump() for event in of_type("fact")]
    deadlines = [fact["value"] for fact in facts if fact["predicate"] == "has_deadline"]
    assert deadlines == ["2026-10-16", "2026-10-30"]
    assert all(isinstance(e.data, Corrected) for e in of_type("corrected"))
    assert all(isinstance(e.data, Retracted) for e in of_type("retracted"))
    said = " ".join(e.data.model_dump()["content"] for e in of_type("message"))
    for sentence in (
        "I live in Leipzig.",
        "I moved to Dresden on 12 October.",
        "The deadline of the routing migration is 2026-10-16.",
        "The deadline of the routing migration is 2026-10-30 now.",
        "The bridge outage was caused by the tile-builder.",
        "The bridge outage was caused by the geocoder, not by the tile-builder.",
    ):
        assert sentence in said


def test_exactly_two_lines_are_no_events() -> None:
    """A scope with an empty segment and a tool call without a status: refused with their reasons."""
    reasons = {}
    for line in story_lines():
        try:
            decode_structured(line)
        except InvalidEvent as error:
            reasons[orjson.loads(line)["id"]] = error.reason
    assert reasons == dict(zip(INVALID_IDS, (Reason.MISSING_FIELD, Reason.BAD_SCOPE), strict=True))


def test_every_event_fits_a_record() -> None:
    """All but the two can be encoded for Kafka as they are."""
    assert all(encode(event)[1] for event in valid_events())


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.prompt)
def test_questions_have_an_answer_in_their_scope(question: Any) -> None:
    """Each demo prompt can be answered from what was said in its own scope."""
    assert any(e.scope == question.scope and question.expects.encode() in encode(e)[1] for e in valid_events())


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (["@day 2026-09-21 +02:00", "nonsense"], "line 2 of the script"),
        (["@day 2026-09-21 +02:00", "== a @ demo/x", "09:00 mara hello"], "line 3 of the script"),
    ],
)
def test_a_mistake_in_the_script_is_named(script: list[str], told: str) -> None:
    """A line that can't be read is refused with its number."""
    with pytest.raises(InvalidInput, match=told):
        list(builder.read_script(script))
