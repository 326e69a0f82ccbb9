"""A log that changes underneath: topics deleted or made again, records removed, offsets forgotten. No silent skip."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete
from events import message, publish, read, read_patches, tool_call
from neo4j import AsyncDriver
from patches import patches_of, publish_patches
from stage_processes import StageProcess, environment, ready, until

from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.broker import admin_client
from memstream.streams.topics_admin import create_topics, partition_counts

Start = Callable[..., Awaitable[StageProcess]]

STOPPED = ("was deleted and made again", "deleted underneath", "the topic was recreated")

KNOWN = """
MATCH (e:Event) WHERE e.scope STARTS WITH $scope AND e.event_id IS NOT NULL RETURN count(e) AS n
"""


@pytest.fixture
async def start(own_settings: Settings, tmp_path: Path) -> AsyncIterator[Start]:
    """Starts stages without a supervisor, and kills those left over."""
    running: list[StageProcess] = []
    ports = {"extract": own_settings.metrics_port_extract, "sink": own_settings.metrics_port_sink}

    async def begin(stage: str, *, wait: bool = True, **env: str) -> StageProcess:
        told = environment(own_settings, MEMSTREAM_EXTRACT_PROCESSES="1", **env)
        process = await StageProcess.start(stage, tmp_path / f"{stage}-{len(running)}.log", told)
        running.append(process)
        if wait:
            await until(lambda: ready(ports[stage]), 90, f"{stage} is ready; it said {process.said()}")
        return process

    await create_topics(own_settings)
    yield begin
    for process in running:
        await process.kill()


async def ended(process: StageProcess) -> str:
    """What a process said that stops by itself, with an exit code that tells of failure."""
    async with asyncio.timeout(60):
        assert await process.process.wait() == 1, process.said()
    return process.said()


async def until_read(settings: Settings, topic: Topic, count: int) -> None:
    """Wait for at least so many records."""

    async def enough() -> bool:
        return len(await read(settings, topic)) >= count

    await until(enough, 60, f"{count} records of {topic}", every=0.3)


async def delete(settings: Settings, topics: Sequence[Topic]) -> None:
    """Delete topics, and wait until they are gone."""
    names = [topic.named(settings.topic_prefix) for topic in topics]
    async with admin_client(settings) as admin:
        await admin.delete_topics(names)

    async def gone() -> bool:
        return not (await partition_counts(settings)).keys() & set(names)

    await until(gone, 30, "the topics are gone")


async def test_a_topic_made_again_under_extraction_stops_it(own_settings: Settings, scope: str, start: Start) -> None:
    """With more records than before, at once: not one is passed over, neither by the process nor by the next one.

    Its place lies inside the new log, and its sessions' states cover offsets of it. Only the topic's identity and the
    keys of its records tell that it is another log. Where a partition had no record before, there is no place in it
    either: the new one may be read from its start before the process stops.
    """
    stage = await start("extract")
    await publish(own_settings, [message(scope, n, "old", f"s{n % 4}") for n in range(40)])
    await until_read(own_settings, Topic.PATCHES, 40)
    await delete(own_settings, [Topic.CONVERSATION])
    await create_topics(own_settings)
    await publish(own_settings, [message(scope, n, "new", f"t{n % 4}") for n in range(100, 300)])
    said = await ended(stage)
    assert any(words in said for words in STOPPED), said
    assert "Traceback" not in stage.said()
    again = await start("extract", wait=False)
    assert "is of another session" in await ended(again)
    known = {patch.origin.id for patch in await read_patches(own_settings)}
    fresh = known - {f"m{n}" for n in range(40)}
    assert len(known) == 40 + len(fresh)
    for session in range(4):
        written = [f"m{n}" for n in range(100, 300) if n % 4 == session]
        assert fresh & {*written} == {*written[: len(fresh & {*written})]}, "one of the new log was passed over"


async def test_a_topic_made_again_under_the_sink_stops_it(
    own_settings: Settings, scope: str, start: Start, driver: AsyncDriver, tmp_path: Path
) -> None:
    """Records of the new topic are not taken for the continuation of the old one."""
    stage = await start("sink")
    await publish_patches(own_settings, patches_of([message(scope, n, "old") for n in range(30)], tmp_path))

    async def known() -> int:
        found = await driver.execute_query(KNOWN, scope=scope, database_=own_settings.neo4j_database)
        return int(found.records[0]["n"])

    async def all_there() -> bool:
        return await known() == 30

    await until(all_there, 60, "the old ones are in the graph")
    await delete(own_settings, [Topic.PATCHES])
    await create_topics(own_settings)
    await publish_patches(own_settings, patches_of([message(scope, n, "new") for n in range(100, 200)], tmp_path))
    said = await ended(stage)
    assert any(words in said for words in STOPPED), said
    again = await start("sink", wait=False)
    assert "is not the record that the graph was built with" in await ended(again)
    assert await known() == 30


async def test_a_topic_deleted_underneath_stops_both_stages(own_settings: Settings, scope: str, start: Start) -> None:
    """Both say which topic is gone, and a new process does not make it again, empty, as if nothing had been."""
    stages = [await start("extract"), await start("sink")]
    await publish(own_settings, [message(scope, n, "a") for n in range(10)])
    await until_read(own_settings, Topic.PATCHES, 10)
    await delete(own_settings, [Topic.PATCHES])
    for stage in stages:
        assert "deleted underneath" in await ended(stage)
        assert Topic.PATCHES.named(own_settings.topic_prefix) in stage.said()
        assert "Traceback" not in stage.said()
    again = await start("extract", wait=False)
    assert "Some topics of this lineage are there" in await ended(again)
    assert Topic.PATCHES.named(own_settings.topic_prefix) not in await partition_counts(own_settings)


async def test_records_removed_before_they_were_read_stop_extraction(
    own_settings: Settings, scope: str, start: Start
) -> None:
    """Retention that was faster than the stage: it says how many are gone, and goes no step on."""
    stage = await start("extract")
    [(_, partition, _)] = await publish(own_settings, [tool_call(scope, 0)])
    await until_read(own_settings, Topic.PATCHES, 1)
    assert await stage.stop() == 0
    await publish(own_settings, [tool_call(scope, n) for n in range(1, 30)])
    name = Topic.TOOL_CALL.named(own_settings.topic_prefix)
    async with admin_client(own_settings) as admin:
        await admin.delete_records({TopicPartition(name, partition): RecordsToDelete(before_offset=20)})
    again = await start("extract", wait=False)
    said = await ended(again)
    assert f"{name}-{partition} begins at offset 20 now, and 19 records from 1 on were removed" in said
    assert len(await read_patches(own_settings)) == 1


async def test_forgotten_offsets_lose_nothing_and_double_nothing(
    own_settings: Settings, scope: str, start: Start, driver: AsyncDriver
) -> None:
    """A broker that forgot the groups: extraction begins again at the beginning, the sink where the graph is."""

    async def verdicts() -> Counter[str]:
        query = "MATCH (e:Event) WHERE e.scope = $scope AND e.event_id IS NOT NULL RETURN e.event_id AS id"
        found = await driver.execute_query(query, scope=scope, database_=own_settings.neo4j_database)
        return Counter(record["id"] for record in found.records)

    async def there(count: int) -> bool:
        return len(await verdicts()) >= count

    stages = [await start("extract"), await start("sink")]
    await publish(own_settings, [*(message(scope, n, "a", f"s{n % 3}") for n in range(30)), tool_call(scope, 0)])
    await until(lambda: there(31), 60, "all are in the graph")
    for stage in stages:
        assert await stage.stop() == 0
    forgotten = {"MEMSTREAM_GROUP_PREFIX": f"{own_settings.group_prefix}x"}  # groups of which the broker knows nothing
    stages = [await start("extract", **forgotten), await start("sink", **forgotten)]
    await publish(own_settings, [message(scope, n, "b", f"s{n % 3}") for n in range(100, 120)])
    await until(lambda: there(51), 60, "what came afterwards is in the graph as well")
    assert set((await verdicts()).values()) == {1}
    assert "offsets_forgotten" in stages[0].said()
    patched = Counter(patch.origin.id for patch in await read_patches(own_settings))
    assert patched["t0"] == 2  # made again: the sink drops it
    assert all(patched[f"m{n}"] == 1 for n in range(30))  # covered by the sessions' states
