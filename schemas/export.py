"""The contract for other languages: a JSON Schema for each version of an event type, and an AsyncAPI 3.0 document."""

from __future__ import annotations

from inspect import cleandoc
from typing import Any

from memstream.schemas.base import Data
from memstream.schemas.cloudevents import SPEC_VERSION
from memstream.schemas.events import EVENT_TYPES, FORMER_TYPES, Event, EventType
from memstream.schemas.patch import Patch
from memstream.schemas.topics import EVENT_TOPICS, TOPICS, Topic

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ASYNCAPI = "3.0.0"
_KAFKA_BINDING = "0.5.0"
_REQUIRED = ["specversion", "id", "source", "type", "time", "scope", "data"]

Json = dict[str, Any]

ALL_TYPES = (*EVENT_TYPES.values(), *FORMER_TYPES.values())
"""Every version that is read; of each type the last is written."""


def event_schema(kind: EventType) -> Json:
    """The JSON Schema of an event of a type's version in structured mode: the envelope and its data.

    Lengths count code points. What a schema can't say (size, depth, NFC, whole calendar dates) is checked on decoding.
    """
    data = kind.data.model_json_schema()
    properties = _envelope(kind)
    properties["data"] = {key: value for key, value in data.items() if key != "$defs"}
    return {
        "$schema": DIALECT,
        "$id": f"urn:memstream:schema:{kind.name}",
        "title": kind.name,
        "description": _said(kind.data),
        "type": "object",
        "properties": properties,
        "required": _REQUIRED,
        "$defs": data.get("$defs", {}),
    } | ({"deprecated": True} if kind.name in FORMER_TYPES else {})


def _envelope(kind: EventType) -> Json:
    attributes: Json = Event.model_json_schema()["properties"]
    properties: Json = {"specversion": {"const": SPEC_VERSION}}
    properties |= {name: _attribute(schema) for name, schema in attributes.items() if name != "data"}
    properties["type"] = {"const": kind.name}
    properties["datacontenttype"] = {"const": "application/json"}
    properties["scope"] = {"type": "string", "minLength": 1, "maxLength": 512, "examples": ["acme/fleet-7/user-42"]}
    return properties


def _attribute(schema: Json) -> Json:
    # an optional attribute is left out, never null
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    return options[0] if len(options) == 1 else {k: v for k, v in schema.items() if k not in {"title", "default"}}


def asyncapi(prefix: str = "memory", partitions: int = 12, version: str = "0.1.0") -> Json:
    """The AsyncAPI document of a lineage of topics: channels with their Kafka bindings, and every message."""
    return {
        "asyncapi": ASYNCAPI,
        "info": {
            "title": "Memstream",
            "version": version,
            "description": "What agents publish, and what the pipeline makes of it: CloudEvents 1.0 over Kafka.",
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"kafka": {"host": "localhost:9092", "protocol": "kafka"}},
        "channels": {topic.value: _channel(topic, prefix, partitions) for topic in TOPICS},
        "operations": {f"publish-{topic.value}": _operation(topic) for topic in EVENT_TOPICS}
        | {"watch-changes": {"action": "receive", "channel": {"$ref": "#/channels/changes"}}},
        "components": {"messages": _messages(), "schemas": _schemas()},
    }


def _channel(topic: Topic, prefix: str, partitions: int) -> Json:
    spec = TOPICS[topic]
    config = spec.broker_config()
    return {
        "address": topic.named(prefix),
        "description": f"Records are keyed by {spec.keyed_by}.",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in _messages_of(topic)},
        "bindings": {
            "kafka": {
                "topic": topic.named(prefix),
                "partitions": partitions,
                "topicConfiguration": {
                    "cleanup.policy": [config["cleanup.policy"]],
                    "retention.ms": int(config["retention.ms"]),
                    "retention.bytes": int(config["retention.bytes"]),
                    "max.message.bytes": int(config["max.message.bytes"]),
                },
                "bindingVersion": _KAFKA_BINDING,
            }
        },
    }


def _messages_of(topic: Topic) -> list[str]:
    named = [kind.name for kind in ALL_TYPES if kind.topic is topic]
    return named or [topic.value]


def _operation(topic: Topic) -> Json:
    return {
        "action": "send",
        "channel": {"$ref": f"#/channels/{topic.value}"},
        "summary": f"Publish to the topic {topic.value}.",
        "messages": [{"$ref": f"#/channels/{topic.value}/messages/{name}"} for name in _messages_of(topic)],
    }


def _messages() -> Json:
    messages = {kind.name: _event_message(kind) for kind in ALL_TYPES}
    return messages | {topic.value: _inner_message(topic) for topic in TOPICS if topic not in EVENT_TOPICS}


def _event_message(kind: EventType) -> Json:
    names = [name for name in _envelope(kind) if name not in {"datacontenttype", "specversion"}]
    headers: Json = {f"ce_{name}": {"$ref": _in_schema(kind, f"properties/{name}")} for name in names}
    headers = {"ce_specversion": {"const": SPEC_VERSION}, "content-type": {"const": "application/json"}} | headers
    summary = _said(kind.data).split("\n", maxsplit=1)[0]
    if kind.name in FORMER_TYPES:
        summary += f" Read for ever; publish {kind.present.name}."
    return {
        "name": kind.name,
        "title": kind.short,
        "summary": summary,
        "contentType": "application/json",
        "headers": {
            "type": "object",
            "properties": headers,
            "required": [f"ce_{name}" for name in _REQUIRED if name != "data"],
        },
        "payload": {"$ref": _in_schema(kind, "properties/data")},
        "bindings": {
            "kafka": {
                "key": {"type": "string", "description": f"{TOPICS[kind.topic].keyed_by}, with U+001F between them"},
                "bindingVersion": _KAFKA_BINDING,
            }
        },
    }


_INNER: dict[Topic, tuple[str, Json]] = {
    Topic.PATCHES: ("The whole meaning of one event, as rows for the graph.", {"$ref": "#/components/schemas/patch"}),
    Topic.SESSION_STATE: ("What a session's extraction remembers; opaque.", {}),
    Topic.CHANGES: ("What became true, with its position in the log.", {"type": "object"}),
    Topic.DEAD_LETTER: ("An event that was refused: its bytes untouched, the reason and the origin as headers.", {}),
    Topic.DEAD_LETTER_DONE: ("What was decided about a dead letter: retried or dropped.", {"type": "object"}),
}


def _inner_message(topic: Topic) -> Json:
    summary, payload = _INNER[topic]
    return {"name": topic.value, "title": topic.value, "summary": summary, "payload": payload}


def _schemas() -> Json:
    schemas: Json = {}
    for kind in ALL_TYPES:
        schema = event_schema(kind)
        schema.pop("$schema")
        schema.pop("$id")  # inside this document references are relative to the document
        schemas[kind.name] = _rebased(schema, _in_schema(kind, "$defs"))
    schemas["patch"] = _rebased(Patch.model_json_schema(), "#/components/schemas/patch/$defs")
    return schemas


def _in_schema(kind: EventType, path: str) -> str:
    return f"#/components/schemas/{kind.name}/{path}"


def _rebased(node: Any, defs: str) -> Any:
    """The same with references to its own `$defs` made references from the document's root."""
    if isinstance(node, dict):
        return {
            key: value.replace("#/$defs", defs, 1)
            if key == "$ref" and isinstance(value, str)
            else _rebased(value, defs)
            for key, value in node.items()
        }
    return [_rebased(item, defs) for item in node] if isinstance(node, list) else node


def _said(model: type[Data]) -> str:
    return cleandoc(model.__doc__ or "")
