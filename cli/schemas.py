"""`memstream schemas list | export`: the contract, for people and for other languages."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.markup import escape

from memstream.cli.console import out, print_json, table_of
from memstream.schemas.errors import InvalidInput
from memstream.schemas.events import EVENT_TYPES
from memstream.schemas.export import ALL_TYPES, asyncapi, event_schema
from memstream.schemas.topics import TOPICS
from memstream.settings import load

app = typer.Typer(no_args_is_help=True, help="List the event types, export JSON Schemas and the AsyncAPI document.")

_INDENTED = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


@app.command("list")
def list_types(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """List the event types: in which topic each travels, how it is keyed, and what it says.

    Example: memstream schemas list --json
    """
    prefix = load().topic_prefix
    rows = [
        {
            "type": kind.name,
            "topic": kind.topic.named(prefix),
            "keyed_by": TOPICS[kind.topic].keyed_by,
            "says": (kind.data.__doc__ or "").strip().split("\n", maxsplit=1)[0],
        }
        for kind in EVENT_TYPES.values()
    ]
    if as_json:
        print_json(rows)
        return
    table = table_of("Type", "Topic", "Keyed by", "What it says")
    for row in rows:
        table.add_row(*map(escape, row.values()))
    out.print(table)


@app.command()
def export(
    folder: Annotated[Path, typer.Option("--out", help="The folder to write to.")] = Path("memstream-schemas"),
    as_json: Annotated[bool, typer.Option("--json", help="For programs: the files written.")] = False,
) -> None:
    """Write a JSON Schema for each version of an event type (envelope and data) and the AsyncAPI 3 document.

    Example: memstream schemas export --out build/schemas
    """
    settings = load()
    version = importlib.metadata.version("memstream")
    files = {f"{kind.name}.schema.json": event_schema(kind) for kind in ALL_TYPES}
    files["asyncapi.json"] = asyncapi(settings.topic_prefix, settings.partitions, version)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, document in files.items():
            (folder / name).write_bytes(orjson.dumps(document, option=_INDENTED))
    except OSError as error:
        raise InvalidInput(f"{folder} can't be written to: {error.strerror}") from error
    if as_json:
        print_json([str(folder / name) for name in files])
        return
    out.print(f"{len(files) - 1} JSON Schemas and asyncapi.json in {escape(str(folder))}", soft_wrap=True)
