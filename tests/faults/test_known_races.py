"""Known races and outages, with real processes: many publishers at once, zombies, bugs, records that are too large."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from events import read, read_patches
from neo4j import AsyncDriver
from served import served
from stage_processes import StageProcess, environment, ready, until

from memstream.client import AsyncPublisher
from memstream.schemas.errors import FatalError, InvalidEvent
from memstream.schemas.limits import MAX_DEAD_LETTER_BYTES, MAX_PATCH_BYTES
from memstream.schemas.patch import Origin
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.outlet import OVERHEAD, Fenced, Message, Outlet
from memstream.streams.sender import Sender
from memstream.streams.topics_admin import create_topics

WRITERS = 16
NAMES = [f"Part {n}" for n in range(20)]

ENTITIES = "MATCH (e:Entity {scope: $scope}) WHERE e.id IS NOT NULL AND e.at IS NOT NULL RETURN e.name AS name"
SESSIONS = "MATCH (c:Conversation {scope: $scope}) WHERE c.id IS NOT NULL RETURN c.session_id AS name"
CHAIN = """
MATCH p = (c:Conversation {scope: $scope})-[:FIRST_MESSAGE]->(:Message)-[:NEXT_MESSAGE*15]->(m:Message)
WHERE c.session_id = 'first' AND NOT (m)-[:NEXT_MESSAGE]->()
RETURN [message IN tail(nodes(p)) | message.event_id] AS ids
"""
FOUND = "MATCH (e:Event {scope: $scope}) WHERE e.event_id IS NOT NULL RETURN count(e) AS n"


@pytest.fixture
async def worker(own_settings: Settings, tmp_path: Path) -> AsyncIterator[StageProcess]:
    """`memstream worker`, both stages, whose extraction has a bug that a restart mends."""
    await create_topics(own_settings)
    env = environment(
        own_settings,
        MEMSTREAM_EXTRACTOR="chaos",
        MEMSTREAM_EXTRACT_PROCESSES="1",
        FAULTY_BUG=str(tmp_path / "mended"),
    )
    running = await StageProcess.supervised(tmp_path / "worker.log", env)
    yield running
    assert await running.stop() == 0


async def test_sixteen_writers_at_once_through_a_worker_that_dies(
    own_settings: Settings, scope: str, worker: StageProcess, driver: AsyncDriver
) -> None:
    """The worker dies of an exception while requests are accepted: it begins again, and nothing was left standing.

    What sixteen publish at the same moment is one session with sixteen messages in a chain, twenty entities for twenty
    names, however often each was named, and sixteen steps that are numbered one to sixteen when they are read, in the
    order in which they were said: each of the publishers has said its first step.
    """

    async def rows(query: str) -> list[dict[str, object]]:
        found = await driver.execute_query(query, scope=scope, database_=own_settings.neo4j_database)
        return [dict(record) for record in found.records]

    start = asyncio.Event()

    async def write(number: int) -> None:
        async with AsyncPublisher(scope, settings=own_settings, source=f"writer-{number}") as memory:
            await start.wait()
            await memory.message("first", "user", f"hello from {number}", agent_id=f"agent-{number}")
            await memory.step("run", f"step-{number}", thought=f"thought {number}")
            for name in NAMES:
                await memory.entity(name, "Object")

    writing = [asyncio.create_task(write(number)) for number in range(WRITERS)]
    await until(lambda: ready(own_settings.metrics_port_extract), 90, "extraction works")
    start.set()
    await asyncio.gather(*writing)  # all are acked, whatever the worker does
    async with AsyncPublisher(scope, settings=own_settings) as memory:
        await memory.trace_started("run", "to count")  # after its steps

    async def all_there() -> bool:
        return (await rows(FOUND)) == [{"n": WRITERS * (2 + len(NAMES)) + 1}]

    await until(all_there, 120, f"all events are in the graph; the worker said {worker.said()[-2000:]}", every=0.5)
    assert "a bug at any text" in worker.said() or "the models fail at any text" in worker.said()
    assert "starting_again" in worker.said()
    assert sorted(str(row["name"]) for row in await rows(ENTITIES)) == sorted(NAMES)
    assert await rows(SESSIONS) == [{"name": "first"}]
    said = {kind: await said_in_order(own_settings, kind) for kind in ("message", "step")}
    assert await rows(CHAIN) == [{"ids": [origin.id for origin in said["message"]]}]
    assert {origin.order.split("\x1f")[1].lstrip("0") for origin in said["step"]} == {"1"}, (
        "each counted its own as one"
    )
    steps = await steps_of(own_settings, scope, "run")
    assert [step["number"] for step in steps] == list(range(1, WRITERS + 1))
    assert [step["step_id"] for step in steps] == [origin.source.replace("writer", "step") for origin in said["step"]]
    assert await read(own_settings, Topic.DEAD_LETTER) == []


async def said_in_order(settings: Settings, kind: str) -> list[Origin]:
    """Where the events of a kind come from, in the order in which they were said."""
    origins = [patch.origin for patch in await read_patches(settings) if f".{kind}." in patch.origin.type]
    return sorted(origins, key=lambda origin: (origin.time, origin.source))


async def steps_of(settings: Settings, scope: str, trace: str) -> list[dict[str, Any]]:
    """The steps of a run, as the query service gives them."""
    async with served(settings) as client:
        answer = await client.get(f"/v1/traces/{trace}", params={"scope": scope})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["steps"]
    return found


async def test_a_zombie_cannot_write_its_older_state(own_settings: Settings, scope: str) -> None:
    """Who has lost a partition sends nothing more: neither the patches nor the session state that it still holds."""
    await create_topics(own_settings)
    group, key = "tests.extract", f"{scope}s".encode()

    def handed(text: bytes) -> list[Message]:
        return [Message(Topic.PATCHES, key, text), Message(Topic.SESSION_STATE, key, text, partition=0)]

    zombie, successor = (Outlet(own_settings, group, Topic.CONVERSATION, 0) for _ in range(2))
    await zombie.start()
    try:
        await zombie.hand_over(handed(b"one"), group, 1)
        await successor.start()
        await successor.hand_over(handed(b"two"), group, 2)
        with pytest.raises(Fenced, match="taken over"):
            await zombie.hand_over(handed(b"late"), group, 2)
        await successor.hand_over(handed(b"three"), group, 3)
        for topic in (Topic.SESSION_STATE, Topic.PATCHES):
            assert [record.value for record in await read(own_settings, topic)] == [b"one", b"two", b"three"]
    finally:
        await zombie.stop()
        await successor.stop()


async def test_after_a_record_that_is_too_large_the_producer_still_sends(own_settings: Settings, scope: str) -> None:
    """An idempotent producer never recovers from a refusal by the broker, so none of ours asks for one."""
    await create_topics(own_settings)
    sender = Sender(own_settings)
    outlet = Outlet(own_settings, "tests.extract", Topic.CONVERSATION, 0)
    await sender.start()
    await outlet.start()
    try:
        with pytest.raises(FatalError, match="more than the topic's"):
            await sender.send([Message(Topic.DEAD_LETTER, b"k", b"x" * (MAX_DEAD_LETTER_BYTES + OVERHEAD + 1))])
        await asyncio.wait_for(sender.send([Message(Topic.DEAD_LETTER, b"k", b"fits")]), 20)
        with pytest.raises(FatalError, match="more than the topic's"):
            await outlet.hand_over([Message(Topic.PATCHES, b"k", b"x" * (MAX_PATCH_BYTES + OVERHEAD + 1))], "g", 1)
        await asyncio.wait_for(outlet.hand_over([Message(Topic.PATCHES, b"k", b"fits")], "tests.extract", 1), 20)
    finally:
        await sender.stop()
        await outlet.stop()
    async with AsyncPublisher(scope, settings=own_settings, session_id="s") as memory:
        with pytest.raises(InvalidEvent, match="bytes"):
            await memory.message(None, "user", "x" * 999_999)
        await asyncio.wait_for(_acked(memory), 20)
    assert [record.value for record in await read(own_settings, Topic.DEAD_LETTER)] == [b"fits"]
    assert [record.value for record in await read(own_settings, Topic.PATCHES)] == [b"fits"]
    assert len(await read(own_settings, Topic.CONVERSATION)) == 1


async def _acked(memory: AsyncPublisher) -> None:
    await (await memory.message(None, "user", "fits"))
