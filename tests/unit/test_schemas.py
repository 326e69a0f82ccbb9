"""The contract's edges: what is refused, with which reason, in words that help."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from memstream.schemas import cloudevents
from memstream.schemas.base import EntityRef
from memstream.schemas.cloudevents import decode, decode_structured, encode, encode_structured
from memstream.schemas.conversation import Message, Role
from memstream.schemas.errors import InvalidEvent, Reason
from memstream.schemas.events import EVENT_TYPES, Event
from memstream.schemas.extraction import EntityType
from memstream.schemas.ids import utc_text
from memstream.schemas.limits import MAX_DEPTH, MAX_EVENT_BYTES
from memstream.schemas.statement import FactStated
from memstream.schemas.tools import ToolCall, ToolStatus

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


def event(data: Any = None, **attributes: Any) -> Event:
    """An event of acme/u, a short message by default."""
    said = data or Message(session_id="s", role=Role.USER, content="hello")
    envelope: dict[str, Any] = {"id": "1", "source": "t", "time": NOW, "scope": "acme/u"}
    return Event.of(said, **(envelope | attributes))


def document(**changes: Any) -> bytes:
    """A structured event with some attributes changed, or left out where None."""
    plain = orjson.loads(encode_structured(event()))
    return orjson.dumps({key: value for key, value in (plain | changes).items() if value is not None})


def refused(body: bytes, topic: str | None = None) -> InvalidEvent:
    """The refusal of a structured event."""
    with pytest.raises(InvalidEvent) as caught:
        decode_structured(body, topic)
    return caught.value


@pytest.mark.parametrize(
    ("changes", "reason", "says"),
    [
        ({"scope": "acme//u"}, Reason.BAD_SCOPE, "segment 2"),
        ({"scope": None}, Reason.MISSING_FIELD, "scope"),
        ({"id": None}, Reason.MISSING_FIELD, "'id'"),
        ({"id": 7}, Reason.BAD_FIELD, "is no text"),
        ({"time": 1_700_000_000}, Reason.BAD_TIME, "2026-03-01T09:00:00Z"),
        ({"time": "1700000000"}, Reason.BAD_TIME, "is not a time"),
        ({"time": "2026-03-01"}, Reason.BAD_TIME, "is not a time"),
        ({"time": "2026-03-01T09:00:00"}, Reason.BAD_TIME, "no offset"),
        ({"time": "0001-01-01T00:00:00+14:00"}, Reason.BAD_TIME, "years 1 to 9999"),
        ({"specversion": "0.3"}, Reason.NOT_CLOUDEVENT, "0.3"),
        ({"type": "memstream.gossip.v1"}, Reason.UNKNOWN_TYPE, "schemas list"),
        ({"type": None}, Reason.MISSING_FIELD, "type"),
        ({"datacontenttype": "text/plain"}, Reason.NOT_CLOUDEVENT, "text/plain"),
        ({"data": None}, Reason.MISSING_FIELD, "data"),
        ({"data": {"session_id": "s", "role": "usr", "content": ""}}, Reason.BAD_FIELD, "'role'"),
        ({"data": {"session_id": "s", "content": ""}}, Reason.MISSING_FIELD, "'role'"),
        ({"data": {"session_id": "a\0b", "role": "user", "content": ""}}, Reason.BAD_FIELD, "U+0000"),
        ({"data": {"session_id": "s", "role": "user", "content": "", "mood": 1}}, Reason.BAD_FIELD, "mood"),
        ({"data": None, "data_base64": "no base64!"}, Reason.NOT_CLOUDEVENT, "base64"),
    ],
)
def test_a_refusal_says_what_and_where(changes: dict[str, Any], reason: Reason, says: str) -> None:
    """Each broken field gives its reason's code and a text that names it."""
    error = refused(document(**changes))
    assert (error.reason, says in str(error)) == (reason, True), str(error)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\xff\xfe", Reason.BAD_TEXT),
        (b"gibberish", Reason.NOT_JSON),
        (b"{", Reason.NOT_JSON),
        (b"[]", Reason.NOT_CLOUDEVENT),
        (b'{"specversion":"1.0","x":"\\ud800"}', Reason.BAD_TEXT),
        (b'{"specversion":"1.0","data":' + b"[" * 1_000 + b"]" * 1_000 + b"}", Reason.TOO_DEEP),
        (b'{"specversion":"1.0","data":123456789012345678901}', Reason.BAD_FIELD),
        (b'{"specversion":"1.0","data":1e999}', Reason.NOT_JSON),
        (b"x" * (2 * MAX_EVENT_BYTES), Reason.TOO_LARGE),
    ],
)
def test_bytes_that_are_no_event_have_a_reason(body: bytes, reason: Reason) -> None:
    """Broken bytes are told apart."""
    assert refused(body).reason == reason


