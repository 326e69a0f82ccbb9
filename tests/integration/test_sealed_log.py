"""A sealed log through the real processes: nothing readable in any topic, and an erasure that reaches into the log."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from own_neo4j import OwnNeo4j
from replays import Graph, Told, env_of, memstream
from stage_processes import StageProcess, all_ready, environment, until

from memstream.client import AsyncPublisher
from memstream.schemas.topics import KEY_SEPARATOR, Topic
from memstream.sealing.patches import is_sealed_patch
from memstream.settings import Settings
from memstream.streams.log_reader import read_to_end
from memstream.streams.offload import OffloadStore
from memstream.streams.topics_admin import create_topics

DOCUMENT = (Path(__file__).parents[2] / "docs" / "erasure.md").read_text(encoding="utf-8")
# what was said, in words that are too long to stand in sealed bytes by chance
WORDS = (
    "mara lind",
    "jana lind",
    "nimbus",
    "quillon",
    "vexelwerk",
    "lisbon",
    "tom hale",
    "tromso",
    "saffron",
    "umbermost",
    "i live",
)
OF_ANA = ("mara lind", "nimbus", "lisbon", "saffron", "umbermost")


@dataclass
class World:
    """The processes of a test with a sealed log, what they are told, and the two graphs."""

    settings: Settings
    env: dict[str, str]
    scope: str
    live: Graph
    second: Graph
    into: str
    processes: list[StageProcess] = field(default_factory=list)

    async def run(self, *words: str, code: int = 0) -> Told:
        """A command with --json."""
        told = await memstream(self.env, *words, "--json")
        assert told.code == code, f"{words}: {told.out} {told.err}"
        return told

    async def raw(self) -> dict[Topic, bytes]:
        """All bytes of all topics, headers and keys included."""
        found: dict[Topic, bytes] = {}
        for topic in Topic:
            parts = []
            async for record in read_to_end(self.settings, self.settings.topic(topic)):
                told = [value or b"" for _, value in record.headers]
                parts += [record.key or b"", record.value or b"", *told]
            found[topic] = b"\n".join(parts).lower()
        return found

    async def publish(self, talk: Iterable[tuple[str, str, str]]) -> None:
        """Messages of one session: id, about whom, text."""
        async with AsyncPublisher(self.scope, settings=self.settings, session_id="s", source="tests") as publisher:
            for one, about, text in talk:
                await publisher.message(None, "user", text, id=one, about=about, user_id=about)


@pytest.fixture
def sealed(own_settings: Settings, tmp_path: Path) -> Settings:
    """The settings of a test, with a file of keys."""
    return own_settings.model_copy(update={"keys": (tmp_path / "keys.db").as_uri()})


@pytest.fixture
def graphs(stack: Settings, own_neo4j: OwnNeo4j) -> Iterator[tuple[Graph, Graph]]:
    """The graph of the stack, and an empty one beside it."""
    live, second = Graph.of(stack), Graph.of(own_neo4j.settings)
    with live.driver, second.driver:
        second.empty()
        yield live, second


@pytest.fixture
async def world(
    sealed: Settings, own_neo4j: OwnNeo4j, graphs: tuple[Graph, Graph], scope: str, tmp_path: Path
) -> AsyncIterator[World]:
    """Both stages and the query service, with the extraction that ships."""
    await create_topics(sealed)
    env = env_of(sealed, own_neo4j, MEMSTREAM_EXTRACTOR="spacy", MEMSTREAM_KEYS=sealed.keys) | {
        "MEMSTREAM_QUERY_PORT": str(sealed.query_port),
        "MEMSTREAM_QUERY_URL": f"http://127.0.0.1:{sealed.query_port}",
        "MEMSTREAM_EXTRACT_PROCESSES": "1",
    }
    made = World(sealed, env, scope, *graphs, own_neo4j.uri)
    made.processes = [
        await StageProcess.supervised(tmp_path / "workers.log", env),
        await StageProcess.command(("serve",), tmp_path / "serve.log", env),
    ]
    await all_ready(sealed, *made.processes)
    yield made
    for process in made.processes:
        await process.stop()
    for log in (sealed.data_dir / "logs").glob(f"{sealed.topic_prefix}.replay-*.log"):
        log.unlink()


def texts(graph: Graph, scope: str) -> str:
    """All that a graph holds of a scope, in its canonical form."""
    return "\n".join(graph.dumps([scope])[scope]).lower()


async def test_a_person_of_a_shared_session_is_erased_in_the_log_too(world: World) -> None:
    """Sealed, recalled, erased, and built again from patches and from events."""
    await world.publish(
        [
            ("b0", "ben", "I met Jana Lind yesterday. Jana Lind works at Quillon Labs."),
            ("m0", "ana", "I met Mara Lind yesterday. Mara Lind works at Nimbus."),
            ("m1", "ben", "She moved to Rome. I live in Porto."),
            ("m2", "ben", "My brother is Tom Hale. Tom works at Vexelwerk."),
            ("m3", "ana", "He lives in Lisbon."),
        ]
    )
    await publish_others(world)
    await world.live.until(world.scope, 8)
    await nothing_in_clear(world)
    assert "vexelwerk" in await recalled(world, "Where does Tom Hale work?")

    letters: list[dict[str, Any]] = json.loads((await world.run("dlq", "list", "--scope", world.scope)).out)
    assert ["data field" in one["message"] for one in letters] == [True]  # opened for who has the keys

    erased = (await world.run("erase", "--scope", world.scope, "--user", "ana", "--yes", "--wait", "60")).summary
    assert (erased["reached"], len(erased["keys_destroyed"]), erased["keys_kept"]) == (4, 1, None)
    await world.publish([("m4", "ana", "I live in Tromso."), ("m5", "ben", "She likes Quillon Labs.")])
    await world.live.until(world.scope, 11)
    left = texts(world.live, world.scope)
    assert "tromso" in left
    assert not [word for word in (*OF_ANA, "lives in rome") if word in left]
    await proven(world)

    told = (await world.run("replay", "--from", "patches", "--into", world.into)).summary
    assert (told["unreadable"], told["cut"], told["refused"]) == (4, 1, 0)
    assert world.second.dumps([world.scope]) == world.live.dumps([world.scope])
    told = (await world.run("replay", "--from", "events", "--into", world.into, "--wipe", "--yes")).summary
    assert (told["unreadable"], told["refused"]) == (4, 0)
    rebuilt = texts(world.second, world.scope)
    assert not [word for word in (*OF_ANA, "lives in rome") if word in rebuilt]
    assert all(word in rebuilt for word in ("porto", "vexelwerk", "tromso"))
    await nothing_in_clear(world)
    again = (await world.run(*documented("keys destroy", world.scope))).summary
    assert len(again["destroyed"]) == 1  # of the key that ana came back with


async def publish_others(world: World) -> None:
    """A result that goes to the offload store, a statement, and an event that is refused: all about ana."""
    whole = {"rows": [{"text": f"saffron {numbermost}"} for numbermost in range(2_000)]}
    async with AsyncPublisher(world.scope, settings=world.settings, source="tests") as publisher:
        await publisher.tool_call("c", "search", {"q": "umbermost"}, result=whole, session_id="s", about="ana", id="c1")
        await publisher.fact(("Person", "ana"), "likes", "umbermost", about="ana", id="f1")
        headers = {"specversion": "1.0", "id": "bad", "source": "tests", "time": "2026-03-01T09:00:00Z"}
        headers |= {"type": "memstream.message.v1", "scope": world.scope, "subject": "ana"}
        key = f"{world.scope}{KEY_SEPARATOR}s".encode()
        await publisher.publish_raw(
            Topic.CONVERSATION,
            key,
            b'{"session_id": "s", "role": "umbermost"}',
            [
                *((f"ce_{name}", value.encode()) for name, value in headers.items()),
                ("content-type", b"application/json"),
            ],
        )


async def nothing_in_clear(world: World) -> None:
    """No topic has a word of it (but for the one record that somebody else published in clear), nor the store."""
    for topic, raw in (await world.raw()).items():
        clear = raw.replace(b'{"session_id": "s", "role": "umbermost"}', b"") if topic is Topic.CONVERSATION else raw
        assert not [word for word in WORDS if word.encode() in clear], topic
    store = OffloadStore(world.settings.offload_url)
    assert not [handle for handle in store.all(world.scope) if b"saffron" in store.fetch(handle)]


async def recalled(world: World, question: str) -> str:
    """What recall says to a question."""
    async with httpx.AsyncClient(base_url=world.env["MEMSTREAM_QUERY_URL"], timeout=30) as client:
        answer = await client.get("/v1/recall", params={"scope": world.scope, "prompt": question})
        assert answer.status_code == 200, answer.text
        return answer.text.lower()


async def proven(world: World) -> None:
    """Of what is erased the log holds records, and nobody can read one, but what was published in clear."""
    asked = [word for name in OF_ANA for word in ("--containing", name)]
    proof = (await world.run("prove-erased", "--scope", world.scope, *asked)).summary
    assert proof["found"] == []
    assert proof["looked_at"]["dead letters that nobody can read"] == 1
    held = {one["topic"].rpartition(".")[2]: (one["held"], one["unreadable"]) for one in proof["topics"]}
    assert held["conversation"] == (3, 2)
    assert (held["tool-call"], held["statement"], held["patches"]) == ((1, 1), (1, 1), (4, 4))
    keys: list[dict[str, Any]] = json.loads((await world.run(*documented("keys list", world.scope))).out)
    told = sorted((one["subject"], one["generation"], one["destroyed"] is None) for one in keys)
    assert told == [("ana", 1, False), ("ana", 2, True), ("ben", 1, True)]


def documented(command: str, scope: str) -> list[str]:
    """A command of docs/erasure.md as it stands there, with the scope of the test."""
    [line] = re.findall(rf"^memstream ({command}.*)$", DOCUMENT, re.MULTILINE)
    return [word.replace("acme", scope) for word in shlex.split(line)]


async def test_a_stage_without_the_keys_stops_and_loses_nothing(sealed: Settings, scope: str, tmp_path: Path) -> None:
    """It says what to set and ends; with the keys it goes on where it was."""
    await create_topics(sealed)
    async with AsyncPublisher(scope, settings=sealed, source="tests") as publisher:
        await publisher.message("s", "user", "I live in Porto.", about="ana")
    env = environment(sealed)
    keyless = await StageProcess.start("extract", tmp_path / "extract.log", env)
    async with asyncio.timeout(120):
        assert await keyless.process.wait() == 1
    assert "MEMSTREAM_KEYS is not set here" in keyless.said()
    extract = await StageProcess.start("extract", tmp_path / "extract.log", {**env, "MEMSTREAM_KEYS": sealed.keys})
    try:
        await until(lambda: extracted(sealed), 120, "its patch is there")
    finally:
        await extract.kill()


async def extracted(settings: Settings) -> bool:
    """Whether there is a patch, sealed."""
    found = [record.value async for record in read_to_end(settings, settings.topic(Topic.PATCHES))]
    return [is_sealed_patch(value) for value in found] == [True]
