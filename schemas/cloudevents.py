"""CloudEvents 1.0 over the Kafka protocol binding: binary mode is written, binary and structured mode are read.

Spec: github.com/cloudevents/spec, v1.0.2, bindings/kafka-protocol-binding.md and formats/json-format.md.
`decode` refuses with an InvalidEvent whose text says what is wrong and where; it never raises anything else.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from pydantic import ValidationError

from memstream.schemas.errors import InvalidEvent, Reason
from memstream.schemas.events import BY_SHORT, EVENT_TYPES, FORMER_TYPES, TYPE_PREFIX, Event, EventType
from memstream.schemas.json_values import small_int
from memstream.schemas.limits import MAX_DEPTH, MAX_ENVELOPE_BYTES, MAX_EVENT_BYTES

Headers = Sequence[tuple[str, bytes]]

SPEC_VERSION = "1.0"
_JSON = "application/json"
_STRUCTURED = "application/cloudevents+json"
_ATTRIBUTES = (
    "id",
    "source",
    "type",
    "time",
    "scope",
    "subject",
    "sequence",
    "recordedtime",
    "traceparent",
    "correlationid",
    "dataref",
)

_VERSIONED = re.compile(re.escape(TYPE_PREFIX) + r"(?P<short>[a-z.-]{1,64})\.v(?P<version>[1-9][0-9]{0,5})")
_MOMENTS = {"time", "recordedtime"}
_LONG_NUMBER = re.compile(rb"\d{19}")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"{[]}"))


def encode(event: Event) -> tuple[bytes, bytes, list[tuple[str, bytes]]]:
    """Key, value and headers of an event's record, in binary mode.

    Raises InvalidEvent where the record would be larger than the limit: better here than at the broker.
    """
    value = event.data.model_dump_json(exclude_none=True).encode()
    check_size(len(value))
    _check_depth(value, MAX_DEPTH)
    headers = [("ce_specversion", SPEC_VERSION.encode()), ("content-type", _JSON.encode())]
    for name, attribute in _attributes(event).items():
        headers.append((f"ce_{name}", attribute.encode()))
    return event.record_key, value, headers


def encode_structured(event: Event) -> bytes:
    """The event as one JSON document (structured mode), for files and HTTP. Raises InvalidEvent like `encode`."""
    encode(event)
    document: dict[str, Any] = {"specversion": SPEC_VERSION, "datacontenttype": _JSON, **_attributes(event)}
    document["data"] = event.data.model_dump(mode="json", exclude_none=True)
    return orjson.dumps(document)


def _attributes(event: Event) -> dict[str, str]:
    dumped = event.model_dump(mode="json", include=set(_ATTRIBUTES), exclude_none=True)
    return {name: dumped[name] for name in _ATTRIBUTES if name in dumped}


def decode(headers: Iterable[tuple[str, bytes | None]] | None, value: bytes | None, topic: str | None = None) -> Event:
    """The event of a record, in either mode. `topic` (without prefix) is checked against the type's own if given.

    A former version of a type is read as the present one. Raises InvalidEvent.
    """
    if value is None:
        raise InvalidEvent(Reason.NOT_JSON, "the record has no value: an event is a JSON object")
    attributes, content_type = _header_attributes(headers or ())
    if content_type.startswith(_STRUCTURED) or ("specversion" not in attributes and "id" not in attributes):
        return decode_structured(value, topic)
    if content_type and not _is_json(content_type):
        raise InvalidEvent(Reason.NOT_CLOUDEVENT, f"content-type is {content_type!r}: data is read as {_JSON} only")
    check_size(len(value))
    parse_json(value)
    return _event(attributes, value, topic)


def decode_structured(document: bytes, topic: str | None = None) -> Event:
    """The event of one JSON document (structured mode). Raises InvalidEvent."""
    check_size(len(document), MAX_EVENT_BYTES + MAX_ENVELOPE_BYTES)
    parsed = parse_json(document, MAX_DEPTH + 1)
    if not isinstance(parsed, dict) or "specversion" not in parsed:
        raise InvalidEvent(
            Reason.NOT_CLOUDEVENT,
            "neither ce_ headers nor a JSON object with 'specversion': publish CloudEvents 1.0, binary or structured",
        )
    content_type = parsed.get("datacontenttype", _JSON)
    if not isinstance(content_type, str) or not _is_json(content_type):
        raise InvalidEvent(
            Reason.NOT_CLOUDEVENT, f"datacontenttype is {str(content_type)[:100]!r}: data is read as {_JSON} only"
        )
    data = _structured_data(parsed)
    return _event(parsed, data, topic)


def _structured_data(parsed: Mapping[str, Any]) -> bytes:
    if "data_base64" in parsed:
        data = _from_base64(parsed["data_base64"])
        check_size(len(data))
        parse_json(data)
    elif "data" in parsed:
        data = orjson.dumps(parsed["data"])
        check_size(len(data))
    else:
        raise InvalidEvent(Reason.MISSING_FIELD, "the field 'data' is missing")
    return data


def _event(attributes: Mapping[str, Any], data: bytes, topic: str | None) -> Event:
    kind = _event_type(attributes, topic)
    try:
        payload = kind.data.model_validate_json(data)
    except ValidationError as error:
        raise refusal(error, "data") from error
    envelope = {name: attributes[name] for name in _ATTRIBUTES if name in attributes}
    envelope["type"] = kind.present.name
    for name, attribute in envelope.items():
        if not isinstance(attribute, str) and name not in _MOMENTS:
            raise InvalidEvent(Reason.BAD_FIELD, f"attribute field {name!r}: is no text")
    try:
        return Event.model_validate({**envelope, "data": kind.today(payload)}, strict=False)
    except ValidationError as error:
        raise refusal(error, "attribute") from error


def _event_type(attributes: Mapping[str, Any], topic: str | None) -> EventType:
    version = attributes.get("specversion")
    if version != SPEC_VERSION:
        raise InvalidEvent(Reason.NOT_CLOUDEVENT, f"specversion is {version!r}, this reads '{SPEC_VERSION}'")
    name = attributes.get("type")
    if name is None:
        raise InvalidEvent(Reason.MISSING_FIELD, "the attribute 'type' is missing")
    kind = EVENT_TYPES.get(name) or FORMER_TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise _unknown(str(name))
    if topic is not None and kind.topic.value != topic:
        raise InvalidEvent(Reason.WRONG_TOPIC, f"{name} belongs in the topic {kind.topic.value!r}, not in {topic!r}")
    return kind


def _unknown(name: str) -> InvalidEvent:
    told = _VERSIONED.fullmatch(name)
    present = BY_SHORT.get(told["short"]) if told else None
    if told is not None and present is not None and int(told["version"]) > present.version:
        return InvalidEvent(
            Reason.NEWER_VERSION,
            f"{name} is newer than this Memstream, which reads {TYPE_PREFIX}{present.short} up to v{present.version}: "
            "update it first, then `memstream dlq retry --reason newer_version`",
        )
    return InvalidEvent(
        Reason.UNKNOWN_TYPE, f"unknown event type {name[:100]!r}: see `memstream schemas list` for the types"
    )


def _header_attributes(headers: Iterable[tuple[str, bytes | None]]) -> tuple[dict[str, str], str]:
    attributes: dict[str, str] = {}
    content_type = ""
    for name, raw in headers:
        lower = name.lower()
        if not (lower.startswith("ce_") or lower == "content-type"):
            continue
        try:
            text = (raw or b"").decode()
        except UnicodeDecodeError as error:
            raise InvalidEvent(Reason.BAD_TEXT, f"the header {lower!r} is not UTF-8: {error.reason}") from error
        if lower == "content-type":
            content_type = text
        else:
            attributes[lower[3:]] = text
    return attributes, content_type


def check_size(size: int, limit: int = MAX_EVENT_BYTES) -> None:
    """Raise InvalidEvent where an event's value is over the limit."""
    if size > limit:
        raise InvalidEvent(
            Reason.TOO_LARGE,
            f"the event has {size:,} bytes, at most {limit:,} are allowed: send large content as a reference",
        )


