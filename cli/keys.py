"""`memstream keys list | make | destroy`: the keys that seal the log. None of them ever shows a secret of a file."""

from __future__ import annotations

import base64
import secrets
from typing import Annotated

import typer
from rich.markup import escape

from memstream.cli.console import err, out, print_json, table_of
from memstream.schemas.errors import InvalidInput
from memstream.schemas.scope import parse_scope
from memstream.sealing import KeyRow, KeyStore, open_keys
from memstream.sealing.keys import ID_BYTES, SECRET_BYTES
from memstream.settings import load

app = typer.Typer(no_args_is_help=True, help="Look at the keys that seal the log; destroy them.")

NOBODYS = ""  # the scope of what tells none
Json = Annotated[bool, typer.Option("--json", help="For programs.")]
Children = Annotated[bool, typer.Option(help="In the scopes below, too.")]


@app.command("list")
def list_keys(
    scope: Annotated[str | None, typer.Option("--scope", "-s", help="Only those of this scope.")] = None,
    children: Children = False,
    as_json: Json = False,
) -> None:
    """Show whose keys there are, and which are destroyed.

    Example: memstream keys list --scope acme/fleet-7 --children
    """
    rows = _store().rows(parse_scope(scope) if scope is not None else None, below=children)
    if as_json:
        print_json(rows)
        return
    if not rows:
        out.print("No keys.")
        return
    table = table_of("Scope", "Subject", "Generation", "Key", "Made", "Destroyed")
    for one in rows:
        cells = (one.scope, one.subject or "(the scope)", str(one.generation), one.id, one.made[:19])
        table.add_row(*map(escape, cells), (one.destroyed or "")[:19], style="dim" if one.destroyed else "")
    out.print(table)


@app.command()
def make(
    scope: Annotated[str, typer.Option("--scope", "-s", help="The scope of the key.")],
    subject: Annotated[str, typer.Option(help="The person that it is of; else it is the scope's own.")] = "",
    generation: Annotated[int, typer.Option(min=1, help="One more than that of the key before it.")] = 1,
) -> None:
    """Print a new entry for MEMSTREAM_KEYS_JSON, its secret included. A file makes its keys by itself.

    Example: memstream keys make --scope acme/fleet-7 --subject user-42
    """
    made = {
        "id": secrets.token_hex(ID_BYTES),
        "scope": parse_scope(scope),
        "subject": subject,
        "generation": generation,
        "key": base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode(),
    }
    print_json(made)


@app.command()
def destroy(  # noqa: PLR0917 - options of a command
    scope: Annotated[str | None, typer.Option("--scope", "-s", help="The scope of the keys.")] = None,
    subject: Annotated[str | None, typer.Option(help="The person that they are of.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="All keys of the scope.")] = False,
    nobodys: Annotated[bool, typer.Option(help="The key of dead letters that tell no scope.")] = False,
    children: Children = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Destroy keys for good: what they seal in the log can't be read by anybody any more. The graph keeps what it has.

    `memstream erase` does both. This is for what an erasure could not finish, and for keys of what is erased already.

    Example: memstream keys destroy --scope acme/fleet-7 --subject user-42 --yes
    """
    if nobodys != (scope is None) or (scope is not None and (subject is None) != all_):
        raise InvalidInput("say whose: --scope with --subject, or with --all for the whole of it; or --nobodys alone")
    store, name = _store(), parse_scope(scope) if scope is not None else NOBODYS
    doomed = [row for row in store.rows(name, below=children) if _is_of(row, subject) and row.destroyed is None]
    if doomed and not yes:
        err.print(f"{len(doomed)} keys, and with them all that they seal in the log. This can't be undone.")
        typer.confirm("Destroy them?", abort=True, err=True)
    destroyed = store.destroy(name, subject, below=children)
    if as_json:
        print_json({"destroyed": destroyed.ids})
    else:
        out.print(f"Destroyed {len(destroyed.ids)} keys.")


def _is_of(row: KeyRow, subject: str | None) -> bool:
    return subject is None or row.subject == subject


def _store() -> KeyStore:
    store = open_keys(load())
    if store is None:
        raise InvalidInput("MEMSTREAM_KEYS is not set: nothing is sealed (docs/erasure.md)")
    return store
