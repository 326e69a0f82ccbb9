"""Pairs of entities that may be one, through the service, and what an entity's answer says of those that are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from memstream.extractors.vectors.embedders import NoEmbedder
from memstream.schemas.topics import record_key
from memstream.sinks.records import PatchRecord
from memstream.sinks.resolving import ScopeReader
from memstream.sinks.stores import Store
from memstream.streams.resolution import Resolved, resolve_scope

Things = tuple[Any, Any, Any]
World = Any


@pytest.fixture
def resolved(world: World, store: Store, scope: str) -> Callable[[], Resolved]:
    """Runs resolution over the test's scope, and applies what it says."""

    def run() -> Resolved:
        reader = ScopeReader(store.driver, store.database)
        (place,) = reader.places(scope)
        found = resolve_scope(reader, place, NoEmbedder())
        for patch in found.patches:
            world.offset += 1
            record = PatchRecord(world.offset, record_key(scope), patch.encode())
            world._sink.apply(world._topic, 0, [record])
        return found

    return run


async def _get(client: httpx.AsyncClient, path: str, **parameters: Any) -> Any:
    answer = await client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _tell(world: World, scope: str, things: Things, *names: str) -> None:
    person, _, _ = things
    say = world.say(scope, 1).message("talk", "Tom", "hello")
    world.tell(say.mentions(*(person(name) for name in names)))


async def test_an_entity_names_what_it_is_the_same_as_and_not_what_it_may_be(
    world: World, client: httpx.AsyncClient, scope: str, things: Things, resolved: Callable[[], Resolved]
) -> None:
    """Accepted pairs are followed by every read over names; proposed ones by none."""
    person, org, _ = things
    _tell(world, scope, things, "Robert Hale", "Bob Hale", "P. Nadar", "Priya Nadar")
    world.tell(world.say(scope, 2).message("talk", "Tom", "x").fact(person("Bob Hale"), "works_at", org("Norwell")))
    resolved()
    found = await _get(client, "/v1/entities/Robert Hale", scope=scope)
    assert [other["name"] for other in found["entities"][0]["same_as"]] == ["Bob Hale"]
    assert [fact["predicate"] for fact in found["facts"]] == ["works_at"]
    assert (await _get(client, "/v1/entities/Priya Nadar", scope=scope))["entities"][0]["same_as"] == []


async def test_likely_pairs_are_listed_with_their_reasons(
    world: World, client: httpx.AsyncClient, scope: str, things: Things, resolved: Callable[[], Resolved]
) -> None:
    """The surest first, page by page, each with both entities; and those that were joined."""
    _tell(world, scope, things, "P. Nadar", "Priya Nadar", "Ada Lund", "Ada Lund Holm", "Robert Hale", "Bob Hale")
    before = (await _get(client, "/v1/same-as", scope=scope))["position"]["offset"]
    resolved()
    page = await _get(client, "/v1/same-as", scope=scope, limit=1)
    rest = await _get(client, "/v1/same-as", scope=scope, limit=1, cursor=page["next_cursor"])
    rows = page["items"] + rest["items"]
    assert rest["next_cursor"] is None
    assert [sorted((row["a"]["name"], row["b"]["name"])) for row in rows] == [
        ["P. Nadar", "Priya Nadar"],
        ["Ada Lund", "Ada Lund Holm"],
    ]
    assert [row["status"] for row in rows] == ["proposed", "proposed"]
    assert all(row["reason"] and 0.7 <= row["score"] < 0.9 and len(row["id"]) == 12 for row in rows)
    joined = await _get(client, "/v1/same-as", scope=scope, status="accepted")
    assert [sorted((row["a"]["name"], row["b"]["name"])) for row in joined["items"]] == [["Bob Hale", "Robert Hale"]]
    assert (await _get(client, "/v1/same-as", scope=scope, as_of=before))["items"] == []


async def test_pairs_of_another_scope_are_not_seen(
    world: World, client: httpx.AsyncClient, scope: str, things: Things, resolved: Callable[[], Resolved]
) -> None:
    """Neither of the scope below, nor of one beside."""
    _tell(world, scope, things, "P. Nadar", "Priya Nadar")
    _tell(world, f"{scope}/below", things, "P. Nadar", "Priya Nadar")
    resolved()
    assert len((await _get(client, "/v1/same-as", scope=scope))["items"]) == 1
    assert (await _get(client, "/v1/same-as", scope=f"{scope}/below"))["items"] == []
