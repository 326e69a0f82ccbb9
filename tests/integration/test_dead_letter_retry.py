"""Dead letters of a running pipeline go back through it: into the graph, or to the dead letters again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import orjson
import pytest
from dlq_command import call, told
from events import TIME, message, publish, publish_raw
from neo4j import AsyncDriver
from stage_processes import StageProcess, environment, until

from memstream.cli.dlq import THERE_ARE
from memstream.schemas.cloudevents import encode
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.letter_book import Filed, Wanted, read_letters
from memstream.streams.topics_admin import create_topics

VERDICTS = "MATCH (e:Event {scope: $scope}) WHERE e.event_id IS NOT NULL RETURN e.event_id AS id, e.verdict AS verdict"
TEXTS = (
    "MATCH (m:Message {scope: $scope}) WHERE m.id IS NOT NULL AND m.at IS NOT NULL RETURN m.event_id AS id, m.text AS t"
)


@pytest.fixture
async def worker(own_settings: Settings, tmp_path: Path) -> AsyncIterator[StageProcess]:
    """`memstream worker --stage all`."""
    await create_topics(own_settings)
    env = environment(own_settings, MEMSTREAM_EXTRACT_PROCESSES="1")
    process = await StageProcess.supervised(tmp_path / "worker.log", env)
    yield process
    assert await process.stop() == 0


async def publish_bad(settings: Settings, scope: str) -> None:
    """Four messages of a session: no role, a time far ahead, a key of nobody, a type of tomorrow."""
    records = []
    for number, (name, text) in enumerate(
        (("", ""), ("ce_time", "3000-01-01T00:00:00Z"), ("key", ""), ("ce_type", ""))
    ):
        key, value, headers = encode(message(scope, number, f"said {number}"))
        if name == "":
            value = orjson.dumps({"session_id": "s1", "content": "said 0"})
        swapped = {"ce_time": text, "ce_type": "memstream.message.v9"}
        headers = [(h, swapped[h].encode() if h == name else raw) for h, raw in headers]
        records.append((Topic.CONVERSATION, b"nobody" if name == "key" else key, value, headers))
    await publish_raw(settings, records)


async def test_what_was_refused_goes_back_through_the_pipeline(
    own_settings: Settings, scope: str, worker: StageProcess, driver: AsyncDriver
) -> None:
    """Mended or rightly keyed it is in the graph in place of its refusal; bad again, a dead letter that says so."""
    await publish_bad(own_settings, scope)
    await publish(own_settings, [message(scope, 9, "after all of it")])

    async def waiting() -> dict[str, Filed]:
        return {letter.told.reason: letter async for letter in read_letters(own_settings, Wanted())}

    async def refused() -> bool:
        return len(await waiting()) == 4

    async def verdicts() -> dict[str, str]:
        records, _, _ = await driver.execute_query(VERDICTS, scope=scope, database_=own_settings.neo4j_database)
        return {record["id"]: record["verdict"] for record in records}

    await until(refused, 120, f"four are refused; the worker said {worker.said()}", every=0.5)
    letters = await waiting()
    assert set(letters) == {"missing_field", "bad_time", "wrong_key", "newer_version"}

    as_it_was = await told(own_settings, "retry", "--reason", "bad_time")
    assert (as_it_was["retried"], "more than a day after" in as_it_was["not_sent"][0]) == ([], True)
    assert (await told(own_settings, "retry", "--reason", "wrong_key", "--wait", "60"))["taken"] == 1
    role = json.dumps({"session_id": "s1", "role": "user", "content": "said 0"})
    code, output = await call(
        own_settings, "retry", letters["missing_field"].name, "--file", "-", "--wait", "60", text=role
    )
    assert (code, "1 put back: 1 taken" in output) == (0, True), output
    _, document = await call(own_settings, "show", letters["bad_time"].name, "--event")
    mended = json.dumps(json.loads(document) | {"time": TIME.isoformat()})
    code, output = await call(
        own_settings, "retry", letters["bad_time"].name, "--file", "-", "--wait", "60", text=mended
    )
    assert (code, "1 put back: 1 taken" in output) == (0, True), output
    again = await told(own_settings, "retry", "--reason", "newer_version", "--anyway", "--wait", "60")
    assert (again["taken"], len(again["refused_again"])) == (0, 1)
    assert "update it first" in again["refused_again"][0]

    [left] = (await waiting()).values()
    assert (left.told.reason, left.name != letters["newer_version"].name) == ("newer_version", True)
    assert (await call(own_settings, "check"))[0] == THERE_ARE

    async def all_judged() -> bool:
        found = await verdicts()
        return found == dict.fromkeys(("m0", "m1", "m2", "m9"), "applied") | {"m3": "dead_lettered"}

    await until(all_judged, 60, "the graph has what was put back", every=0.5)
    records, _, _ = await driver.execute_query(TEXTS, scope=scope, database_=own_settings.neo4j_database)
    assert {record["id"]: record["t"] for record in records} == {
        "m0": "said 0",
        "m1": "said 1",
        "m2": "said 2",
        "m9": "after all of it",
    }

    async def metric() -> bool:
        async with httpx.AsyncClient() as client:
            page = (await client.get(f"http://127.0.0.1:{own_settings.metrics_port_sink}/metrics")).text
        return 'memstream_dead_letters_waiting{reason="newer_version"} 1.0' in page and 'reason="bad_time"} 0.0' in page

    await until(metric, 30, "the sink counts what waits", every=0.5)
    assert await told(own_settings, "drop", left.name) == {"dropped": 1, "known": 0}
    assert (await asyncio.wait_for(call(own_settings, "check"), 30))[0] == 0
