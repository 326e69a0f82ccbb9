"""Facts in two times, their sources and history, entities and preferences, over the service."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

Things = Any
World = Any


@pytest.fixture
async def moved(world: World, scope: str, things: Things) -> list[Any]:
    """Ines moves from Porto to Leipzig; that she lived in Braga is said, and taken back."""
    person, org, place = things
    ines = person("Ines Duarte")
    said = [
        world.say(scope, 1).message("talk", "Ines Duarte", "I live in Porto.").fact(ines, "lives_in", place("Porto")),
        world.say(scope, 2)
        .message("talk", "Ines Duarte", "I work at Skagen Data.")
        .fact(ines, "works_at", org("Skagen Data")),
        world.say(scope, 5).message("talk", "Tom Hale", "Ines lives in Braga.").fact(ines, "lives_in", place("Braga")),
    ]
    said.append(world.say(scope, 6).retract(said[2]))
    said.append(
        world.say(scope, 10)
        .message("talk", "Ines Duarte", "I moved to Leipzig.")
        .fact(ines, "lives_in", place("Leipzig"))
    )
    world.tell(*said)
    return said


async def _get(client: httpx.AsyncClient, path: str, **params: Any) -> Any:
    answer = await client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _values(page: Any) -> list[str]:
    return [item["object"]["name"] if item["object"] else item["value"] for item in page["items"]]


async def test_only_what_holds_is_listed(moved: Any, client: httpx.AsyncClient, scope: str) -> None:
    """A superseded or retracted fact is not among the current ones."""
    page = await _get(client, "/v1/facts", scope=scope, subject="ines duarte", predicate="lives_in")
    assert _values(page) == ["Leipzig"]
    assert page["items"][0]["holds"] is True
    assert page["position"] == {"partition": 0, "offset": 4}


async def test_superseded_facts_are_marked(moved: Any, client: httpx.AsyncClient, scope: str) -> None:
    """What no longer holds comes when asked, with `holds` false and its end."""
    page = await _get(
        client, "/v1/facts", scope=scope, subject="Ines Duarte", predicate="lives_in", include_superseded=True
    )
    assert {item["object"]["name"]: item["holds"] for item in page["items"]} == {"Leipzig": True, "Porto": False}
    porto = next(item for item in page["items"] if not item["holds"])
    assert porto["valid_to"].startswith("2026-03-10")


@pytest.mark.parametrize(
    ("day", "home"), [("2026-03-03", "Porto"), ("2026-03-11", "Leipzig"), ("2026-03-10T08:00:00Z", "Porto")]
)
async def test_valid_at_picks_the_interval(
    moved: Any, client: httpx.AsyncClient, scope: str, day: str, home: str
) -> None:
    """What held at a time in the world, as it is known now."""
    page = await _get(client, "/v1/facts", scope=scope, subject="Ines Duarte", predicate="lives_in", valid_at=day)
    assert _values(page) == [home]


@pytest.mark.parametrize(
    ("when", "homes"),
    [("2026-03-03", ["Porto"]), ("2026-03-05T12:00:00Z", ["Braga"]), ("2026-03-07", ["Porto"]), ("2026-02", [])],
)
async def test_known_at_is_what_was_believed(
    moved: Any, client: httpx.AsyncClient, scope: str, when: str, homes: list[str]
) -> None:
    """A retraction takes out from its own time on: before it, memory believed what was wrong."""
    page = await _get(client, "/v1/facts", scope=scope, subject="Ines Duarte", predicate="lives_in", known_at=when)
    assert _values(page) == homes


async def test_a_whole_scope_pages_without_gap_or_repeat(moved: Any, client: httpx.AsyncClient, scope: str) -> None:
    """Pages of one give what one page gives, with and without known_at."""
    for more in ({}, {"known_at": "2026-03-20"}, {"include_superseded": True}):
        whole = await _get(client, "/v1/facts", scope=scope, **more)
        found, cursor = [], None
        while True:
            page = await _get(
                client, "/v1/facts", scope=scope, limit=1, **more, **({"cursor": cursor} if cursor else {})
            )
            found += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert [item["claim"] for item in found] == [item["claim"] for item in whole["items"]]
        assert len(found) >= 2


async def test_facts_by_object(moved: Any, client: httpx.AsyncClient, scope: str) -> None:
    """Who lives there, asked from the place."""
    page = await _get(client, "/v1/facts", scope=scope, object="Leipzig")
    assert [item["subject"]["name"] for item in page["items"]] == ["Ines Duarte"]


async def test_sources_resolve(moved: Any, client: httpx.AsyncClient, scope: str) -> None:
    """Each source of a claim is a message that can be read."""
    page = await _get(client, "/v1/facts", scope=scope, subject="Ines Duarte", predicate="lives_in")
    found = await _get(client, f"/v1/facts/{page['items'][0]['claim']}/sources", scope=scope)
    assert [source["quote"] for source in found["sources"]] == ["I moved to Leipzig."]
    message = await _get(client, f"/v1/messages/{found['sources'][0]['id']}", scope=scope)
    assert message["message"]["text"] == "I moved to Leipzig."
    by_event = await _get(client, f"/v1/messages/{message['message']['event_id']}", scope=scope, source="tests")
    assert by_event["message"]["id"] == message["message"]["id"]


async def test_a_stated_fact_cites_its_statement(
    world: World, client: httpx.AsyncClient, scope: str, things: Things
) -> None:
    """What was stated outright, without a message, is sourced from the event that stated it."""
    person, org, _ = things
    said = world.say(scope, 1, event_id="stated-1").fact(person("Tom Hale"), "works_at", org("Pinecrest"))
    world.tell(said)
    page = await _get(client, "/v1/facts", scope=scope)
    found = await _get(client, f"/v1/facts/{page['items'][0]['claim']}/sources", scope=scope)
    assert [(each["kind"], each["event_id"]) for each in found["sources"]] == [("statement", "stated-1")]


async def test_history_shows_every_version(moved: Any, client: httpx.AsyncClient, scope: str) -> None:
    """Versions that were closed stay readable, with the span of the log in which they were believed."""
    page = await _get(client, "/v1/facts", scope=scope, subject="Ines Duarte", predicate="lives_in")
    found = await _get(client, f"/v1/facts/{page['items'][0]['claim']}/history", scope=scope)
    believed = {(each["object"]["name"], each["at"], each["ended_at"]) for each in found["versions"]}
    assert ("Braga", 2, 3) in believed
    assert ("Leipzig", 4, None) in believed
    assert found["said"][0]["text"] == "Ines Duarte lives in Porto"
    assert len(found["said"]) == 3


async def test_an_entity_answers_with_its_facts(
    world: World, client: httpx.AsyncClient, scope: str, things: Things
) -> None:
    """By exact name in any spelling: its type, mentions, links, and the facts about all that is the same."""
    person, org, _ = things
    ines, nes = person("Ines Duarte"), person("Nes")
    world.tell(
        world.say(scope, 1)
        .message("talk", "Ines Duarte", "I work at Skagen Data.")
        .mentions(ines)
        .fact(ines, "works_at", org("Skagen Data")),
        world.say(scope, 2).message("talk", "Tom", "Nes is away.").mentions(nes),
        world.say(scope, 3).same(ines, nes),
    )
    found = await _get(client, "/v1/entities/the%20INES%20%20Duarte", scope=scope)
    assert [(each["type"], each["name"], each["mentions"]) for each in found["entities"]] == [
        ("Person", "Ines Duarte", 1)
    ]
    assert [each["name"] for each in found["entities"][0]["same_as"]] == ["Nes"]
    assert found["facts"][0]["sources"][0]["quote"] == "I work at Skagen Data."
    linked = await _get(client, "/v1/entities/Nes", scope=scope)
    assert [fact["predicate"] for fact in linked["facts"]] == ["works_at"]


async def test_entities_are_listed_and_searched(
    world: World, client: httpx.AsyncClient, scope: str, things: Things
) -> None:
    """By name in order, by type, and by words or the beginning of one."""
    person, org, _ = things
    say = world.say(scope, 1).message("talk", "Tom", "hello")
    world.tell(say.mentions(person("Ines Duarte"), person("Tom Hale"), org("Skagen Data")))
    assert [e["name"] for e in (await _get(client, "/v1/entities", scope=scope))["items"]] == [
        "Ines Duarte",
        "Skagen Data",
        "Tom Hale",
    ]
    assert [e["name"] for e in (await _get(client, "/v1/entities", scope=scope, type="Organization"))["items"]] == [
        "Skagen Data"
    ]
    assert [e["name"] for e in (await _get(client, "/v1/entities", scope=scope, q="duar"))["items"]] == ["Ines Duarte"]
    assert (await _get(client, "/v1/entities", scope=scope, q='AND ) "'))["items"] == []


async def test_sources_that_came_later_do_not_count_before(
    world: World, client: httpx.AsyncClient, scope: str, things: Things
) -> None:
    """A fact that was said again has one source to a read as of the first time, and two now."""
    person, org, _ = things
    says = [
        world.say(scope, day)
        .message("talk", "Tom", f"Tom works at Pinecrest, {day}.")
        .fact(person("Tom"), "works_at", org("Pinecrest"))
        for day in (1, 2)
    ]
    world.tell(*says)
    now = (await _get(client, "/v1/facts", scope=scope))["items"]
    assert [(fact["support"], fact["said_last"][:10]) for fact in now] == [(2, "2026-03-02")]
    before = (await _get(client, "/v1/facts", scope=scope, as_of=0))["items"]
    assert [(fact["support"], fact["said_last"][:10]) for fact in before] == [(1, "2026-03-01")]
    claim = now[0]["claim"]
    assert len((await _get(client, f"/v1/facts/{claim}/sources", scope=scope))["sources"]) == 2
    assert len((await _get(client, f"/v1/facts/{claim}/sources", scope=scope, as_of=0))["sources"]) == 1


async def test_preferences_are_listed_and_recalled(
    world: World, client: httpx.AsyncClient, scope: str, things: Things
) -> None:
    """With their holder and their sources; by holder; and in what recall knows of the holder."""
    person, _, _ = things
    said = (
        world.say(scope, 1)
        .message("talk", "Tom Hale", "I like short summaries.")
        .likes(person("Tom Hale"), "short summaries")
    )
    world.tell(said)
    for more in ({}, {"holder": "tom hale"}):
        (found,) = (await _get(client, "/v1/preferences", scope=scope, **more))["items"]
        assert (found["holder"]["name"], found["polarity"], found["object"]) == ("Tom Hale", "like", "short summaries")
        assert [source["quote"] for source in found["sources"]] == ["I like short summaries."]
    sources = await _get(client, f"/v1/facts/{found['claim']}/sources", scope=scope)
    assert sources["text"] == "Tom Hale likes short summaries"
    recalled = await _get(client, "/v1/recall", scope=scope, prompt="What does Tom Hale like?")
    assert recalled["items"][0]["kind"] == "preference"
