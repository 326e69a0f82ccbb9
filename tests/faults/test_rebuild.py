"""The log is the memory: a graph that was removed comes back from the patches, the same as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from neo4j import Driver, GraphDatabase
from stage_processes import StageProcess, environment, until

from memstream.cli.demo_story import publish, story
from memstream.settings import Settings
from memstream.sinks.export.graph import export_lines
from memstream.streams.topics_admin import create_topics

KNOWN = """
MATCH (e:Event) WHERE e.scope STARTS WITH $root AND e.event_id IS NOT NULL RETURN count(e) AS known
"""
FORGET = "MATCH (n) WHERE n.scope STARTS WITH $root OR n.topic STARTS WITH $prefix DETACH DELETE n"


@pytest.fixture
def graph(stack: Settings) -> Driver:
    """A driver for the running Neo4j."""
    return GraphDatabase.driver(stack.neo4j_uri, auth=stack.neo4j_auth)


async def test_a_removed_graph_comes_back_from_patches(
    own_settings: Settings, scope: str, graph: Driver, tmp_path: Path
) -> None:
    """The sample story is told; its graph is removed with its positions; a new sink makes the same graph again."""
    await create_topics(own_settings)
    lines = story(scope)
    events = [line.event for line in lines if line.event is not None]
    scopes = sorted({event.scope for event in events})
    env = environment(own_settings, MEMSTREAM_EXTRACTOR="spacy", MEMSTREAM_EXTRACT_PROCESSES="1")
    database = own_settings.neo4j_database
    different = {(event.scope, event.source, event.id) for event in events}

    async def all_there() -> bool:
        found = graph.execute_query(KNOWN, root=scope, database_=database).records[0]["known"]
        return bool(found >= len(different))

    def dumps() -> dict[str, list[bytes]]:
        return {one: [line.text for line in export_lines(graph, database, one)] for one in scopes}

    with graph:
        worker = await StageProcess.supervised(tmp_path / "worker.log", env)
        await publish(own_settings, lines, lambda: None)
        await until(all_there, 180, f"the story is in the graph; the worker said {worker.said()[-2000:]}", every=0.5)
        assert await worker.stop() == 0
        before = dumps()
        graph.execute_query(FORGET, root=scope, prefix=own_settings.topic_prefix, database_=database)
        assert not any(dumps().values())
        sink = await StageProcess.supervised(tmp_path / "sink.log", env, stage="sink")
        await until(all_there, 180, f"the graph is back; the sink said {sink.said()[-2000:]}", every=0.5)
        assert await sink.stop() == 0
        after = dumps()
    assert all(before.values())
    assert after == before
