"""`memstream publish` against the real Kafka: as a person would call it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from memstream.client.importers import Recording, Report, importer
from memstream.deploy.ports import any_free
from memstream.schemas.cloudevents import decode
from memstream.schemas.errors import InvalidEvent
from memstream.schemas.events import Event
from memstream.schemas.topics import EVENT_TOPICS, Topic
from memstream.settings import Settings
from memstream.streams.log_reader import read_to_end
from memstream.streams.topics_admin import create_topics

DATA = Path(__file__).parents[1] / "data"
RUNS = DATA / "runs.tau-bench.json"


async def run(settings: Settings, *words: str, given: bytes = b"", **more: str) -> subprocess.CompletedProcess[bytes]:
    """Call the command in a process of its own."""
    environment = os.environ | {
        "MEMSTREAM_KAFKA_BOOTSTRAP": settings.kafka_bootstrap,
        "MEMSTREAM_TOPIC_PREFIX": settings.topic_prefix,
    }
    return await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "memstream.cli", "publish", *words],
        input=given,
        capture_output=True,
        env=environment | more,
        timeout=120,
        check=False,
    )


async def events(settings: Settings) -> list[Event]:
    """Every valid event of the lineage."""
    found = []
    for topic in EVENT_TOPICS:
        async for record in read_to_end(settings, topic.named(settings.topic_prefix)):
            try:
                found.append(decode(record.headers, record.value, topic.value))
            except InvalidEvent:
                continue
    return found


@pytest.fixture
async def topics(own_settings: Settings) -> Settings:
    """Settings whose topics are there."""
    await create_topics(own_settings)
    return own_settings


async def test_a_recording_is_published_whole_and_twice_the_same(topics: Settings, scope: str) -> None:
    """Everything the importer makes is in the log; again gives the same ids; what was minted is told."""
    wanted = list(importer("tau-bench")(Recording(RUNS.read_bytes(), "runs.tau-bench", scope), Report()))
    for round_ in (1, 2):
        done = await run(topics, str(RUNS), "--format", "tau-bench", "--scope", scope, "--json")
        assert done.returncode == 0, done.stderr.decode()
        told = orjson.loads(done.stdout)
        assert (told["events"], told["by_type"]["message"], told["by_type"]["tool-call"]) == (len(wanted), 15, 5)
        assert len(told["minted"]) == 3
        assert len(await events(topics)) == round_ * len(wanted)
    assert {event.id for event in await events(topics)} == {event.id for event in wanted}
    assert {event.key: event for event in await events(topics)} == {event.key: event for event in wanted}


async def test_for_people_it_prints_what_was_sent_and_minted(topics: Settings, scope: str) -> None:
    """Counts by type, the rate, and the notes, in plain words."""
    done = await run(topics, str(RUNS), "-f", "tau-bench", "-s", scope)
    told = done.stdout.decode()
    assert f"published to {topics.kafka_bootstrap} ({topics.topic_prefix}.*)" in told
    assert "15 message" in told
    assert "Minted: 15 times: the recording has none" in told
    assert "Note: tool calls without a result, so pending: 1" in told


async def test_one_message_needs_no_file(topics: Settings, scope: str) -> None:
    """The quickest way to say something."""
    words = ("--message", "Ana moved to Oslo.", "--scope", scope, "--session", "x", "--role", "user", "--user", "ana")
    done = await run(topics, *words)
    assert done.returncode == 0, done.stderr.decode()
    (event,) = await events(topics)
    assert (event.scope, event.data.model_dump(exclude_none=True, mode="json")) == (
        scope,
        {
            "session_id": "x",
            "role": "user",
            "content": "Ana moved to Oslo.",
            "user_id": "ana",
            "recalled": False,
            "metadata": {},
        },
    )


async def test_bad_lines_stop_everything_unless_told_otherwise(topics: Settings, scope: str) -> None:
    """With their numbers, before anything is sent; --skip-invalid sends the rest, from standard input too."""
    given = b'{"role":"user","content":"a"}\nnonsense\n{"role":"usr","content":"b"}\n'
    done = await run(topics, "-", "--format", "jsonl", "--scope", scope, given=given)
    told = done.stderr.decode()
    assert done.returncode == 1
    assert "line 2: is not JSON" in told
    assert "line 3: the line: the role 'usr'" in told
    assert "2 of 3 items can't be read: nothing was sent" in told
    assert await events(topics) == []
    done = await run(topics, "-", "-f", "jsonl", "-s", scope, "--skip-invalid", "--json", given=given)
    assert (orjson.loads(done.stdout)["events"], orjson.loads(done.stdout)["skipped"]) == (1, 2)
    assert len(await events(topics)) == 1


async def test_raw_sends_invalid_lines_as_they_are(topics: Settings, scope: str) -> None:
    """In their place, into the topic of their type, so that the dead letters get them."""
    line = (DATA / "talk.jsonl").read_bytes().splitlines()[-1]
    bad = line.replace(b"line/ferry-2", b"line//ferry-2").replace(b'"n-1"', b'"n-2"')
    given = b"\n".join([line, bad, line.replace(b'"n-1"', b'"n-3"')])
    done = await run(topics, "-", "--format", "events", "--raw", "--json", given=given)
    assert done.returncode == 0, done.stderr.decode()
    told: dict[str, Any] = orjson.loads(done.stdout)
    assert (told["events"], told["raw"], told["skipped"]) == (3, 1, 0)
    name = Topic.CONVERSATION.named(topics.topic_prefix)
    values = [record.value async for record in read_to_end(topics, name)]
    assert bad in values
    assert [event.id for event in await events(topics)] == ["n-1", "n-3"]


@pytest.mark.parametrize("form", [[], ["--json"]])
async def test_what_was_sent_is_told_even_if_it_is_not_seen_in_time(
    topics: Settings, scope: str, form: list[str]
) -> None:
    """With --wait over, the summary stands on standard output, and then the error ends the command."""
    nobody = f"http://127.0.0.1:{any_free()}"
    done = await run(topics, "-m", "Ana sails.", "-s", scope, "--wait", "0.2", *form, MEMSTREAM_QUERY_URL=nobody)
    assert done.returncode == 1
    assert b"is not visible after" in done.stderr
    if form:
        assert orjson.loads(done.stdout)["events"] == 1
    else:
        assert b"1 events published to" in done.stdout


async def test_without_a_broker_it_says_so_in_a_sentence(own_settings: Settings, scope: str) -> None:
    """No traceback; the events are named; the exit code tells."""
    gone = own_settings.model_copy(update={"kafka_bootstrap": f"127.0.0.1:{any_free()}"})
    done = await run(gone, "-m", "hello", "-s", scope, MEMSTREAM_PUBLISH_TIMEOUT="1")
    told = done.stderr.decode()
    assert done.returncode == 1
    assert f"1 event was not acked by {gone.kafka_bootstrap}" in told.replace("\n", " ")
    assert "Traceback" not in told
    assert "Unable" not in told


async def test_missing_topics_name_the_command_that_makes_them(own_settings: Settings, scope: str) -> None:
    """As the first thing a new user may meet."""
    done = await run(own_settings, "-m", "hello", "-s", scope)
    assert done.returncode == 1
    assert "memstream topics create" in done.stderr.decode()
