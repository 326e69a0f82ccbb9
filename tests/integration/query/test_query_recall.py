"""Recall: what is found, by which path, within which budget, and that every citation resolves."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

World = Any
Things = Any


async def _recall(client: httpx.AsyncClient, scope: Any, prompt: str, **more: Any) -> Any:
    answer = await client.get("/v1/recall", params={"scope": scope, "prompt": prompt, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
async def told(world: World, scope: str, things: Things) -> None:
    """A few days of a small team."""
    person, org, place = things
    ines, skagen = person("Ines Duarte"), org("Skagen Data")
    world.tell(
        world.say(scope, 1)
        .message("talk", "Ines Duarte", "I work at Skagen Data.")
        .mentions(ines, skagen)
        .fact(ines, "works_at", skagen),
        world.say(scope, 2)
        .message("talk", "Tom Hale", "Skagen Data sits in Porto.")
        .fact(skagen, "located_in", place("Porto")),
        world.say(scope, 3).message("talk", "Ines Duarte", "I live in Braga.").fact(ines, "lives_in", place("Braga")),
        world.say(scope, 8)
        .message("talk", "Ines Duarte", "I moved to Leipzig.")
        .fact(ines, "lives_in", place("Leipzig")),
        world.say(scope, 9).message("talk", "Tom Hale", "The oven in the bakery broke down again [1]."),
        world.say(scope, 9).message("talk", "Tom Hale", "Recalled: the oven works fine.", recalled=True),
        world.say(scope, 9).document(
            "doc-1", "Oven manual", "Reset the oven by holding the red button.", "Clean the racks weekly."
        ),
    )


async def test_facts_of_a_named_entity_come_with_citations(told: None, client: httpx.AsyncClient, scope: str) -> None:
    """The current fact is there, the superseded one is not, and its number stands for the message that says so."""
    found = await _recall(client, scope, "Where does Ines Duarte live now?")
    fact = next(item for item in found["items"] if item["kind"] == "fact")
    assert "Leipzig" in fact["text"]
    assert {why["path"] for why in fact["why"]} >= {"entity", "words"}
    citation = found["citations"][fact["citations"][0] - 1]
    assert citation["number"] == fact["citations"][0]
    assert (citation["kind"], citation["quote"]) == ("message", "I moved to Leipzig.")
    assert f"[{citation['number']}]" in found["context"]
    assert not [each for each in found["facts"] if each["object"]["name"] == "Braga"]
    assert [entity["name"] for entity in found["entities"]] == ["Ines Duarte"]


async def test_every_number_resolves(told: None, client: httpx.AsyncClient, scope: str) -> None:
    """The numbers in the context are those of the citations, and each citation's id can be read."""
    found = await _recall(client, scope, "Ines Duarte and the oven")
    routes = {"message": "/v1/messages/", "document": "/v1/documents/"}
    for citation in found["citations"]:
        answer = await client.get(routes[citation["kind"]] + citation["id"], params={"scope": scope})
        assert answer.status_code == 200
        assert f"[{citation['number']}]" in found["context"]
    assert "again (1)." in found["context"], "a bracketed number in a user's text must not look like a citation"


async def test_one_hop_further(told: None, client: httpx.AsyncClient, scope: str) -> None:
    """What is known of what a named entity is connected to."""
    found = await _recall(client, scope, "Tell me about Ines Duarte")
    hop = next(item for item in found["items"] if item["text"].startswith("Skagen Data located in Porto"))
    assert "hop" in {why["path"] for why in hop["why"]}


async def test_a_question_of_two_steps(world: World, client: httpx.AsyncClient, scope: str, things: Things) -> None:
    """The owner of what caused it is among the first, once, before who does not own it; nothing else of theirs."""
    person, org, _ = things
    amira, jonas, geocoder, outage = person("Amira Haddad"), person("Jonas"), org("geocoder"), org("bridge outage")
    world.tell(
        world.say(scope, 1)
        .message("b", "Wrench", "The bridge outage was caused by the geocoder.")
        .fact(outage, "caused_by", geocoder)
        .fact(outage, "noticed_by", jonas),
        world.say(scope, 2)
        .message("b", "Mara", "The geocoder is owned by Jonas.")
        .fact(geocoder, "owned_by", jonas)
        .fact(jonas, "owns", geocoder),
        world.say(scope, 3)
        .message("b", "Mara", "Amira Haddad does not have it any more.")
        .fact(amira, "owns", geocoder, negated=True),
        world.say(scope, 4).message("b", "Jonas", "No nuts for me.").fact(jonas, "allergic_to", "walnuts"),
    )
    found = await _recall(client, scope, "Who owns the service that caused the bridge outage?", limit=6)
    facts = [(fact["predicate"], fact["negated"]) for fact in found["facts"]]
    assert facts[:2] == [("caused_by", False), ("owned_by", False)]
    assert ("owns", False) not in facts
    assert "walnuts" not in found["context"]


