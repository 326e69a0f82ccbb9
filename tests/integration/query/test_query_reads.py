"""Events, sessions, transcripts, traces and boards, over the service."""

from __future__ import annotations

from typing import Any

import httpx

from memstream.query.app import create_app
from memstream.schemas.ids import named_id
from memstream.schemas.patch import Edge, Label
from memstream.settings import Settings

World = Any


async def _get(client: httpx.AsyncClient, path: str, **params: Any) -> Any:
    answer = await client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _call(say: Any, call_id: str, status: str, **more: Any) -> Any:
    node = named_id("call", say.scope, call_id)
    called = {
        "call_id": call_id,
        "tool": "search",
        "arguments": '{"q":"x"}',
        "time": say.time,
        "order": say.order,
        **more,
    }
    say.share(Label.TOOL_CALL, node, "called", called, first=True)
    rank = "0" if status == "pending" else "1"
    return say.share(
        Label.TOOL_CALL, node, "status", {"status": status, "call_id": call_id}, key=f"{rank}\x1f{say.order}"
    )


async def test_an_event_is_visible_once_sealed(world: World, client: httpx.AsyncClient, scope: str) -> None:
    """Before the seal an event is known and not visible; afterwards it is; another id is not found."""
    world.tell(world.say(scope, 1, event_id="one").message("talk", "Tom", "first"))
    world.tell(world.say(scope, 2, event_id="two").message("talk", "Tom", "second"), seal=False)
    assert (await _get(client, "/v1/events/one", scope=scope, source="tests"))["visible"] is True
    assert (await _get(client, "/v1/events/two", scope=scope))["visible"] is False
    assert len((await _get(client, "/v1/sessions/talk/messages", scope=scope))["items"]) == 1
    world.seal()
    assert (await _get(client, "/v1/events/two", scope=scope))["visible"] is True
    assert len((await _get(client, "/v1/sessions/talk/messages", scope=scope))["items"]) == 2
    assert (await client.get("/v1/events/three", params={"scope": scope})).status_code == 404


async def test_a_transcript_is_in_order_and_pages(world: World, client: httpx.AsyncClient, scope: str) -> None:
    """Messages and tool calls come in the order they were said, whatever order they arrived in."""
    second = world.say(scope, 1, 11).message("talk/1", "Bot", "found it", role="assistant")
    first = world.say(scope, 1, 9).message("talk/1", "Tom", "search x")
    called = _call(world.say(scope, 1, 10), "c1", "success", session_id="talk/1")
    world.tell(second, called, first)
    page = await _get(client, "/v1/sessions/talk%2F1/messages", scope=scope)
    assert [item["text"] for item in page["items"]] == ["search x", "found it"]
    found, cursor = [], None
    for _ in range(3):
        more: dict[str, str] = {"cursor": cursor} if cursor else {}
        page = await _get(client, "/v1/sessions/talk%2F1/messages", scope=scope, include="tool_calls", limit=1, **more)
        found += [(item["kind"], item.get("text") or item.get("arguments")) for item in page["items"]]
        cursor = page["next_cursor"]
    assert found == [("message", "search x"), ("tool_call", {"q": "x"}), ("message", "found it")]
    assert cursor is None


async def test_a_listing_is_of_one_position(world: World, client: httpx.AsyncClient, scope: str) -> None:
    """What arrives between two pages is not in the second; it is in a new listing."""
    world.tell(*(world.say(scope, day).message("talk", "Tom", f"day {day}") for day in (1, 2, 3)))
    page = await _get(client, "/v1/sessions/talk/messages", scope=scope, limit=2)
    world.tell(world.say(scope, 4).message("talk", "Tom", "day 4"))
    rest = await _get(client, "/v1/sessions/talk/messages", scope=scope, limit=2, cursor=page["next_cursor"])
    assert [item["text"] for item in rest["items"]] == ["day 3"]
    assert rest["position"] == page["position"]
    assert len((await _get(client, "/v1/sessions/talk/messages", scope=scope))["items"]) == 4


async def test_sessions_are_listed_newest_first(world: World, client: httpx.AsyncClient, scope: str) -> None:
    """With title and metadata as values; a single one by its id."""
    world.tell(
        world.say(scope, 1).message("old", "Tom", "hi"),
        world.say(scope, 3).session("new", title="Launch", metadata='{"room": 4}'),
        world.say(scope, 2).message("new", "Tom", "earlier than its start"),
    )
    page = await _get(client, "/v1/sessions", scope=scope)
    assert [item["session_id"] for item in page["items"]] == ["new", "old"]
    assert page["items"][0]["metadata"] == {"room": 4}
    assert page["items"][0]["first_time"].startswith("2026-03-02")
    one = await _get(client, "/v1/sessions/new", scope=scope)
    assert one["session"]["title"] == "Launch"
    first = await _get(client, "/v1/sessions", scope=scope, limit=1)
    rest = await _get(client, "/v1/sessions", scope=scope, limit=1, cursor=first["next_cursor"])
    assert [item["session_id"] for item in first["items"] + rest["items"]] == ["new", "old"]
    assert rest["next_cursor"] is None