def parse_json(data: bytes, depth: int = MAX_DEPTH) -> Any:
    """The JSON value of `data`: at most `depth` levels deep, no integer beyond 64 bits. Raises InvalidEvent."""
    _check_depth(data, depth)
    try:
        value = orjson.loads(data)
        if _LONG_NUMBER.search(data):
            # orjson makes a float of what has more than 64 bits: rather refuse it than change it in silence
            json.loads(data.decode(), parse_int=small_int)
    except orjson.JSONDecodeError as error:
        if "surrogate" in str(error) or "utf-8" in str(error).lower():
            raise InvalidEvent(
                Reason.BAD_TEXT, f"a string is not valid Unicode (a lone surrogate or broken UTF-8): {error}"
            ) from error
        raise InvalidEvent(Reason.NOT_JSON, f"the value is not JSON: {error}") from error
    except ValueError as error:
        raise InvalidEvent(Reason.BAD_FIELD, f"the JSON {error}") from error
    return value


def _check_depth(data: bytes, limit: int) -> None:
    # brackets inside strings only make this look closer, never wrong: the exact count leaves the strings out
    if data.count(b"{") + data.count(b"[") <= limit:
        return
    depth = 0
    for bracket in _STRING.sub(b"", data).translate(None, _NO_BRACKETS):
        depth += 1 if bracket in b"{[" else -1
        if depth > limit:
            raise InvalidEvent(Reason.TOO_DEEP, f"the JSON is nested deeper than {limit} levels: flatten it")


def _is_json(content_type: str) -> bool:
    media = content_type.split(";", maxsplit=1)[0].strip().lower()
    return media == _JSON or media.endswith("+json")


def _from_base64(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise InvalidEvent(Reason.NOT_CLOUDEVENT, f"'data_base64' is not base64: {error}") from error


def refusal(error: ValidationError, where: str) -> InvalidEvent:
    """What a person is told of pydantic's refusal of `where`: the first field that is wrong, and how many more."""
    first = error.errors(include_url=False, include_context=False)[0]
    path = ".".join(str(p) for p in first["loc"])
    if path.split(".")[0] == "data":
        path, where = path.removeprefix("data").lstrip("."), "data"
    field = f"{where} field {path!r}" if path else f"the {where}"
    message = first["msg"].removeprefix("Value error, ")
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return InvalidEvent(_reason(first["type"], path), f"{field}: {message}{more}")


def _reason(kind: str, path: str) -> Reason:
    if kind == "missing":
        return Reason.MISSING_FIELD
    if path == "scope":
        return Reason.BAD_SCOPE
    if path in _MOMENTS:
        return Reason.BAD_TIME
    if kind == "json_invalid":
        return Reason.BAD_TEXT
    return Reason.BAD_FIELD
