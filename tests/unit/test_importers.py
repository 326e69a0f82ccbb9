"""Recorded conversations become events: every message, every call, in order, the same on every import."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from memstream.client.importers import FORMATS, Recording, Report, importer
from memstream.client.importers.jsonl import RawLine, all_lines
from memstream.client.importers.recording import BASE_TIME
from memstream.client.importers.results import outcome_of
from memstream.schemas.conversation import Message, Role
from memstream.schemas.errors import InvalidInput
from memstream.schemas.events import Event
from memstream.schemas.feedback import Rated
from memstream.schemas.tools import ToolCall, ToolStatus, TraceCompleted, TraceStarted
from memstream.schemas.topics import Topic

DATA = Path(__file__).parents[1] / "data"
SCOPE = "line/ferry-1"


def read(form: str, data: bytes, dataset: str = "rec", **more: Any) -> tuple[list[Event], Report]:
    """The events and the report of an import."""
    report = Report()
    return list(importer(form)(Recording(data, dataset, SCOPE, **more), report)), report


def own(form: str, name: str) -> tuple[list[Event], Report]:
    """The same of one of the recordings that were written for these tests."""
    return read(form, (DATA / name).read_bytes(), name.split(".", maxsplit=1)[0])


def messages(events: list[Event]) -> list[Message]:
    """The messages among the events."""
    return [event.data for event in events if isinstance(event.data, Message)]


def calls(events: list[Event]) -> list[ToolCall]:
    """The tool calls among the events, in the order of their sequences."""
    made = [event for event in events if isinstance(event.data, ToolCall)]
    made.sort(key=lambda event: event.order)
    return [event.data for event in made if isinstance(event.data, ToolCall)]


def check_counts(events: list[Event], runs: list[Any]) -> None:
    """What the file has, by count and in order, is what the events have."""
    said = [message for run in runs for message in run["traj"]]
    made = messages(events)
    assert [m.content for m in made] == [m["content"] or "" for m in said]
    assert [m.role.value for m in made] == [m["role"] for m in said]
    wanted = [call["function"] for m in said for call in m.get("tool_calls") or []]
    assert sorted(c.tool for c in calls(events)) == sorted(w["name"] for w in wanted)
    assert len({c.call_id for c in calls(events)}) == len(wanted)
    rated = [event.data.reward for event in events if isinstance(event.data, Rated)]
    assert rated == [run["reward"] for run in runs]


def test_own_runs_are_imported_whole() -> None:
    """Messages, calls with arguments, results and status, rewards: all there, and what was minted is told."""
    events, report = own("tau-bench", "runs.tau-bench.json")
    check_counts(events, orjson.loads((DATA / "runs.tau-bench.json").read_bytes()))
    found, moved, again, price, unanswered = calls(events)
    assert (found.status, found.result["day"]) == (ToolStatus.SUCCESS, "Friday")
    assert (moved.status, moved.error) == (ToolStatus.ERROR, "Error: the Saturday crossing has 1 seat left")
    assert (again.status, again.result, again.arguments["day"]) == (ToolStatus.SUCCESS, "", "Sunday")
    assert (price.arguments, price.result) == ({"_raw": "not json"}, 12.5)
    assert (unanswered.status, unanswered.result) == (ToolStatus.PENDING, None)
    assert found.call_id == "call_Ferry0001ferry0001ferry0"
    assert moved.call_id.startswith("call_Ferry0001ferry0001ferry0#")
    assert (report.runs, report.messages, report.tool_calls, report.ratings) == (2, 15, 5, 2)
    assert (report.minted_times, report.minted_call_ids, report.unanswered_calls) == (15, 2, 1)
    assert len(report.minted()) == 3
    assert not report.problems


def test_a_call_names_the_message_that_made_it_and_its_answer_refers_back() -> None:
    """The call's message is the assistant's event; the tool's message carries the call's id and replies to it."""
    events, _ = own("tau-bench", "runs.tau-bench.json")
    by_id = {event.id: event.data for event in events}
    for call in calls(events):
        assert call.message is not None
        said = by_id[call.message.id]
        assert isinstance(said, Message)
        assert said.role is Role.ASSISTANT
        answers = [m for m in messages(events) if m.tool_call_id == call.call_id]
        assert [a.reply_to and a.reply_to.id for a in answers] in ([call.message.id], [])


def test_a_run_is_a_session_and_a_trace() -> None:
    """The task is what the user asked first; success follows from the reward; the customer is the subject."""
    events, _ = own("tau-bench", "runs.tau-bench.json")
    started = [event for event in events if isinstance(event.data, TraceStarted)]
    assert [e.data.trace_id for e in started if isinstance(e.data, TraceStarted)] == [
        "runs-task-3-trial-0",
        "runs-task-3-trial-1",
    ]
    assert {e.data.task for e in started if isinstance(e.data, TraceStarted)} == {
        "Move my crossing on Friday to Saturday, please."
    }
    completed = [e.data for e in events if isinstance(e.data, TraceCompleted)]
    assert [(c.success, c.outcome) for c in completed] == [(True, "reward 1"), (False, "reward 0")]
    assert {event.subject for event in events} == {"ines_marlow_12"}


def test_minted_times_are_a_second_a_message_and_sort_as_said() -> None:
    """Times run over the whole file; the order of the events is the order of the messages."""
    events, _ = own("tau-bench", "runs.tau-bench.json")
    said = [event for event in events if isinstance(event.data, Message)]
    assert [e.time for e in said] == [BASE_TIME + timedelta(seconds=n) for n in range(len(said))]
    assert [e.order for e in said] == sorted(e.order for e in said)
    assert all(event.recordedtime is None for event in events)


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("tau-bench", "runs.tau-bench.json"),
        ("openai", "chats.openai.json"),
        ("anthropic", "chats.anthropic.jsonl"),
        ("jsonl", "talk.jsonl"),
    ],
)
def test_importing_again_gives_the_same_events(form: str, name: str) -> None:
    """Ids, times and everything else; and no two events have one id."""
    once, _ = own(form, name)
    again, _ = own(form, name)
    assert once == again
    assert len({(event.source, event.id) for event in once}) == len(once)


def test_ids_depend_on_the_dataset_and_not_on_its_neighbours() -> None:
    """Another dataset name gives other ids; a run added at the end changes none."""
    data = (DATA / "runs.tau-bench.json").read_bytes()
    once, _ = read("tau-bench", data, "a")
    other, _ = read("tau-bench", data, "b")
    assert not {event.id for event in once} & {event.id for event in other}
    first, _ = read("tau-bench", orjson.dumps(orjson.loads(data)[:1]), "a")
    assert once[: len(first)] == first


def test_recorded_runs_by_count() -> None:
    """The recorded runs beside the project are there whole and in order; MEMSTREAM_SHARED=none goes without them."""
    shared = os.environ.get("MEMSTREAM_SHARED") or str(Path(__file__).parents[3] / "shared")
    if shared == "none":
        return
    path = Path(shared) / "samples" / "tau-bench-airline.json"
    assert path.is_file(), f"{path} is missing: set MEMSTREAM_SHARED to its folder, or to 'none' to go without"
    events, report = read("tau-bench", path.read_bytes(), path.stem)
    check_counts(events, orjson.loads(path.read_bytes()))
    assert (report.runs, report.messages, report.tool_calls, report.ratings) == (12, 288, 57, 12)
    assert not report.problems
    by_status = [call.status for call in calls(events)]
    assert (by_status.count(ToolStatus.SUCCESS), by_status.count(ToolStatus.ERROR)) == (56, 1)


def test_openai_lists_and_objects() -> None:
    """Lists are numbered, objects keep their id; parts that are no text are told; short call ids get their session."""
    events, report = own("openai", "chats.openai.json")
    assert {m.session_id for m in messages(events)} == {"chats-1", "chat-b"}
    said = messages(events)
    assert (said[0].role, said[1].content) == (Role.SYSTEM, "What stands on this sign?")
    assert report.left_out == {"image_url": 1}
    sign, ping = calls(events)
    assert (sign.call_id, sign.status, sign.error) == ("chats-1/1", ToolStatus.TIMEOUT, "camera asleep")
    assert report.stray_results == 1
    assert (ping.tool, ping.result, ping.arguments, ping.duration_ms) == ("ping", "pong", {"host": "quay"}, 250.0)


def test_times_of_a_recording_are_kept_and_carried() -> None:
    """A message with a time has it as its recorded time too; one without comes a second after the one before."""
    events, report = own("openai", "chats.openai.json")
    timed = [e for e in events if isinstance(e.data, Message) and e.data.session_id == "chat-b"]
    assert [e.time for e in timed] == [
        datetime(2026, 3, 1, 8, 0, 0, tzinfo=UTC),
        datetime(2026, 3, 1, 8, 0, 1, tzinfo=UTC),
        datetime(2026, 3, 1, 8, 0, 1, 250_000, tzinfo=UTC),
        datetime(2026, 3, 1, 8, 0, 2, 250_000, tzinfo=UTC),
    ]
    assert [e.recordedtime == e.time for e in timed] == [True, True, True, False]
    assert report.minted_times == 5 + 1


def test_anthropic_blocks() -> None:
    """The system text comes first; tool results are a tool's message; an error is an error; thoughts are left out."""
    events, report = own("anthropic", "chats.anthropic.jsonl")
    said = [m for m in messages(events) if m.session_id == "harbour-1"]
    assert [(m.role.value, m.content) for m in said] == [
        ("system", "You mind the harbour."),
        ("user", "Is berth 4 free?"),
        ("assistant", "I will look."),
        ("tool", "no such berth"),
        ("assistant", "There is no berth 4."),
    ]
    (berth,) = calls(events)
    assert (berth.arguments, berth.status, berth.error) == ({"number": 4}, ToolStatus.ERROR, "no such berth")
    assert report.left_out == {"thinking": 1}
    assert report.runs == 2


