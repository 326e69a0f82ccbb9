"""No route shows what is another scope's: it answers as for what does not exist. Bad requests are told in words."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from memstream.query.app import create_app
from memstream.query.cursors import Cursor, encode, question_of
from memstream.query.problems import MEDIA_TYPE
from memstream.schemas.ids import entity_id
from memstream.settings import Settings

World = Any
Things = Any

SECRET = "the vault code is 7411"


@pytest.fixture
async def two(world: World, scope: str, things: Things) -> tuple[str, str, dict[str, str]]:
    """A scope with a secret, and another whose name begins like its own; the ids of what the first holds."""
    person, org, _ = things
    mine, theirs = f"{scope}/a", f"{scope}/ab"
    tom = person("Tom Hale")
    secret = world.say(theirs, 1, event_id="secret").message("vault", "Tom Hale", SECRET).mentions(tom)
    secret.fact(tom, "works_at", org("Vaultco"))
    world.tell(
        secret,
        world.say(theirs, 2, event_id="more")
        .message("vault", "Tom Hale", "and the door is blue")
        .fact(tom, "knows", person("Ada")),
        world.say(mine, 1).message("own", "Ines", "nothing to see"),
    )
    ids = {
        "message": secret.key,
        "claim": secret.assertions[0].claim,
        "entity": entity_id(theirs, "Person", "Tom Hale"),
    }
    return mine, theirs, ids


async def test_ids_of_another_scope_do_not_exist(two: Any, client: httpx.AsyncClient) -> None:
    """By every route that takes an id, the answer is the one for an id that nobody has."""
    mine, _, ids = two
    asked = {
        "/v1/messages/{}": (ids["message"], "f" * 32),
        "/v1/documents/{}": (ids["message"], "f" * 32),
        "/v1/events/{}": ("secret", "nosuch"),
        "/v1/sessions/{}": ("vault", "nosuch"),
        "/v1/sessions/{}/messages": ("vault", "nosuch"),
        "/v1/entities/{}": (ids["entity"], "f" * 32),
        "/v1/entities/{}?": ("Tom Hale", "No Body"),
        "/v1/facts/{}/sources": (ids["claim"], "f" * 32),
        "/v1/facts/{}/history": (ids["claim"], "f" * 32),
        "/v1/traces/{}": ("vault", "nosuch"),
        "/v1/tool-calls/{}": (ids["message"], "f" * 32),
    }
    for path, (real, made_up) in asked.items():
        got = await client.get(path.format(real), params={"scope": mine})
        none = await client.get(path.format(made_up), params={"scope": mine})
        assert got.status_code == none.status_code == 404, path
        assert got.json()["detail"].replace(real, "X") == none.json()["detail"].replace(made_up, "X")
        assert "7411" not in got.text


async def test_filters_by_another_scopes_ids_find_nothing(two: Any, client: httpx.AsyncClient) -> None:
    """Listings filtered by another scope's names and ids are empty."""
    mine, _, ids = two
    for path, params in (
        ("/v1/facts", {"subject": ids["entity"]}),
        ("/v1/facts", {"subject": "Tom Hale", "known_at": "2026-03-30"}),
        ("/v1/facts", {"object": "Vaultco"}),
        ("/v1/preferences", {"holder": ids["entity"]}),
        ("/v1/entities", {"q": "Tom Hale"}),
        ("/v1/traces", {"session": "vault"}),
    ):
        answer = await client.get(path, params={"scope": mine, **params})
        assert answer.status_code == 200
        assert answer.json()["items"] == [], path


@pytest.mark.parametrize(
    "prompt", [SECRET, "Tom Hale", "vault*", "+stok:* text:vault", "* : *", "where does Tom Hale work"]
)
async def test_recall_never_leaves_its_scope(two: Any, client: httpx.AsyncClient, prompt: str) -> None:
    """Neither words, names nor meaning bring in what a neighbour with a similar name has."""
    mine, theirs, _ = two
    found = (await client.get("/v1/recall", params={"scope": mine, "prompt": prompt})).json()
    assert {item["scope"] for item in found["items"]} <= {mine}
    assert "7411" not in str(found).replace(prompt, "")
    assert "Vaultco" not in str(found)
    assert found["entities"] == []
    theirs_found = (await client.get("/v1/recall", params={"scope": theirs, "prompt": "vault code"})).json()
    assert "7411" in theirs_found["context"]


