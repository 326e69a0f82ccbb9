"""The query service goes over to another Neo4j and back, and no request fails."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from own_neo4j import OwnNeo4j
from patches import publish_patches
from replays import Graph, env_of, memstream
from sink_patches import Told
from stage_processes import StageProcess, ready, until

from memstream.query.switch import choice_file
from memstream.schemas.topics import record_key
from memstream.settings import Settings
from memstream.streams.topics_admin import create_topics


@dataclass
class Poll:
    """Asks the service all the while: what it answered, and from how many graphs."""

    url: str
    scope: str
    asked: int = 0
    failed: list[str] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)

    async def run(self, stop: asyncio.Event) -> None:
        """Ask for the facts of a scope, and for whether the service is ready, until `stop`."""
        async with httpx.AsyncClient(base_url=self.url, timeout=20) as client:
            while not stop.is_set():
                for path, wanted in (("/v1/facts", {"scope": self.scope}), ("/ready", {})):
                    self.asked += 1
                    try:
                        answer = await client.get(path, params=wanted)
                    except httpx.HTTPError as error:
                        self.failed.append(repr(error))
                        continue
                    if answer.status_code != 200:
                        self.failed.append(answer.text)
                    elif path == "/v1/facts":
                        self.texts |= {item["text"] for item in answer.json()["items"]}


@pytest.fixture
def env(own_settings: Settings, own_neo4j: OwnNeo4j) -> Iterator[dict[str, str]]:
    """The environment of a service of this test's own, whose choice is forgotten afterwards."""
    yield {
        **env_of(own_settings, own_neo4j),
        "MEMSTREAM_QUERY_PORT": str(own_settings.query_port),
        "MEMSTREAM_QUERY_URL": f"http://127.0.0.1:{own_settings.query_port}",
    }
    choice_file(own_settings).unlink(missing_ok=True)


@pytest.fixture
async def service(own_settings: Settings, env: dict[str, str], tmp_path: Path) -> AsyncIterator[StageProcess]:
    """The query service, and a sink that fills the graph of the stack."""
    await create_topics(own_settings)
    sink = await StageProcess.start("sink", tmp_path / "sink.log", env)
    served = await StageProcess.command(("serve",), tmp_path / "serve.log", env)
    ports = (own_settings.metrics_port_sink, own_settings.query_port)

    async def all_ready() -> bool:
        return all([await ready(port) for port in ports])

    await until(all_ready, 120, f"service and sink are ready: {served.said()} {sink.said()}")
    yield served
    await sink.kill()
    await served.kill()


async def test_no_request_fails_while_the_graph_is_changed(
    own_settings: Settings, own_neo4j: OwnNeo4j, scope: str, service: StageProcess, env: dict[str, str]
) -> None:
    """Over and back under constant asking: each answer is right, and one graph's from its beginning to its end."""
    graphs = [Graph.of(own_settings), Graph.of(own_neo4j.settings)]
    with graphs[0].driver, graphs[1].driver:
        graphs[1].empty()
        refused = await memstream(env, "switch", "--to", own_neo4j.uri)
        assert refused.code == 1
        assert "is empty" in refused.err
        patches = [Told(scope, f"e{n}", n).message().lives(f"Person {n}", "Porto").patch() for n in range(10)]
        await publish_patches(own_settings, [(record_key(scope), patch.encode()) for patch in patches])
        await graphs[0].until(scope, 10)
        told = await memstream(env, "replay", "--from", "patches", "--into", own_neo4j.uri)
        assert told.code == 0, told.err
        # so that it can be seen which graph answers
        graphs[1].rows("MATCH (f:Fact {scope: $scope}) WHERE f.id IS NOT NULL SET f.text = 'second'", scope=scope)
    stop, poll = asyncio.Event(), Poll(env["MEMSTREAM_QUERY_URL"], scope)
    polling = [asyncio.create_task(poll.run(stop)) for _ in range(3)]
    over = await memstream(env, "switch", "--to", own_neo4j.uri)
    seen = poll.texts
    assert over.code == 0, over.err
    assert f"reads {own_neo4j.uri} now" in over.out

    async def second_answers() -> bool:
        return "second" in seen

    await until(second_answers, 30, "answers come from the second graph")
    back = await memstream(env, "switch", "--back")
    assert back.code == 0, back.err
    poll.texts.clear()

    async def first_answers() -> bool:
        return bool(poll.texts)

    await until(first_answers, 30, "answers come from the first graph")
    stop.set()
    await asyncio.gather(*polling)
    assert poll.failed == []
    assert poll.asked > 20
    assert "second" not in poll.texts


async def test_a_graph_that_cannot_be_read_is_not_gone_over_to(
    own_settings: Settings, own_neo4j: OwnNeo4j, service: StageProcess, env: dict[str, str]
) -> None:
    """Nothing listens there: the command says so, the choice is not kept, and the service reads on."""
    nowhere = await memstream(
        {**env, "MEMSTREAM_TARGET_PASSWORD": secrets.token_hex(4)}, "switch", "--to", own_neo4j.uri
    )
    assert nowhere.code == 1
    assert not choice_file(own_settings).exists()
    async with httpx.AsyncClient(base_url=env["MEMSTREAM_QUERY_URL"], timeout=20) as client:
        status = (await client.get("/v1/status")).json()
    assert (status["graph"], status["switch_refused"]) == (own_settings.neo4j_uri, None)
