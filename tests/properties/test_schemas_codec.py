"""Properties of the codec: what is written reads back equal, and any bytes give an event or an InvalidEvent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from memstream.schemas.base import Data
from memstream.schemas.cloudevents import decode, decode_structured, encode, encode_structured
from memstream.schemas.errors import InvalidEvent
from memstream.schemas.events import EVENT_TYPES, Event, EventType
from memstream.schemas.ids import utc_text
from memstream.schemas.topics import EVENT_TOPICS

_CLEAN = st.characters(exclude_categories=["Cc", "Cs"])
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_ID = st.text(_CLEAN, min_size=1, max_size=40).filter(str.strip)
_SEGMENT = st.text(st.characters(categories=("Ll", "Lu", "Nd"), max_codepoint=0x17F), min_size=1, max_size=12)
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=8,
)
_OBJECT = st.dictionaries(_TEXT, _JSON, max_size=4)
_OFFSETS = st.timedeltas(timedelta(hours=-14), timedelta(hours=14)).map(timezone)
_MOMENT = st.datetimes(timezones=st.one_of(_OFFSETS, st.timezones()), allow_imaginary=False)
_WHEN = st.dates().flatmap(
    lambda d: st.sampled_from([f"{d:%Y}".zfill(4), d.isoformat()[:7], d.isoformat(), f"{d.isoformat()}T14:00"])
)

_BY_FIELD: dict[str, st.SearchStrategy[Any]] = {
    "metadata": _OBJECT,
    "arguments": _OBJECT,
    "properties": _OBJECT,
    "result": _JSON,
    "predicate": st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True),
    "relation": st.from_regex(r"[A-Z][A-Z0-9_]{0,20}", fullmatch=True),
    "valid_from": st.none() | _WHEN,
    "valid_to": st.none() | _WHEN,
    "said_before": st.none() | st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat),
    "until": st.none() | st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat),
    "versions": st.dictionaries(_TEXT, _TEXT, max_size=3),
}


def _values_of(model: type[Any]) -> st.SearchStrategy[Any]:
    """Instances of a model: each field by its name, else by its schema."""
    schema = model.model_json_schema()
    required = set(schema.get("required", ()))
    fields: dict[str, st.SearchStrategy[Any]] = {}
    for name, field in model.model_fields.items():
        made = _field(name, schema["properties"][name], schema.get("$defs", {}))
        fields[name] = made if name in required else st.just(field.get_default(call_default_factory=True)) | made
    return st.fixed_dictionaries(fields).map(lambda values: _made(model, values)).filter(lambda made: made is not None)


def _made(model: type[Any], values: dict[str, Any]) -> Any:
    try:
        return model.model_validate_json(orjson.dumps(values))
    except ValidationError:
        return None  # fields that exclude each other


def _field(name: str, schema: dict[str, Any], defs: dict[str, Any]) -> st.SearchStrategy[Any]:
    return _BY_FIELD[name] if name in _BY_FIELD else _of_schema(schema, defs)


def _of_schema(schema: dict[str, Any], defs: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values as JSON would have them, for the parts of JSON Schema that the contract uses."""
    if "$ref" in schema:
        return _of_schema(defs[schema["$ref"].rsplit("/", maxsplit=1)[1]], defs)
    if "anyOf" in schema:
        return st.one_of([_of_schema(option, defs) for option in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("type") == "array":
        return st.lists(_of_schema(schema["items"], defs), max_size=3)
    if schema.get("type") == "object":
        return _object_of(schema, defs)
    scalars = {"null": st.none(), "boolean": st.booleans(), "integer": st.integers(1, 1_000), "number": st.floats(0, 1)}
    return scalars.get(schema.get("type", ""), _ID)


def _object_of(schema: dict[str, Any], defs: dict[str, Any]) -> st.SearchStrategy[Any]:
    required, parts = set(schema.get("required", ())), schema.get("properties", {})
    made = {name: _field(name, part, defs) for name, part in parts.items()}
    needed = {name: strategy for name, strategy in made.items() if name in required}
    return st.fixed_dictionaries(needed, optional={n: s for n, s in made.items() if n not in required})


@st.composite
def _events(draw: st.DrawFn, kind: EventType) -> Event:
    data: Data = draw(_values_of(kind.data))
    attributes: dict[str, Any] = {
        "subject": draw(st.none() | _ID),
        "sequence": draw(st.none() | st.from_regex(r"[0-9A-Za-z_-]{1,40}", fullmatch=True)),
        "recordedtime": draw(st.none() | _MOMENT.filter(_in_years)),
        "traceparent": draw(st.none() | _TEXT),
        "correlationid": draw(st.none() | _ID),
    }
    return Event.of(
        data,
        id=draw(_ID),
        source=draw(_ID),
        time=draw(_MOMENT.filter(_in_years)),
        scope="/".join(draw(st.lists(_SEGMENT, min_size=1, max_size=4))),
        **attributes,
    )


def _in_years(moment: Any) -> bool:
    return bool(2 <= moment.year <= 9998)


@pytest.mark.parametrize("kind", EVENT_TYPES.values(), ids=lambda kind: kind.short)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(draw=st.data())
def test_what_is_written_reads_back_equal(kind: EventType, draw: st.DataObject) -> None:
    """Every type survives binary and structured mode, with the same key, identity and place in the order."""
    event = draw.draw(_events(kind))
    key, value, headers = encode(event)
    for back in (
        decode(headers, value, kind.topic.value),
        decode_structured(encode_structured(event), kind.topic.value),
        decode([("content-type", b"application/cloudevents+json; charset=utf-8")], encode_structured(event)),
    ):
        assert back == event
        assert (back.record_key, back.key, back.order) == (key, event.key, event.order)
        assert encode(back) == (key, value, headers)


Records = list[tuple[str, bytes | None]]
_TOPICS = st.sampled_from(EVENT_TOPICS)
_KINDS = st.sampled_from(list(EVENT_TYPES.values()))


def _tells(error: InvalidEvent) -> None:
    assert error.reason
    assert str(error)


_HEADER_NAMES = st.sampled_from(
    ["ce_id", "ce_source", "ce_type", "ce_time", "ce_scope", "ce_specversion", "ce_sequence", "content-type", "x"]
) | st.text(max_size=8)
_HEADER_VALUES = (
    st.none()
    | st.binary(max_size=30)
    | st.sampled_from(
        [
            b"1.0",
            b"application/json",
            b"application/cloudevents+json",
            b"2026-03-01T09:00:00Z",
            b"acme/u",
            b"1700000000",
        ]
        + [name.encode() for name in EVENT_TYPES]
    )
)
_BODIES = (
    st.none()
    | st.binary(max_size=200)
    | _JSON.map(orjson.dumps)
    | st.dictionaries(
        st.sampled_from(["specversion", "id", "source", "type", "time", "scope", "data", "data_base64"]), _JSON
    ).map(orjson.dumps)
)


@settings(max_examples=400, deadline=None)
@given(
    headers=st.lists(st.tuples(_HEADER_NAMES, _HEADER_VALUES), max_size=8),
    body=_BODIES,
    topic=st.sampled_from(EVENT_TOPICS),
)
def test_bytes_give_an_event_or_an_invalid_event(
    headers: list[tuple[str, bytes | None]], body: bytes | None, topic: Any
) -> None:
    """Whatever stands in a record, decoding gives an event or an InvalidEvent with a reason and a text."""
    try:
        decode(headers, body, topic.value)
    except InvalidEvent as error:
        _tells(error)


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from(list(EVENT_TYPES.values())),
    body=_OBJECT.map(orjson.dumps) | st.binary(max_size=60),
    text=_TEXT,
)
def test_a_known_type_with_any_data_gives_an_event_or_an_invalid_event(kind: EventType, body: bytes, text: str) -> None:
    """With headers that are right but for one, and any data, nothing else is raised either."""
    headers = {"ce_specversion": "1.0", "ce_type": kind.name, "ce_id": "1", "ce_source": "s", "ce_scope": "a"}
    for spoilt in ("ce_time", "ce_scope", "ce_sequence"):
        tried = {**headers, "ce_time": "2026-03-01T09:00:00Z", spoilt: text}
        try:
            decode([(name, value.encode()) for name, value in tried.items()], body)
        except InvalidEvent as error:
            _tells(error)


@given(a=_MOMENT.filter(_in_years), b=_MOMENT.filter(_in_years))
def test_the_text_of_a_time_sorts_like_the_time(a: Any, b: Any) -> None:
    """Fixed width from the year 1 on: comparing texts is comparing moments."""
    assert (utc_text(a) < utc_text(b)) == (a < b)
