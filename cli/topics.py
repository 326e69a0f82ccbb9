"""`memstream topics create | list | check`: the topics of a lineage."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.markup import escape

from memstream.cli.console import out, print_json, table_of
from memstream.settings import load
from memstream.streams import topics_admin

app = typer.Typer(no_args_is_help=True, help="Make, list and check the topics.")

Json = Annotated[bool, typer.Option("--json", help="For programs.")]


@app.command()
def create() -> None:
    """Make the topics that are missing. Existing ones are checked and left as they are.

    Example: MEMSTREAM_PARTITIONS=24 memstream topics create
    """
    settings = load()
    made = asyncio.run(topics_admin.create_topics(settings))
    for name in made:
        out.print(f"made {escape(name)} with {settings.partitions} partitions")
    if not made:
        out.print(f"All topics of {escape(settings.topic_prefix)} are there.")


@app.command("list")
def list_topics(as_json: Json = False) -> None:
    """Show the topics, what keys them, and what differs from how they should be.

    Example: memstream topics list --json
    """
    states = asyncio.run(topics_admin.topic_states(load()))
    if as_json:
        print_json(states)
        return
    table = table_of("Topic", "Keyed by", "Partitions", "Copies", "Kept", "Differs")
    for state in states:
        differs = "; ".join(state.differs)
        cells = (state.name, state.keyed_by, str(state.partitions), str(state.replicas), _kept(state), differs)
        table.add_row(*map(escape, cells), style="red" if state.differs else "")
    out.print(table)


@app.command()
def check() -> None:
    """Fail where a topic is missing or is not as it should be: partition count, retention, limits.

    Example: memstream topics check && memstream worker --stage all
    """
    settings = load()
    asyncio.run(topics_admin.check_topics(settings))
    out.print(f"The topics of {escape(settings.topic_prefix)} are as they should be.")


def _kept(state: topics_admin.TopicState) -> str:
    if state.config.get("cleanup.policy") == "compact":
        return "the last of each key"
    milliseconds = int(state.config.get("retention.ms", "0"))
    if milliseconds < 0:
        return "for ever"
    return f"{milliseconds // 86_400_000} days" if milliseconds else ""
