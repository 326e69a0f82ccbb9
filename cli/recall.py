"""`memstream recall`: what memory has for a prompt, with its sources."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from memstream.cli.console import err, out, print_json
from memstream.client.reader import Reader

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command("recall")
def recall(
    prompt: Annotated[str, typer.Argument(help="What to ask, in words.")],
    scope: Annotated[list[str], typer.Option("--scope", "-s", help="The scope, the nearest first. Repeat for boards.")],
    budget: Annotated[int, typer.Option(help="Tokens of context at most.")] = 1500,
    superseded: Annotated[bool, typer.Option("--include-superseded", help="Also what no longer holds.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The whole answer as JSON.")] = False,
) -> None:
    """Ask the memory, and get a block of text whose numbered citations are listed below it.

    Example: memstream recall "Who leads the launch?" --scope acme/user-42
    """
    with Reader() as reader:
        found = reader.recall(prompt, scope, budget=budget, include_superseded=superseded)
    if as_json:
        print_json(found)
    elif not found["context"]:
        err.print(f"Nothing is known of this in {escape(', '.join(scope))}.")
    else:
        _show(found)


def _show(found: dict[str, Any]) -> None:
    out.print(escape(found["context"]), soft_wrap=True)
    out.print("\n[bold]Sources[/]")
    for each in found["citations"]:
        told = [each["kind"].replace("_", " "), each["time"][:16].replace("T", " ") if each["time"] else None]
        told += [each["speaker"], f"session {each['session_id']}" if each["session_id"] else None]
        head = escape(f"[{each['number']}] {', '.join(part for part in told if part)}")
        out.print(f"{head} [dim]{escape(each['id'])}[/]\n    {escape(each['quote'])}", soft_wrap=True)
    for note in found["notes"]:
        err.print(f"[yellow]Note:[/] {escape(note)}")