def test_an_event_in_the_wrong_topic_is_refused() -> None:
    """A type travels in its own topic only."""
    assert refused(document(), "board").reason == Reason.WRONG_TOPIC
    assert decode_structured(document(), "conversation") == event()


def test_brackets_inside_strings_do_not_count_as_depth() -> None:
    """Text full of brackets and escaped quotes is no nesting."""
    said = event(Message(session_id="s", role=Role.USER, content='[{"\\' * 500))
    _, value, headers = encode(said)
    assert decode(headers, value) == said


def test_the_deepest_event_passes_in_both_modes_and_a_deeper_one_in_neither() -> None:
    """The limit counts the data alone, so an event is not valid in one mode and refused in the other."""

    def nested(levels: int) -> Event:
        value: Any = "x"
        for _ in range(levels):
            value = [value]
        return event(ToolCall.model_construct(call_id="c", tool="t", status=ToolStatus.SUCCESS, result=value))

    deepest = nested(MAX_DEPTH - 1)
    _, value, headers = encode(deepest)
    assert decode(headers, value).data == decode_structured(encode_structured(deepest)).data
    with pytest.raises(InvalidEvent, match="nested deeper"):
        encode(nested(MAX_DEPTH))


def test_the_largest_event_passes_in_both_modes_and_a_larger_one_in_neither() -> None:
    """The limit counts the data alone; what is over it never gets as far as a broker."""
    frame = len(encode(event(Message(session_id="s", role=Role.USER, content="")))[1])
    largest = event(Message(session_id="s", role=Role.USER, content="x" * (MAX_EVENT_BYTES - frame)))
    _, value, headers = encode(largest)
    assert decode(headers, value) == decode_structured(encode_structured(largest)) == largest
    larger = event(Message(session_id="s", role=Role.USER, content="x" * (MAX_EVENT_BYTES - frame + 1)))
    for write in (encode, encode_structured):
        with pytest.raises(InvalidEvent, match="at most 1,000,000"):
            write(larger)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (float("nan"), "nan"),
        (2**64, "64 bits"),
        ({1: 2}, "keys are text"),
        ({"a": b"x"}, "bytes"),
        ({"a": {1, 2}}, "set"),
        ("\ud800", "surrogate"),
        (NOW, "datetime"),
    ],
)
def test_what_json_can_not_say_is_refused_when_the_event_is_made(value: Any, says: str) -> None:
    """A result that would change on its way, or fail there, does not become an event."""
    with pytest.raises(ValidationError, match=says):
        ToolCall(call_id="c", tool="t", status=ToolStatus.SUCCESS, result=value)


def test_tuples_become_lists_at_once() -> None:
    """The event holds what its reader will see."""
    call = ToolCall(call_id="c", tool="t", status=ToolStatus.SUCCESS, arguments={"a": (1, (2,))})
    assert call.arguments == {"a": [1, [2]]}


@pytest.mark.parametrize("when", ["2026-02-30", "2026-13", "0000", "2026-3-1", "today"])
def test_a_date_is_one_of_the_calendar(when: str) -> None:
    """Neither a 30th of February nor words."""
    with pytest.raises(ValidationError, match="valid_from"):
        FactStated(
            subject=EntityRef(type=EntityType.PERSON, name="Ana"),
            predicate="lives_in",
            value="Oslo",
            valid_from=when,
        )


def test_type_and_data_go_together() -> None:
    """An envelope that names another type than its data has is refused."""
    with pytest.raises(ValidationError, match=r"does not go with"):
        Event(id="1", source="t", type="memstream.fact.v1", time=NOW, scope="a", data=event().data)


def test_every_type_has_one_row_and_a_versioned_name() -> None:
    """The table names each type once, with its version at the end."""
    assert all(name == kind.name and name.endswith(f".v{kind.version}") for name, kind in EVENT_TYPES.items())
    assert len({kind.data for kind in EVENT_TYPES.values()}) == len(EVENT_TYPES) == 31


def test_early_years_are_padded() -> None:
    """The year 33 sorts before the year 2026."""
    assert utc_text(datetime(33, 4, 3, tzinfo=UTC)) == "0033-04-03T00:00:00.000000Z"


def test_headers_that_are_not_utf8_are_bad_text() -> None:
    """The header's name is told."""
    with pytest.raises(InvalidEvent, match="ce_id") as caught:
        decode([("ce_id", b"\xff")], b"{}")
    assert caught.value.reason == Reason.BAD_TEXT


def test_a_record_without_a_value_is_refused() -> None:
    """A tombstone is no event."""
    with pytest.raises(InvalidEvent, match="no value"):
        cloudevents.decode(None, None)
