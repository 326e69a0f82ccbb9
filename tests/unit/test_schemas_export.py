"""What is exported is what the code accepts: JSON Schemas that validate events, and an AsyncAPI document."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from typer.testing import CliRunner

from memstream.cli.schemas import app
from memstream.client.importers import Recording, Report, importer
from memstream.schemas.cloudevents import encode_structured
from memstream.schemas.events import EVENT_TYPES, EventType
from memstream.schemas.export import ALL_TYPES, asyncapi, event_schema
from memstream.schemas.topics import EVENT_TOPICS, TOPICS

DATA = Path(__file__).parents[1] / "data"
RUNNER = CliRunner()


def refs(node: Any) -> set[str]:
    """Every reference in a document."""
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*(refs(value) for value in node.values()))
    return set().union(*(refs(item) for item in node)) if isinstance(node, list) else set()


def resolved(document: Any, ref: str) -> Any:
    """What a reference points at. Raises KeyError if it points nowhere."""
    node = document
    for step in ref.removeprefix("#/").split("/"):
        node = node[step]
    return node


def test_the_asyncapi_document_keeps_to_the_specification() -> None:
    """Checked against the JSON Schema of AsyncAPI 3.0."""
    spec = orjson.loads(gzip.decompress((DATA / "asyncapi-3.0.0.schema.json.gz").read_bytes()))
    validator = validator_for(spec)(spec)
    problems = [f"{list(error.absolute_path)}: {error.message[:200]}" for error in validator.iter_errors(asyncapi())]
    assert not problems


def test_the_asyncapi_document_is_whole() -> None:
    """Every topic and every type is there, in its channel, and every reference points at something."""
    document = asyncapi("lineage-2", 6, "9.9")
    assert [channel["address"] for channel in document["channels"].values()] == [f"lineage-2.{t.value}" for t in TOPICS]
    for ref in refs(document):
        assert resolved(document, ref)
    for kind in EVENT_TYPES.values():
        assert kind.name in document["channels"][kind.topic.value]["messages"]
    assert {f"publish-{topic.value}" for topic in EVENT_TOPICS} < set(document["operations"])
    assert document["channels"]["board"]["bindings"]["kafka"]["partitions"] == 6


@pytest.mark.parametrize("kind", EVENT_TYPES.values(), ids=lambda kind: kind.short)
def test_every_schema_is_a_schema(kind: EventType) -> None:
    """By the rules of its dialect, with an id of its own, and described."""
    schema = event_schema(kind)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"].endswith(kind.name)
    assert schema["description"]
    assert all(resolved(schema, ref) for ref in refs(schema))


def test_the_schemas_take_events_and_refuse_what_is_none() -> None:
    """Events of the importers' recordings are valid; with a field too many, too few or wrong they are not."""
    recording = Recording((DATA / "runs.tau-bench.json").read_bytes(), "runs", "line/ferry-1")
    validators = {name: Draft202012Validator(event_schema(kind)) for name, kind in EVENT_TYPES.items()}
    for event in importer("tau-bench")(recording, Report()):
        document = orjson.loads(encode_structured(event))
        validators[event.type].validate(document)
        for spoilt in (
            {**document, "type": "memstream.other.v1"},
            {key: value for key, value in document.items() if key != "scope"},
            {**document, "data": {**document["data"], "mood": "fine"}},
            {**document, "data": {**document["data"], "session_id": ""}},
            {**document, "id": ""},
        ):
            assert not validators[event.type].is_valid(spoilt)


def test_the_command_writes_every_file(tmp_path: Path) -> None:
    """One schema for each type and the document, and says so."""
    done = RUNNER.invoke(app, ["export", "--out", str(tmp_path / "deep" / "out")])
    assert done.exit_code == 0, done.output
    names = {path.name for path in (tmp_path / "deep" / "out").iterdir()}
    assert names == {f"{kind.name}.schema.json" for kind in ALL_TYPES} | {"asyncapi.json"}
    assert f"{len(ALL_TYPES)} JSON Schemas" in done.output


def test_the_command_lists_every_type() -> None:
    """As JSON for programs, each with its topic."""
    done = RUNNER.invoke(app, ["list", "--json"])
    rows = orjson.loads(done.stdout)
    assert [row["type"] for row in rows] == list(EVENT_TYPES)
    assert rows[0]["topic"].endswith(".conversation")
    assert all(row["says"] for row in rows)