def test_plain_lines_and_events_mixed() -> None:
    """Plain lines go to their session, else to the dataset's; whole events stay as they are."""
    events, report = own("jsonl", "talk.jsonl")
    assert [(e.data.session_id, e.data.content) for e in events if isinstance(e.data, Message)] == [
        ("deck", "We sail at six."),
        ("deck", "Noted: six."),
        ("talk", "And the galley is out of tea."),
        ("deck", "Make that half past six."),
    ]
    assert (events[-1].id, events[-1].scope) == ("n-1", "line/ferry-2")
    assert (report.messages, report.minted_times, report.minted_event_ids) == (4, 2, 3)


def test_lines_that_can_not_be_read_are_told_with_their_numbers() -> None:
    """The others are read all the same."""
    data = b'{"role":"user","content":"a"}\n\nnonsense\n{"role":"usr","content":"b"}\n{"role":"user","content":"c"}'
    events, report = read("jsonl", data)
    assert [m.content for m in messages(events)] == ["a", "c"]
    assert [problem.where for problem in report.problems] == ["line 3", "line 4"]
    assert "is not JSON" in report.problems[0].what
    assert "none of user, assistant, system, tool" in report.problems[1].what


@pytest.mark.parametrize(
    ("form", "data"),
    [
        ("jsonl", b'{"role":"user","content":"a","time":"3000-01-01"}'),
        ("events", (DATA / "talk.jsonl").read_bytes().splitlines()[-1]),
        ("openai", b'[{"role":"user","content":"a","time":"3000-01-01"}]'),
    ],
)
def test_a_time_far_ahead_is_a_problem_before_anything_is_sent(form: str, data: bytes) -> None:
    """More than a day after the file is read: as the publisher and the workers have it."""
    before = datetime(2020, 1, 1, tzinfo=UTC)
    events, report = read(form, data, read_at=before)
    assert not events
    assert "is more than a day after the event was recorded (2020-01-01T" in report.problems[0].what


