"""What is erased is not read any more, from the moment the sink knows of it: the work behind it may go on."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sink_patches import Told, moment
from sink_world import World, world

from memstream.schemas.extraction import EntityType
from memstream.schemas.ids import entity_id, named_id
from memstream.schemas.patch import Label
from memstream.settings import Settings
from memstream.sinks import erase_steps
from memstream.sinks.migrations import migrate

PLACES = ("sessions", "entities", "facts", "preferences", "traces", "sessions/s/messages", "sessions/kept/messages")


@pytest.fixture
def graph(stack: Settings, scope: str) -> Iterator[World]:
    """A scope of this test alone, in the real graph."""
    with world(stack, scope) as made:
        migrate(made.store.driver, made.store.database)
        yield made


def said(graph: World) -> list[Told]:
    """A session to be forgotten, and another one that speaks of Ann too."""
    told = [graph.say(f"m{i}", i, session="s", subject="u") for i in range(1, 4)]
    told[0].message("secret one").mention("Ann").lives("Ann", "Secretville")
    told[1].message("secret two").mention("Ann").likes("Ann", "secret tea")
    call = named_id("call", graph.scope, "c")
    told[2].message("secret three").share(Label.TOOL_CALL, call, "called", {"call_id": "c", "tool": "secret tool"})
    trace = named_id("trace", graph.scope, "t")
    told[2].share(Label.TRACE, trace, "started", {"trace_id": "t", "session_id": "s", "task": "secret task"})
    kept = graph.say("k", 5, session="kept").message("Ann is in Oslo").mention("Ann").lives("Ann", "Oslo")
    return [*told, kept.share(Label.TOOL_CALL, call, "status", {"call_id": "c", "status": "success"})]


async def seen(client: httpx.AsyncClient, scope: str) -> str:
    """All that the service says of the scope, as text."""
    told = ""
    for place in PLACES:
        answer = await client.get(f"/v1/{place}", params={"scope": scope})
        assert answer.status_code in (200, 404), answer.text
        told += answer.text
    for prompt in ("Where does Ann live?", "secret tea", "Secretville"):
        answer = await client.get("/v1/recall", params={"scope": scope, "prompt": prompt})
        assert answer.status_code == 200, answer.text
        told += answer.text.replace(prompt, "")
    for call in ("c",):
        told += (await client.get(f"/v1/tool-calls/{call}", params={"scope": scope})).text
    known = {"scope": scope, "known_at": moment(100)}
    return told + (await client.get("/v1/facts", params=known)).text


@pytest.mark.parametrize("kind", ["session", "user", "message", "entity"])
async def test_reads_hide_at_once_what_is_erased_later(
    graph: World, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Between the erasure and its last step nothing of it is served, and what others said of the same still is."""
    named = {"session": ["s"], "user": ["u"], "message": ["m1", "m2", "m3"]}
    ids = named.get(kind, [entity_id(graph.scope, EntityType.LOCATION, "Secretville")])
    graph.apply(*said(graph))
    before = await seen(client, graph.scope)
    assert all(text in before for text in ("secret one", "Secretville", "secret tea", "secret task", "secret tool"))
    with monkeypatch.context() as patched:
        patched.setattr(erase_steps, "STEP", 0)  # all of the work is left for later
        assert graph.apply(graph.say("x", 9, session=None).erases(kind, *ids)).erasing
    while_it_works = await seen(client, graph.scope)
    hidden = "Secretville" if kind == "entity" else "ecret"
    assert hidden not in while_it_works
    assert "Ann is in Oslo" in while_it_works
    assert "Oslo" in (await client.get("/v1/facts", params={"scope": graph.scope})).text
    graph.erase_on()
    after = await seen(client, graph.scope)
    assert hidden not in after
    assert "Ann is in Oslo" in after
