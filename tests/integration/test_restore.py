"""A Neo4j put back to an older copy of its store: its own offsets say where it is, and the log has the rest."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from own_neo4j import OwnNeo4j
from patches import publish_patches
from replays import Graph, scopes_of, story
from stage_processes import StageProcess, environment, ready, until

from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.migrations import migrate
from memstream.streams.topics_admin import create_topics


async def test_a_restored_graph_catches_up_by_itself(
    own_settings: Settings, own_neo4j: OwnNeo4j, scope: str, tmp_path: Path
) -> None:
    """The copy's own offsets tell the sink where it is: it rewinds, and makes the same graph."""
    settings = own_neo4j.at(own_settings)
    env = {**environment(own_settings), **own_neo4j.env}
    await create_topics(own_settings)

    async def sink(until_events: int) -> None:
        stage = await StageProcess.start("sink", tmp_path / "sink.log", env)
        await until(lambda: ready(own_settings.metrics_port_sink), 240, f"the sink is ready: {stage.said()}")
        graph = Graph.of(settings)
        with graph.driver:
            await graph.until(scope, until_events)
        assert await stage.stop() == 0

    def dumps() -> dict[str, list[str]]:
        graph = Graph.of(settings)
        with graph.driver:
            return graph.dumps(scopes_of(scope))

    graph = Graph.of(settings)
    with graph.driver:
        graph.empty()
    await publish_patches(own_settings, story(scope, range(60)))
    await sink(60)
    await own_neo4j.stop()
    copy = await own_neo4j.keep_copy()
    await own_neo4j.start()
    await publish_patches(own_settings, story(scope, range(60, 120)))
    await sink(120)
    before = await asyncio.to_thread(dumps)
    await own_neo4j.stop()
    await own_neo4j.put_back(copy)
    await own_neo4j.start()
    assert await asyncio.to_thread(dumps) != before
    await sink(120)
    assert await asyncio.to_thread(dumps) == before


async def test_a_graph_that_is_older_than_the_log_reaches_stops_the_sink(
    own_settings: Settings, own_neo4j: OwnNeo4j, scope: str, tmp_path: Path
) -> None:
    """Retention is past where the copy stands: the sink says how far back the log reaches, and what to do."""
    await create_topics(own_settings)
    graph = Graph.of(own_neo4j.at(own_settings))
    with graph.driver:
        graph.empty()
        migrate(graph.driver, graph.database)
        where = await publish_patches(own_settings, story(scope, range(60)))
        topic = Topic.PATCHES.named(own_settings.topic_prefix)
        sink = GraphSink(graph.driver, graph.database, "tests")
        for partition in {partition for partition, _ in where}:
            sink.resume(topic, partition, own_settings.partitions)
            sink.pass_over(topic, partition, 0, None)
    ends = {partition: max(offset for part, offset in where if part == partition) for partition, _ in where}
    await _forget(own_settings, ends)
    env = {**environment(own_settings), **own_neo4j.env}
    stage = await StageProcess.start("sink", tmp_path / "stops.log", env)
    async with asyncio.timeout(120):
        assert await stage.process.wait() == 1
    said = stage.said()
    assert "LogMismatch" in said
    assert "as after a restore from an older copy" in said
    assert any(f"the log reaches back to offset {offset} of 20" in said for offset in ends.values())
    assert "memstream export" in said
    assert "memstream replay --from events" in said
    assert "Traceback" not in said


async def _forget(settings: Settings, before: dict[int, int]) -> None:
    """Let the broker drop the patches below these offsets, as a retention does."""
    admin = AIOKafkaAdminClient(**kafka_options(settings))
    await admin.start()
    try:
        topic = Topic.PATCHES.named(settings.topic_prefix)
        dropped = {TopicPartition(topic, part): RecordsToDelete(offset) for part, offset in before.items()}
        await admin.delete_records(dropped)
    finally:
        await admin.close()
