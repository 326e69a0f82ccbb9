"""`memstream review list | accept | reject`: pairs of entities that may be one, and what a person says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.markup import escape

from memstream.cli.console import err, out, print_json, table_of
from memstream.client import Publisher
from memstream.client.reader import Reader
from memstream.schemas.errors import InvalidInput
from memstream.schemas.ids import entity_id
from memstream.settings import load

app = typer.Typer(no_args_is_help=True, help="Look at entities that may be one; say whether they are.")

SOURCE = "memstream://cli/review"
_PAGE = 200

Json = dict[str, Any]
Scope = Annotated[str, typer.Option("--scope", "-s", help="The scope, such as acme/user-42.")]
Pair = Annotated[str, typer.Argument(help="The pair, as `list` shows it.")]
Reason = Annotated[str | None, typer.Option(help="Why, for those who ask later.")]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Wait = Annotated[float, typer.Option(min=0, help="Seconds to wait until the graph has it.")]


@app.command("list")
def list_pairs(
    scope: Scope,
    joined: Annotated[bool, typer.Option("--joined", help="Those that resolution has joined, instead.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most this many, the surest first.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show pairs of entities that may be one, the surest first, with the reasons.

    Example: memstream review list --scope acme/user-42
    """
    with Reader(scope) as reader:
        rows = _first(_pairs(reader, "accepted" if joined else "proposed"), limit)
    if as_json:
        print_json(rows)
        return
    if not rows:
        out.print("No pairs." if joined else "No pairs wait for review.")
        return
    table = table_of("Pair", "Score", "Type", "One", "Other", "Why", show_lines=True)
    for row in rows:
        kinds = sorted({row["a"]["type"], row["b"]["type"]})
        cells = (row["id"], f"{row['score']:.2f}", " ".join(kinds), _told(row["a"]), _told(row["b"]), row["reason"])
        table.add_row(*map(escape, cells))
    out.print(table)
    if not joined:
        out.print(f"One of them: memstream review accept PAIR --scope {escape(scope)}, or reject")


@app.command()
def accept(pair: Pair, scope: Scope, reason: Reason = None, wait: Wait = 0.0, as_json: AsJson = False) -> None:
    """Say that the two are one. It is an event like any other: it holds on replay, and can be taken back.

    Example: memstream review accept 3f1c0a9be2d4 --scope acme/user-42
    """
    _decide(pair, scope, reason, wait, as_json, same=True)


@app.command()
def reject(pair: Pair, scope: Scope, reason: Reason = None, wait: Wait = 0.0, as_json: AsJson = False) -> None:
    """Say that the two are not one, also of a pair that is joined: it does not come back.

    Example: memstream review reject 3f1c0a9be2d4 --scope acme/user-42 --reason "father and son"
    """
    _decide(pair, scope, reason, wait, as_json, same=False)


def _decide(pair: str, scope: str, reason: str | None, wait: float, as_json: bool, *, same: bool) -> None:
    with Reader(scope) as reader:
        found = _find(reader, pair, scope)
    a, b = (_named(scope, found[end]) for end in ("a", "b"))
    with Publisher(scope, settings=load(), source=SOURCE) as publisher:
        says = publisher.merged if same else publisher.unmerged
        receipt = says(a, b, reason=reason).result()
        if wait:
            publisher.wait_until_visible(receipt, timeout=wait)
    if as_json:
        print_json({"pair": pair, "same": same, "event": asdict(receipt)})
        return
    told = "are one" if same else "are two"
    out.print(f"Said that {escape(a[1])} and {escape(b[1])} {told}: event {escape(receipt.event_id)}.", soft_wrap=True)
    if not wait:
        err.print("It counts as soon as the sink has it; `memstream resolve` then goes by it.")


def _pairs(reader: Reader, status: str) -> Iterator[Json]:
    cursor = None
    while True:
        page = reader.get("/v1/same-as", status=status, limit=_PAGE, cursor=cursor)
        yield from page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return


def _find(reader: Reader, pair: str, scope: str) -> Json:
    for status in ("proposed", "accepted"):
        for row in _pairs(reader, status):
            if row["id"] == pair:
                return row
    raise InvalidInput(
        f"scope {scope!r} has no pair {pair} that waits or was joined by resolution: `memstream review list` shows "
        "which there are; of others say it by `merged` and `unmerged` events"
    )


def _named(scope: str, entity: Json) -> tuple[str, str]:
    """The entity by its type and by a name that leads to it."""
    names = (entity["name"], entity["norm"])
    name = next((one for one in names if entity_id(scope, entity["type"], one) == entity["id"]), None)
    if name is None:
        raise InvalidInput(f"no name leads to entity {entity['id']} ({entity['name']!r}): say it by a merged event")
    return entity["type"], name


def _told(entity: Json) -> str:
    also = ", ".join(entity["aliases"])
    parts = (entity["name"], f"also {also}" if also else "", entity["description"] or "")
    return "\n".join(part for part in parts if part)


def _first(rows: Iterator[Json], limit: int) -> list[Json]:
    return [row for _, row in zip(range(limit), rows, strict=False)]