async def test_a_shared_node_is_read_as_of_the_position(world: World, client: httpx.AsyncClient, scope: str) -> None:
    """A tool call that was done later is still pending to a read as of before; late says do not show early."""
    world.tell(_call(world.say(scope, 1, 9), "c1", "pending", session_id="talk"))
    before = await _get(client, "/v1/tool-calls/c1", scope=scope)
    world.tell(_call(world.say(scope, 1, 10), "c1", "error", session_id="talk"), seal=False)
    assert (await _get(client, "/v1/tool-calls/c1", scope=scope))["tool_call"]["status"] == "pending"
    world.seal()
    assert (await _get(client, "/v1/tool-calls/c1", scope=scope))["tool_call"]["status"] == "error"
    again = await _get(client, "/v1/tool-calls/c1", scope=scope, as_of=before["position"]["offset"])
    assert again == before


async def test_a_trace_has_steps_and_calls_in_order(world: World, client: httpx.AsyncClient, scope: str) -> None:
    """Steps by their order, each with its calls and their status; calls without a step beside them."""
    trace, steps = named_id("trace", scope, "run-1"), [named_id("step", scope, f"run-1\x1fs{n}") for n in (1, 2)]
    says = [world.say(scope, 1, 8).share(Label.TRACE, trace, "started", {"trace_id": "run-1", "task": "find x"})]
    says[0].nodes[0].props["session_id"] = "talk"
    for number, hour in ((2, 11), (1, 9)):
        say = world.say(scope, 1, hour)
        said = {
            "step_id": f"s{number}",
            "trace_id": "run-1",
            "thought": f"t{number}",
            "order": say.order,
            "time": say.time,
        }
        say.share(Label.STEP, steps[number - 1], "said", said)
        says.append(say.edge(Edge.HAS_STEP, Label.TRACE, trace, Label.STEP, steps[number - 1]))
    call = _call(world.say(scope, 1, 10), "c1", "timeout", trace_id="run-1", step_id="s1")
    says.append(call.edge(Edge.HAS_TOOL_CALL, Label.STEP, steps[0], Label.TOOL_CALL, named_id("call", scope, "c1")))
    loose = _call(world.say(scope, 1, 12), "c2", "success", trace_id="run-1")
    says.append(loose.edge(Edge.HAS_TOOL_CALL, Label.TRACE, trace, Label.TOOL_CALL, named_id("call", scope, "c2")))
    world.tell(*says)
    found = await _get(client, "/v1/traces/run-1", scope=scope)
    assert [(step["step_id"], [c["status"] for c in step["tool_calls"]]) for step in found["steps"]] == [
        ("s1", ["timeout"]),
        ("s2", []),
    ]
    assert [c["call_id"] for c in found["tool_calls"]] == ["c2"]
    assert found["trace"]["task"] == "find x"
    for more in ({}, {"session": "talk"}):
        assert [t["trace_id"] for t in (await _get(client, "/v1/traces", scope=scope, **more))["items"]] == ["run-1"]


async def test_a_board_shows_what_was_posted(world: World, client: httpx.AsyncClient, scope: str) -> None:
    """The newest first, with who claimed it."""
    node = named_id("item", scope, "q1")
    posted = world.say(scope, 1)
    posted.share(
        Label.BOARD_ITEM,
        node,
        "posted",
        {"item_id": "q1", "kind": "question", "text": "Who has the key?", "time": posted.time},
    )
    claimed = world.say(scope, 2).share(
        Label.BOARD_ITEM, node, "claim", {"item_id": "q1", "claim": "claimed", "holder": "scout"}
    )
    world.tell(posted, claimed)
    page = await _get(client, "/v1/board-items", scope=scope)
    assert [(item["item_id"], item["text"], item["holder"]) for item in page["items"]] == [
        ("q1", "Who has the key?", "scout")
    ]


async def test_status_tells_how_far_the_graph_is(
    *, world: World, stack: Settings, embedder: Any, prefix: str, scope: str, serving: Any
) -> None:
    """Per partition the applied and the sealed offset, and that the service is ready."""
    world.tell(world.say(scope, 1).message("talk", "Tom", "hi"))
    async with serving(create_app(stack.model_copy(update={"topic_prefix": prefix}), embedder)) as client:
        found = await _get(client, "/v1/status")
        assert found["partitions"] == [{"partition": 0, "applied": 0, "sealed": 0}]
        assert (await _get(client, "/ready"))["status"] == "ready"
        assert 'route="/v1/status",status="200"' in (await client.get("/metrics")).text