async def test_a_cursor_of_another_scope_is_refused(two: Any, client: httpx.AsyncClient) -> None:
    """A cursor belongs to its scope, path and filters."""
    mine, theirs, _ = two
    page = (await client.get("/v1/sessions/vault/messages", params={"scope": theirs, "limit": 1})).json()
    cursor = page["next_cursor"]
    assert cursor
    for path, params in (
        ("/v1/sessions/own/messages", {"scope": mine}),
        ("/v1/sessions/vault/messages", {"scope": mine}),
        ("/v1/sessions", {"scope": theirs}),
        ("/v1/sessions/vault/messages", {"scope": theirs, "include": "tool_calls"}),
    ):
        answer = await client.get(path, params={**params, "cursor": cursor})
        assert answer.status_code == 400
        assert "another question" in answer.json()["detail"]
    assert (
        await client.get("/v1/sessions/vault/messages", params={"scope": theirs, "cursor": cursor})
    ).status_code == 200


@pytest.mark.parametrize("cursor", ["", "x", "A" * 5000, "☃", "eyJ2IjoxfQ==", "%00", "../../etc"])
async def test_a_malformed_cursor_is_refused(two: Any, client: httpx.AsyncClient, cursor: str) -> None:
    """With 400 and what to do."""
    answer = await client.get("/v1/sessions", params={"scope": two[1], "cursor": cursor})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert "next_cursor" in answer.json()["detail"]


async def test_a_cursor_beyond_the_log_is_refused(two: Any, client: httpx.AsyncClient) -> None:
    """One that was made up for a position that is not sealed yet."""
    question = question_of("/v1/sessions", [("scope", two[1])])
    made_up = encode(Cursor(10**6, ("~", "")), question)
    answer = await client.get("/v1/sessions", params={"scope": two[1], "cursor": made_up})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("params", "status", "words"),
    [
        ({}, 422, "'scope' is missing"),
        ({"scope": ""}, 400, "empty"),
        ({"scope": "acme//x"}, 400, "segment 2"),
        ({"scope": "/acme"}, 400, "segment 1"),
        ({"scope": "acme/\u200bx"}, 400, "U+200B"),
        ({"scope": "acme/e\u0301"}, 400, "NFC"),
        ({"scope": "acme/../b"}, 400, ".."),
        ({"scope": "a" * 600}, 400, "600"),
        ({"scope": "no/such/scope"}, 404, "no/such/scope"),
        ({"scope": "tests/*"}, 404, "nothing was ever said"),
        ({"scope": "no/such/scope", "limit": 10**9}, 422, "less than or equal to 200"),
        ({"scope": "no/such/scope", "limit": "x"}, 422, "limit"),
        ({"scope": "no/such/scope", "limit": -1}, 422, "limit"),
        ({"scope": "no/such/scope", "as_of": 10**30}, 422, "as_of"),
        ({"scope": "no/such/scope", "scop": "x"}, 422, "unknown parameter 'scop'"),
    ],
)
async def test_bad_requests_are_told(
    client: httpx.AsyncClient, params: dict[str, Any], status: int, words: str
) -> None:
    """Each as problem+json that says what is wrong."""
    answer = await client.get("/v1/sessions", params=params)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == MEDIA_TYPE
    body = answer.json()
    assert words in body["detail"]
    assert body["status"] == status
    assert body["type"].startswith("urn:memstream:problem:")


async def test_look_alike_scopes_are_other_scopes(two: Any, client: httpx.AsyncClient) -> None:
    """A segment with a Cyrillic a, in upper case or with a space beside it is not the scope."""
    for other in (two[1][:-2] + "аb", two[1].upper(), two[1] + "/c", two[1].rpartition("/")[0], two[1] + "b"):
        answer = await client.get("/v1/sessions", params={"scope": other})
        assert answer.status_code == 404, other


async def test_two_scopes_where_one_is_read(two: Any, client: httpx.AsyncClient) -> None:
    """Giving `scope` twice does not quietly read the last one."""
    answer = await client.get("/v1/sessions", params={"scope": [two[0], two[1]]})
    assert answer.status_code == 400


async def test_unknown_routes_and_methods(client: httpx.AsyncClient) -> None:
    """Also told as problems."""
    assert (await client.get("/nope")).headers["content-type"] == MEDIA_TYPE
    answer = await client.post("/v1/sessions")
    assert (answer.status_code, answer.headers["content-type"]) == (405, MEDIA_TYPE)


async def test_neo4j_away_is_503(stack: Settings, embedder: Any, serving: Any) -> None:
    """Live without the database, not ready, and every read says when to come back; no traceback."""
    away = stack.model_copy(update={"neo4j_uri": "bolt://127.0.0.1:1"})
    async with serving(create_app(away, embedder)) as client:
        assert (await client.get("/live")).status_code == 200
        for path in ("/ready", "/v1/status", "/v1/sessions?scope=acme", "/v1/recall?scope=acme&prompt=x"):
            answer = await client.get(path)
            assert answer.status_code == 503
            assert answer.headers["retry-after"].isdigit()
            assert answer.headers["content-type"] == MEDIA_TYPE
            assert "Traceback" not in answer.text
