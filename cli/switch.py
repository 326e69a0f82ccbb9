"""`memstream switch`: the query service reads another Neo4j, without a request that fails."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Annotated

import httpx
import typer
from rich.markup import escape

from memstream.cli.console import err, out
from memstream.cli.second import second
from memstream.query.switch import Choice, choice_file, read_choice, write_choice
from memstream.schemas.errors import InvalidInput, UsageError
from memstream.schemas.topics import Topic
from memstream.settings import Settings, load
from memstream.sinks import mark, wipe
from memstream.sinks.mark import Phase
from memstream.sinks.stores import Stores
from memstream.streams.replay.behind import records_behind

app = typer.Typer(add_completion=False)

_PATIENCE = 20.0
_LOOK_SECONDS = 0.2


class SwitchRefused(UsageError):
    """A graph that the service should not, or does not, go over to; the message says why."""


@app.command()
def switch(
    to: Annotated[str | None, typer.Option(help="The Neo4j to read from now on: bolt://… or a stack's folder.")] = None,
    back: Annotated[bool, typer.Option("--back", help="Read the Neo4j of the settings again.")] = False,
    behind: Annotated[int, typer.Option(min=0, help="How many patches it may be behind the log.")] = 1_000,
    force: Annotated[bool, typer.Option("--force", help="Also one that is behind or not whole.")] = False,
) -> None:
    """Let the running query service read another graph. Requests that are under way are answered by the one before.

    The choice is kept in the data directory of the service, for its restarts too. User and password of the other Neo4j
    are MEMSTREAM_TARGET_USER and MEMSTREAM_TARGET_PASSWORD, else the same as now.

    Example: memstream switch --to bolt://127.0.0.1:7688
    """
    if (to is None) == (not back):
        raise InvalidInput("Say where to: --to bolt://… or --back")
    settings = load()
    choice = None
    if to is not None:
        choice = _checked(settings, to, behind, force)
    before = read_choice(settings)
    write_choice(settings, choice)
    wanted = choice.uri if choice is not None else settings.neo4j_uri
    answer = _until_switched(settings, wanted)
    if answer.reads == wanted:
        out.print(f"The query service at {escape(settings.query_url)} reads {escape(wanted)} now.", soft_wrap=True)
        out.print("Back again: memstream switch --back" if choice is not None else "That is the Neo4j of the settings.")
    elif answer.reads is None:
        err.print(f"No query service answers at {escape(settings.query_url)}: {escape(answer.why)}", soft_wrap=True)
        out.print(f"One that starts on this data directory will read {escape(wanted)}.", soft_wrap=True)
    else:
        write_choice(settings, before)
        raise SwitchRefused(
            f"The query service at {settings.query_url} still reads {answer.reads}: {answer.why}. Does it run on this "
            f"data directory ({choice_file(settings)})?"
        )


def _checked(settings: Settings, to: str, behind: int, force: bool) -> Choice:
    """The choice, of a graph that is worth reading. Raises SwitchRefused."""
    try:
        settings, to = second(settings, to)
        target = settings.at(to)
    except ValueError as error:
        raise InvalidInput(f"--to: {error}") from error
    with Stores.connect(target) as stores:
        [store] = stores.all()
        found = mark.read(store.driver, store.database)
        topics = wipe.topics(store.driver, store.database)
        live = settings.topic(Topic.PATCHES)
        topic = live if live in topics else next(iter(topics), None)
        if topic is None:
            raise SwitchRefused(f"The graph at {to} is empty: rebuild it first (memstream replay --into {to})")
        applied = wipe.applied(store.driver, store.database, topic)
    if found is not None and found.phase is not Phase.DONE:
        raise SwitchRefused(f"The graph at {to} is being rebuilt ({found.told}): let that run to its end first")
    if not force:
        if found is not None and found.partial:
            raise SwitchRefused(
                f"The graph at {to} holds a part of the log ({found.told}): --force reads it all the same"
            )
        missing = asyncio.run(records_behind(settings, topic, applied))
        if missing > behind:
            raise SwitchRefused(
                f"The graph at {to} is {missing:,} patches behind {topic}: let a sink catch up first, or allow it "
                "(--behind, --force)"
            )
    return Choice.of(target).model_copy(update={"topic": topic})


@dataclass(frozen=True, slots=True)
class _Answer:
    """Which graph the service says that it reads (None: it does not answer), and why not another one."""

    reads: str | None
    why: str


def _until_switched(settings: Settings, wanted: str) -> _Answer:
    deadline = time.monotonic() + _PATIENCE
    with httpx.Client(base_url=settings.query_url, timeout=5.0) as client:
        answer = _ask(client)
        while answer.reads not in (wanted, None) and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
            answer = _ask(client)
    return answer


def _ask(client: httpx.Client) -> _Answer:
    try:
        told = client.get("/v1/status").raise_for_status().json()
    except httpx.HTTPError as error:
        return _Answer(None, str(error) or type(error).__name__)
    return _Answer(told["graph"], told["switch_refused"] or "it has not seen the choice")
