"""What the demo prints, from answers of the query service that are written here."""

from __future__ import annotations

from typing import Any, cast

import pytest

from memstream.cli import demo_show
from memstream.cli.demo import _rates
from memstream.cli.demo_story import Contents, Told, story
from memstream.client.reader import AsyncReader
from memstream.client.receipt import Receipt
from memstream.deploy.story import SCOPES
from memstream.schemas.errors import QueryError
from memstream.streams.dead_letters import read_letter


def fact(value: str, since: str, until: str | None = None, *, holds: bool = True) -> dict[str, Any]:
    """A fact as the service gives it."""
    return {
        "claim": value,
        "object": None,
        "value": value,
        "text": value,
        "negated": False,
        "valid_from": since,
        "valid_to": until,
        "holds": holds,
        "said_first": since,
    }


class WrittenAnswers:
    """Answers as a service would that knows one deadline, which moved once."""

    async def recall(self, _: str, scope: list[str], **__: Any) -> dict[str, Any]:
        """One line with one citation, in brackets that a console must not take for markup."""
        cited = {
            "number": 1,
            "time": "2026-10-13T12:33:00Z",
            "speaker": "mara",
            "quote": "due on [red]30 October",
            "event_id": "story-0263",
            "id": "x",
        }
        return {"context": f"What is known of {scope[0]}: [1]", "citations": [cited]}

    async def facts(self, _: str, *, predicate: str, **asked: Any) -> dict[str, Any]:
        """The deadline then or now; of all else nothing is known."""
        if predicate != "has_deadline":
            raise QueryError("no such entity", 404)
        old = fact("2026-10-16", "2026-09-21T08:04:00Z", "2026-10-13T12:33:00Z", holds=False)
        new = fact("2026-10-30", "2026-10-13T12:33:00Z")
        if "known_at" in asked:
            return {"items": [old]}
        return {"items": [new, old] if asked.get("include_superseded") else [new]}

    async def sources(self, *_: str) -> dict[str, Any]:
        """Mara said it."""
        return {"sources": [{"speaker": "mara", "kind": "message", "time": "2026-10-13T12:33:00Z"}]}


@pytest.fixture
def show() -> demo_show.Show:
    """The demo's pages over the written answers."""
    return demo_show.Show(cast(AsyncReader, WrittenAnswers()), "elsewhere")


async def test_recall_shows_numbers_and_their_events(show: demo_show.Show, capsys: pytest.CaptureFixture[str]) -> None:
    """The context as it is, and under it what each number cites; square brackets stay."""
    await show.recalled()
    printed = capsys.readouterr().out
    assert "What is known of elsewhere/boards/dispatch: [1]" in printed
    assert "story-0263" in printed
    assert "[red]30 October" in printed


async def test_history_is_in_order_of_time(show: demo_show.Show, capsys: pytest.CaptureFixture[str]) -> None:
    """The old value first and superseded, then the one that holds; what is not known shows no row."""
    await show.corrected()
    _, _, printed = capsys.readouterr().out.partition("\n")[2].partition("\n")
    assert printed.index("2026-10-16") < printed.index("superseded") < printed.index("holds")
    assert "Where does Mara live" not in printed


async def test_belief_stands_beside_knowledge(show: demo_show.Show, capsys: pytest.CaptureFixture[str]) -> None:
    """What was believed then and what is known now, in one line; nothing is said to be nothing."""
    await show.believed()
    lines = capsys.readouterr().out.splitlines()
    deadline = next(line for line in lines if "routing migration due" in line)
    assert deadline.index("2026-10-16") < deadline.index("2026-10-30")
    assert next(line for line in lines if "bridge outage" in line).rstrip().endswith("nothing")


def test_dead_letters_show_reason_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    """The reason's code and words, and where the record lies."""
    headers = [("dl_reason", b"bad_scope"), ("dl_message", b"is empty"), ("dl_topic", b"conversation")]
    demo_show.dead_letters([read_letter(headers, b"{}")])
    printed = capsys.readouterr().out
    assert all(text in printed for text in ("bad_scope", "is empty", "conversation, partition 0, offset 0"))


def test_rates_tell_a_first_run_from_a_second() -> None:
    """A first run has a rate to the graph; a second says whether the graph has changed."""
    receipt = Receipt("story-0001", "agent/quill", "demo/x", "memory.conversation", 0, 0)
    told = Told([receipt] * 458, [receipt] * 2, 0.5)
    graph, other = Contents(2_500, 6_000, "3f5a9c01d2"), Contents(2_501, 6_000, "77e0b1c2d3")
    first = dict(_rates(told, 4.58, None, graph))
    assert first["published and acked"] == "460 events in 0.5 s, 920 a second"
    assert first["published until visible"] == "458 in 4.6 s, 100 a second"
    assert first["the graph"] == "2,500 nodes, 6,000 relationships, digest 3f5a9c01"
    assert "nothing has changed" in dict(_rates(told, 1.0, graph, graph))["published again"]
    assert "before: 2,500 nodes" in dict(_rates(told, 1.0, graph, other))["published again"]


def test_another_root_moves_every_scope() -> None:
    """Under another root nothing stays in the demo's own scopes, and the invalid lines stay invalid."""
    lines = story("elsewhere")
    scopes = {line.event.scope for line in lines if line.event is not None}
    assert scopes == {scope.replace("demo/", "elsewhere/", 1) for scope in SCOPES}
    assert [line.raw.count(b'"elsewhere/') for line in lines if line.event is None] == [1, 1]