@pytest.mark.parametrize("line", [b"[1]", b'"hello"', b"7", b'{"content":"who said it?"}'])
def test_a_line_of_another_shape_is_told_what_a_line_may_be(line: bytes) -> None:
    """Any JSON that is neither a message nor an event."""
    _, report = read("jsonl", line)
    assert str(report.problems[0]).startswith("line 1: a line is an object: a message with 'role' and 'content', or ")


def test_plain_lines_without_a_scope_are_counted() -> None:
    """One scope given for all mends them at once."""
    report = Report()
    data = b'{"role":"user","content":"a"}\n{"role":"user","content":"b","scope":"acme/own"}'
    (event,) = importer("jsonl")(Recording(data, "rec", ""), report)
    assert event.scope == "acme/own"
    assert report.without_scope == 1
    assert "--scope" in str(report.problems[0])


def test_strict_events_refuse_what_is_none_and_raw_keeps_the_bytes() -> None:
    """Format events gives events alone; for --raw the others come in their place with topic and key as far as known."""
    good = (DATA / "talk.jsonl").read_bytes().splitlines()[-1]
    bad = good.replace(b"line/ferry-2", b"line//ferry-2").replace(b"n-1", b"n-2")
    data = b"\n".join([b"nonsense", good, bad])
    events, report = read("events", data)
    assert [e.id for e in events] == ["n-1"]
    assert [problem.where for problem in report.problems] == ["line 1", "line 3"]
    first, second, third = all_lines(Recording(data, "rec", ""), Report())
    assert isinstance(first, RawLine)
    assert isinstance(second, Event)
    assert isinstance(third, RawLine)
    assert (first.line, third.line) == (b"nonsense", bad)
    assert (third.topic, third.key) == (Topic.CONVERSATION, b"line//ferry-2\x1fdeck")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"[[{}]]", "the role None"),
        (b'[{"role":"user","content":7}]', "neither text nor a list"),
        (b'[{"role":"assistant","content":"","tool_calls":[{}]}]', "without 'function'"),
        (b'{"messages":[]}', "neither a list of messages"),
        (b'[{"role":"user","content":"a","time":"noon"}]', "the time 'noon'"),
        (b'{"messages":[3]}', "is no object"),
    ],
)
def test_a_run_that_can_not_be_read_is_a_problem_with_its_place(data: bytes, says: str) -> None:
    """Nothing is made of it, and the report says what is wrong with which message."""
    events, report = read("openai", data)
    assert not events
    assert says in str(report.problems[0])


