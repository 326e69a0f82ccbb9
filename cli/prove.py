"""`memstream prove-erased`: search everything for what was erased."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape

from memstream.cli.console import err, out, print_json, table_of
from memstream.schemas.scope import parse_scope
from memstream.sealing import open_keys
from memstream.settings import Settings, load
from memstream.sinks.erase_status import progress, scopes_below
from memstream.sinks.proof import Finding, Needles, Searched, search_graph
from memstream.sinks.stores import Store, Stores
from memstream.streams.proof import Held, search_letters, search_payloads, search_topics

_SHOWN = 20


def prove(  # noqa: PLR0917 - options of a command
    scope: Annotated[str, typer.Option("--scope", "-s", help="The scope, such as acme/user-42.")],
    children: Annotated[bool, typer.Option(help="And the scopes below.")] = False,
    id_: Annotated[
        list[str] | None, typer.Option("--id", help="An id that must not be there: of a session, a person, an entity …")
    ] = None,
    containing: Annotated[list[str] | None, typer.Option(help="Words that must not be there, in any case.")] = None,
    topics: Annotated[bool, typer.Option("--topics/--no-topics", help="Also count what the topics hold.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Search every property, index, vector, payload, dead letter and topic of a scope for what was erased in it.

    Ends with exit code 1 where the graph, the offload store or the dead letters hold anything of it, or where an
    erasure is not done yet. What the topics hold is counted: a log keeps its records.

    Example: memstream prove-erased --scope acme/fleet-7 --id user-42 --containing "Ines Duarte"
    """
    settings = load()
    needles = Needles(tuple(id_ or ()), tuple(containing or ()))
    with Stores.connect(settings) as stores:
        store = stores.of(scope)
        scopes = _scopes(store, parse_scope(scope), children)
        with err.status("Searching …"):
            found, held = _search(settings, store, scopes, needles, topics=topics)
        for one in scopes:
            for work in progress(store.driver, store.database, one):
                if not work.done:
                    what = f"the erasure of {work.kind} {work.named}".strip()
                    found.findings.append(Finding("graph", what, f"has work left after {work.events} events"))
    if as_json:
        print_json(
            {
                "scopes": scopes,
                "looked_at": found.counts,
                "erased_events": len(found.erased),
                "found": [asdict(one) for one in found.findings],
                "topics": [asdict(one) for one in held],
            }
        )
    else:
        _show(scopes, found, held)
    if found.findings:
        raise typer.Exit(1)


def _scopes(store: Store, scope: str, children: bool) -> list[str]:
    return [scope, *(scopes_below(store.driver, store.database, scope) if children else ())]


def _search(
    settings: Settings, store: Store, scopes: list[str], needles: Needles, *, topics: bool
) -> tuple[Searched, list[Held]]:
    found = search_graph(store.driver, store.database, scopes, needles)
    keys = open_keys(settings)
    search_payloads(settings, scopes, needles, found, keys)

    async def beside() -> list[Held]:
        await search_letters(settings, scopes, needles, found, keys)
        return await search_topics(settings, scopes, needles, found.erased, keys) if topics else []

    return found, asyncio.run(beside())


def _show(scopes: list[str], found: Searched, held: list[Held]) -> None:
    looked = ", ".join(f"{count:,} {what}" for what, count in found.counts.items())
    where = f"{scopes[0]} and {len(scopes) - 1} scopes below" if len(scopes) > 1 else scopes[0]
    out.print(f"Looked at {looked} of {escape(where)}; {len(found.erased):,} events of it are erased.", soft_wrap=True)
    for one in found.findings[:_SHOWN]:
        out.print(f"[red]Found[/] in the {one.place}: {escape(one.what)}, {escape(one.holds)}", soft_wrap=True)
    if len(found.findings) > _SHOWN:
        out.print(f"… and {len(found.findings) - _SHOWN} more")
    if not found.findings:
        out.print("[bold]Nothing was found.[/]")
    if held:
        table = table_of(
            "Topic",
            "Records",
            "Of what is erased",
            "Unreadable",
            "First at",
            title="What the log still holds",
            title_justify="left",
        )
        for each in held:
            table.add_row(
                each.topic, f"{each.records:,}", f"{each.held:,}", f"{each.unreadable:,}", ", ".join(each.first)
            )
        out.print(table)