async def test_the_same_text_is_served_once(world: World, client: httpx.AsyncClient, scope: str) -> None:
    """With the message that said it last."""
    prompt = "You are the oven assistant. Be brief."
    world.tell(*(world.say(scope, day).message(f"s{day}", "system", prompt) for day in range(1, 6)))
    found = await _recall(client, scope, "oven assistant")
    assert [(item["kind"], item["time"][:10]) for item in found["items"]] == [("message", "2026-03-05")]
    assert len(found["citations"]) == 1


async def test_a_passage_is_quoted_once(told: None, client: httpx.AsyncClient, scope: str) -> None:
    """Its line is the document's title and the passage."""
    found = await _recall(client, scope, "red button")
    passage = next(item for item in found["items"] if item["kind"] == "passage")
    assert passage["text"] == "Oven manual: Reset the oven by holding the red button."


async def test_meaning_finds_what_words_do_not(told: None, client: httpx.AsyncClient, scope: str) -> None:
    """A message about the thing without any of the prompt's words; documents are found by passage."""
    found = await _recall(client, scope, "kitchen appliance malfunction")
    assert "oven" in found["items"][0]["text"].lower()
    assert found["items"][0]["why"][0]["path"] == "meaning"
    kinds = {item["kind"] for item in found["items"]}
    assert {"message", "passage"} <= kinds


async def test_recalled_text_is_not_served_again(told: None, client: httpx.AsyncClient, scope: str) -> None:
    """Text that memory itself served is no source."""
    found = await _recall(client, scope, "oven works fine")
    assert "Recalled" not in found["context"]


async def test_superseded_facts_only_when_asked(told: None, client: httpx.AsyncClient, scope: str) -> None:
    """And then they say that they no longer hold."""
    found = await _recall(client, scope, "Has Ines Duarte ever lived in Braga?", include_superseded=True)
    old = next(item for item in found["items"] if item["kind"] == "fact" and "Braga" in item["text"])
    assert old["holds"] is False
    assert "no longer holds" in old["text"]


@pytest.mark.parametrize("budget", [16, 40, 100, 400])
async def test_the_budget_holds(told: None, client: httpx.AsyncClient, scope: str, budget: int) -> None:
    """The context never has more tokens than asked for."""
    found = await _recall(client, scope, "Ines Duarte, the oven, Skagen Data", budget=budget)
    assert found["tokens"] <= budget
    assert len(found["context"]) <= 4 * budget


async def test_nothing_known_is_an_empty_answer(world: World, client: httpx.AsyncClient, scope: str) -> None:
    """A scope without anything to say gives an empty context and no error."""
    world.tell(world.say(scope, 1).session("talk", title="empty"))
    found = await _recall(client, scope, "Who is Tom?")
    assert (found["context"], found["items"], found["citations"]) == ("", [], [])


async def test_same_position_same_answer(told: None, client: httpx.AsyncClient, scope: str) -> None:
    """Asked twice, the same."""
    first = await _recall(client, scope, "Ines Duarte and the oven")
    assert await _recall(client, scope, "Ines Duarte and the oven") == first


async def test_the_nearest_scope_wins(
    told: None, world: World, client: httpx.AsyncClient, scope: str, things: Things
) -> None:
    """A board with another value for the same slot is shown as differing, under its own scope."""
    person, _, place = things
    board = f"{scope}/board"
    ines = person("Ines Duarte")
    world.tell(world.say(board, 9).message("b", "Scout", "Ines lives in Faro.").fact(ines, "lives_in", place("Faro")))
    found = await _recall(client, [scope, board], "Where does Ines Duarte live?")
    own = next(fact for fact in found["facts"] if fact["object"]["name"] == "Leipzig")
    other = next(fact for fact in found["facts"] if fact["object"]["name"] == "Faro")
    assert (own["scope"], own["differs_from"]) == (scope, None)
    assert (other["scope"], other["differs_from"]) == (board, own["claim"])
    assert "another scope says otherwise" in found["context"]
    assert [position["scope"] for position in found["positions"]] == [scope, board]


@pytest.mark.parametrize(
    "prompt",
    [
        'AND OR NOT + - && || ! ( ) { } [ ] ^ " ~ * ? : \\ /',
        "stok:* OR text:[* TO *]",
        'oven") OR stok:(*',
        "oven~2 oven* /ov.n/ +oven -oven text:oven",
        "\\",
        '"',
        "🙂 ☃ 漢字 عربى",
        "a" * 8_000,
        "word " * 1_600,
        "\x00\x1b[31m",
        "' OR 1=1 //",
    ],
)
async def test_no_prompt_is_an_error(told: None, client: httpx.AsyncClient, scope: str, prompt: str) -> None:
    """Whatever a prompt holds, it is words and never syntax."""
    assert (await _recall(client, scope, prompt))["positions"]


async def test_a_large_scope_asks_the_index(
    told: None, client: httpx.AsyncClient, scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the limit the vector index answers, filtered by scope; below it each text is compared."""
    exact = await _recall(client, scope, "kitchen appliance malfunction")
    monkeypatch.setattr("memstream.query.vectors.EXACT_LIMIT", 1)
    found = await _recall(client, scope, "kitchen appliance malfunction")
    assert [item["id"] for item in found["items"]] == [item["id"] for item in exact["items"]]