def test_a_message_that_is_too_large_is_a_problem() -> None:
    """The report names run and message; the rest of the run is made."""
    data = orjson.dumps([{"role": "user", "content": "x" * 1_100_000}, {"role": "user", "content": "y"}])
    events, report = read("openai", data)
    assert [m.content for m in messages(events)] == ["y"]
    assert str(report.problems[0]).startswith("the file, message 1: ")


@pytest.mark.parametrize("form", ["openai", "anthropic", "tau-bench"])
def test_a_file_that_is_no_json_is_refused(form: str) -> None:
    """An InvalidInput says so."""
    with pytest.raises(InvalidInput, match="is not JSON"):
        read(form, b"hello")


def test_an_unknown_format_names_those_there_are() -> None:
    """The error lists every format."""
    with pytest.raises(InvalidInput, match=", ".join(FORMATS)):
        importer("csv")


@pytest.mark.parametrize(
    ("content", "failed", "status"),
    [
        ("fine", None, ToolStatus.SUCCESS),
        ('{"error": null, "rows": 3}', None, ToolStatus.SUCCESS),
        ("Errors were found: 0", None, ToolStatus.SUCCESS),
        ("ERROR 42: no", None, ToolStatus.ERROR),
        ("Traceback (most recent call last): …", None, ToolStatus.ERROR),
        ("Error: timed out after 30 s", None, ToolStatus.TIMEOUT),
        ("timeout after 30 s", None, ToolStatus.TIMEOUT),
        ('{"error": {"message": "no"}}', None, ToolStatus.ERROR),
        ('{"success": false}', None, ToolStatus.FAILURE),
        ('{"status": "Cancelled"}', None, ToolStatus.CANCELLED),
        ("all good", True, ToolStatus.ERROR),
        ("Error handling was improved", False, ToolStatus.SUCCESS),
    ],
)
def test_a_result_tells_its_status(content: str, failed: bool | None, status: ToolStatus) -> None:
    """By the recording's own word, else by how the result begins or what its fields say."""
    assert outcome_of(content, failed).status is status


def test_a_result_that_no_event_can_hold_stays_text() -> None:
    """Integers beyond 64 bits and nesting without end are kept as they were written."""
    assert outcome_of("123456789012345678901234567890").result == "123456789012345678901234567890"
    assert outcome_of("[" * 40 + "]" * 40).result == "[" * 40 + "]" * 40


def test_session_agent_and_user_can_be_given() -> None:
    """One run takes the session's name, several are numbered; agent and user go with what they say."""
    data = (DATA / "chats.openai.json").read_bytes()
    events, _ = read("openai", data, session="s", agent_id="quay-bot", user_id="ines", source="app/x")
    said = messages(events)
    assert {m.session_id for m in said} == {"s-1", "s-2"}
    assert {m.agent_id for m in said if m.role is Role.ASSISTANT} == {"quay-bot"}
    assert {m.user_id for m in said if m.role is Role.USER} == {"ines"}
    assert {event.source for event in events} == {"app/x"}
