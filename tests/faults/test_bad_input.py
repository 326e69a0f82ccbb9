"""Bad input on its whole way: a dead letter with a reason, the events around it unharmed, the graph untouched."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
from events import message, publish, publish_raw, read
from neo4j import AsyncDriver
from stage_processes import StageProcess, environment, until

from memstream.schemas.cloudevents import encode
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.dead_letters import read_letter
from memstream.streams.topics_admin import create_topics

# All that is in the test's scopes beside the records of what was seen.
LEFT = """
MATCH (n) WHERE n.scope STARTS WITH $scope AND NOT n:Event AND NOT n:Scope
RETURN [l IN labels(n) WHERE l <> 'Source'][0] AS label, n.text AS text ORDER BY label, text
"""
VERDICTS = """
MATCH (e:Event) WHERE e.scope STARTS WITH $scope AND e.event_id IS NOT NULL
RETURN e.event_id AS id, e.verdict AS verdict
"""


@pytest.fixture
async def worker(own_settings: Settings, tmp_path: Path) -> AsyncIterator[StageProcess]:
    """`memstream worker --stage all`."""
    await create_topics(own_settings)
    env = environment(own_settings, MEMSTREAM_EXTRACT_PROCESSES="1")
    process = await StageProcess.supervised(tmp_path / "worker.log", env)
    yield process
    assert await process.stop() == 0


def bad_records(scope: str) -> dict[str, tuple[Topic, bytes | None, bytes | None, list[tuple[str, bytes]]]]:
    """Each kind of bad input by the reason that it must get."""
    key, value, headers = encode(message(scope, 0, "harmless"))
    data = orjson.loads(value)

    def record(
        body: bytes = value, **attributes: str
    ) -> tuple[Topic, bytes | None, bytes | None, list[tuple[str, bytes]]]:
        told = {name: text.encode() for name, text in attributes.items()}
        return Topic.CONVERSATION, key, body, [(name, told.get(name[3:], text)) for name, text in headers]

    return {
        "not_json": record(b"hello {", id="bad-1"),
        "unknown_type": record(id="bad-2", type="memstream.dream.v1"),
        "missing_field": record(orjson.dumps({"session_id": "s1", "content": "x"}), id="bad-3"),
        "bad_scope": record(id="bad-4", scope=f"{scope}//x"),
        "bad_time": record(id="bad-5", time="3000-01-01T00:00:00Z"),
        "too_large": record(orjson.dumps({**data, "content": "x" * 2_000_000}), id="bad-6"),
        "too_deep": record(b'{"metadata":' + b"[" * 1_000 + b"]" * 1_000 + b"}", id="bad-7"),
        "bad_text": record(value.replace(b"harmless", b"\\ud800"), id="bad-8"),
        "bad_field": record(orjson.dumps({**data, "name": "nu\0l"}), id="bad-9"),
    }


async def test_bad_input_becomes_dead_letters_and_touches_nothing(
    own_settings: Settings, scope: str, worker: StageProcess, driver: AsyncDriver
) -> None:
    """Nine ways to be wrong, in one session with events that are right, before, between and after."""
    bad = bad_records(scope)
    places = {}
    for number, (reason, record) in enumerate(bad.items(), start=1):
        await publish(own_settings, [message(scope, number, f"good {number}")])
        # gzip, so that two megabytes of one letter pass the broker's own limit
        [places[reason]] = await publish_raw(own_settings, [record], compression_type="gzip", max_request_size=2**22)
    await publish(own_settings, [message(scope, 10, "good 10")])

    async def verdicts() -> dict[str, str]:
        records, _, _ = await driver.execute_query(VERDICTS, scope=scope, database_=own_settings.neo4j_database)
        return {record["id"]: record["verdict"] for record in records}

    async def all_judged() -> bool:
        return {f"m{n}" for n in range(1, 11)} <= (await verdicts()).keys() and len(await letters()) == len(bad)

    async def letters() -> dict[tuple[str, int, int], tuple[str, str, bytes | None]]:
        found = {}
        for record in await read(own_settings, Topic.DEAD_LETTER):
            told = read_letter(record.headers, record.value)
            place = (f"{own_settings.topic_prefix}.{told.topic}", told.partition, told.offset)
            found[place] = (told.reason, told.message, record.value)
        return found

    await until(all_judged, 120, f"all is judged; the worker said {worker.said()}", every=0.5)
    found = await letters()
    assert {place: reason for reason, place in places.items()} == {place: told[0] for place, told in found.items()}
    for reason, place in places.items():
        _, said, value = found[place]
        assert len(said) > 20, f"{reason} says nothing: {said}"
        original = bad[reason][2] or b""
        assert value == original or (reason == "too_large" and original.startswith(value or b"?"))
    judged = await verdicts()
    assert {judged[f"m{n}"] for n in range(1, 11)} == {"applied"}
    assert {verdict for name, verdict in judged.items() if name.startswith("bad")} == {"dead_lettered"}
    left, _, _ = await driver.execute_query(LEFT, scope=scope, database_=own_settings.neo4j_database)
    texts = [record["text"] for record in left if record["label"] == "Message"]
    assert texts == sorted(f"good {n}" for n in range(1, 11))
    assert {record["label"] for record in left} <= {"Message", "Conversation", "Entity"}
