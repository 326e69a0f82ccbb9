"""A model that does not answer, on the real stack: what is read meanwhile, and what re-extraction makes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from events import TIME, message, publish, read
from fake_model import NOTHING, Failure, FakeModel, fact, fake_model
from replays import Graph, Told, memstream
from sink_world import PARTITIONS, World, world
from stage_processes import StageProcess, environment, ready, until

from memstream.schemas.conversation import Role
from memstream.schemas.patch import Patch
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.sinks.records import PatchRecord
from memstream.streams.marked import find_marked
from memstream.streams.replay.window import Window
from memstream.streams.topics_admin import create_topics

ANA = ("I", "Person")
HOME = "I live in Porto since the office in Braga closed."
BOSS = "She wears the captain's armband at Nimbus."
CALM = "The kettle is on."
LIVES = "MATCH (f:Fact {scope: $scope, current: true}) WHERE f.predicate = 'lives_in' RETURN f.object_name AS at"
LEADS = "MATCH (f:Fact {scope: $scope, current: true}) WHERE f.predicate = 'managed_by' RETURN f.object_name AS who"
EVENTS = (
    "MATCH (e:Event {scope: $scope}) WHERE e.at IS NOT NULL RETURN e.event_id AS id, e.generation AS g, e.missing AS m"
)


@pytest.fixture
def model() -> Iterator[FakeModel]:
    """A model that says what spaCy does not, and something else of where Ana lives."""
    with fake_model() as made:
        made.answers[HOME] = {**NOTHING, "facts": [fact(ANA, "lives_in", ("Braga", "Location"), "in Braga")]}
        made.answers[BOSS] = {
            **NOTHING,
            "facts": [
                fact(("Nimbus", "Object"), "managed_by", ("Mara Lind", "Person"), "the captain's armband at Nimbus")
            ],
        }
        yield made


@pytest.fixture
async def env(own_settings: Settings, model: FakeModel, tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """Workers whose extractor is spaCy with the model."""
    await create_topics(own_settings)
    told = environment(
        own_settings,
        MEMSTREAM_EXTRACTOR="spacy+openai",
        MEMSTREAM_OPENAI_URL=model.url,
        MEMSTREAM_OPENAI_MODEL="tiny",
        MEMSTREAM_OPENAI_API_KEY="sk-secret",
        MEMSTREAM_OPENAI_SECONDS="3",
        MEMSTREAM_EXTRACT_PROCESSES="1",
        COLUMNS="200",
    )
    workers = await StageProcess.supervised(tmp_path / "workers.log", told)
    await until(lambda: ready(own_settings.metrics_port_extract), 120, "the workers are ready")
    yield told
    assert await workers.stop() == 0
    assert "sk-secret" not in workers.said()
    assert HOME not in workers.said()


@pytest.fixture
def graph(own_settings: Settings) -> Iterator[Graph]:
    """The graph that the workers write."""
    made = Graph.of(own_settings)
    with made.driver:
        yield made


def generations(graph: Graph, scope: str) -> dict[str, tuple[int, list[str] | None]]:
    """The generation of each event in the graph, and what it lacks."""
    return {row["id"]: (row["g"], row["m"]) for row in graph.rows(EVENTS, scope=scope)}


async def test_an_outage_falls_back_and_what_it_left_is_read_again(
    own_settings: Settings, env: dict[str, str], graph: Graph, model: FakeModel, scope: str
) -> None:
    """The model's facts replace spaCy's where they differ, add to them where not; nothing is left of the fallback."""
    model.down = Failure(503)
    said = [message(scope, 1, "Mara Lind is my sister."), message(scope, 2, HOME), message(scope, 3, BOSS)]
    said += [message(scope, 4, CALM, "s2"), message(scope, 5, "Noted.", "s2", Role.ASSISTANT)]
    await publish(own_settings, said)
    await graph.until(scope, 5)
    before = generations(graph, scope)
    assert {event for event, (_, lacks) in before.items() if lacks == ["openai"]} == {"m1", "m2", "m3", "m4"}
    assert graph.rows(LIVES, scope=scope) == [{"at": "Porto"}]
    assert graph.rows(LEADS, scope=scope) == []
    async with httpx.AsyncClient() as client:
        metrics = (await client.get(f"http://127.0.0.1:{own_settings.metrics_port_extract}/metrics")).text
    assert 'memstream_patches_missing_total{extractor="openai"} 4.0' in metrics
    assert 'memstream_extractor_outcomes_total{extractor="openai",outcome="http_503"}' in metrics

    ours = ("--scope", scope, "--json")
    seen = (await memstream(env, "re-extract", *ours, "--dry-run")).summary
    assert (seen["found"], seen["missing"], seen["scopes"]) == (4, {"openai": 4}, {scope: 4})
    still = await memstream(env, "re-extract", *ours)
    assert (still.code, still.summary["left"]) == (3, 4)
    other = await memstream({**env, "MEMSTREAM_EXTRACTOR": "spacy"}, "re-extract", *ours)
    assert other.code == 1
    assert "MEMSTREAM_EXTRACTOR is spacy" in other.err
    assert await find_marked(own_settings, Window.of((scope,)), ["gliner"]) == []
    assert await find_marked(own_settings, Window.of((scope,), since="2099-01-01")) == []
    assert await find_marked(own_settings, Window.of((f"{scope}/below",))) == []

    model.down = None
    asked = len(model.asked)
    done = await memstream(env, "re-extract", *ours, "--missing", "openai")
    assert (done.code, done.summary["answered"], done.summary["left"]) == (0, 4, 0), done.err
    assert len(model.asked) == asked + 4  # and not for what they follow

    async def complete() -> bool:
        return not any(lacks for _, lacks in generations(graph, scope).values())

    await until(complete, 60, "the sink has what is newer")
    after = generations(graph, scope)
    assert all(after[event][0] > before[event][0] for event in ("m1", "m2", "m3", "m4"))
    assert after["m5"] == before["m5"]
    assert graph.rows(LIVES, scope=scope) == [{"at": "Braga"}]
    assert graph.rows(LEADS, scope=scope) == [{"who": "Mara Lind"}]
    left = graph.rows(
        "MATCH (a:Assertion {scope: $scope}) WHERE a.at IS NOT NULL RETURN a.object_name AS o", scope=scope
    )
    assert "Porto" not in {row["o"] for row in left}
    told = await memstream(env, "re-extract", "--scope", scope)
    assert (told.code, told.out) == (0, "Every event was read by all of its extractors.\n")

    # whatever arrives first: the same patches the other way round give the same graph
    as_it_is = graph.dumps([scope])
    patches = [record.value for record in await read(own_settings, Topic.PATCHES)]
    assert len(patches) == 9
    with world(own_settings, scope) as again:
        again.wipe()
        _apply(again, patches[::-1])
        assert graph.dumps([scope]) == as_it_is


def _apply(again: World, patches: list[bytes]) -> None:
    assert again.partition < PARTITIONS
    records = [PatchRecord(number, again.scope.encode(), value) for number, value in enumerate(patches)]
    for record in records:
        again.sink.apply(again.topic, again.partition, [record])
    assert {Patch.decode(value).origin.time[:10] for value in patches} == {TIME.date().isoformat()}


async def test_what_was_answered_is_not_asked_for_again(
    own_settings: Settings, env: dict[str, str], graph: Graph, model: FakeModel, scope: str
) -> None:
    """Without an outage nothing is marked, and what the model says is in the graph at once, with its source."""
    await publish(own_settings, [message(scope, 1, "Mara Lind is my sister."), message(scope, 3, BOSS)])
    await graph.until(scope, 2)
    assert graph.rows(LEADS, scope=scope) == [{"who": "Mara Lind"}]
    uses = graph.rows("MATCH (a:Assertion {scope: $scope, predicate: 'managed_by'}) RETURN a.used AS used", scope=scope)
    assert [len(row["used"]) for row in uses] == [1]
    found: Told = await memstream(env, "re-extract", "--json", "--scope", scope)
    assert (found.code, found.summary["found"], len(model.asked)) == (0, 0, 2)
