"""The reading commands: facts, sources, entity, sessions, transcript, traces. Tables for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from memstream.cli.console import err, out, print_json
from memstream.client.reader import Reader

ScopeOption = Annotated[str, typer.Option("--scope", "-s", help="The scope, such as acme/user-42.")]
JsonOption = Annotated[bool, typer.Option("--json", help="The service's answer as JSON.")]
LimitOption = Annotated[int, typer.Option(min=1, max=200, help="Items at most.")]
CursorOption = Annotated[str | None, typer.Option(help="`next_cursor` of the page before.")]

Json = dict[str, Any]


def facts(
    *,
    scope: ScopeOption,
    subject: Annotated[str | None, typer.Option(help="Only of this subject: a name or an id.")] = None,
    predicate: Annotated[str | None, typer.Option(help="Only of this relation, such as lives_in.")] = None,
    object_: Annotated[
        str | None, typer.Option("--object", help="Only with this object: a name, an id or a value.")
    ] = None,
    valid_at: Annotated[str | None, typer.Option(help="What held then in the world: a date or a time.")] = None,
    known_at: Annotated[str | None, typer.Option(help="What memory believed then: a date or a time.")] = None,
    superseded: Annotated[bool, typer.Option("--include-superseded", help="Also what no longer holds.")] = False,
    limit: LimitOption = 50,
    cursor: CursorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show facts: what holds now, held then, or was believed then.

    Example: memstream facts --scope acme/user-42 --subject "Ines Duarte" --known-at 2026-02-01
    """
    with Reader(scope) as reader:
        found = reader.facts(
            subject=subject,
            predicate=predicate,
            object=object_,
            valid_at=valid_at,
            known_at=known_at,
            include_superseded=superseded or None,
            limit=limit,
            cursor=cursor,
        )
    _page(found, as_json, ("fact", "from", "until", "holds", "confidence", "sources", "claim"), _fact_cells)


def sources(
    claim: Annotated[str, typer.Argument(help="The claim of a fact or a preference.")],
    scope: ScopeOption,
    as_json: JsonOption = False,
) -> None:
    """Show where a claim comes from.

    Example: memstream sources 5b6f0d2a9c1e4f7788aa00bb11cc22dd --scope acme/user-42
    """
    with Reader(scope) as reader:
        found = reader.sources(claim)
    if not as_json:
        out.print(f"[bold]{escape(found['text'])}[/]")
    _page(
        {**found, "items": found["sources"]} if not as_json else found,
        as_json,
        ("kind", "time", "speaker", "quote", "id"),
        _source_cells,
    )


def entity(
    name: Annotated[str, typer.Argument(help="The name, in any spelling that means it.")],
    scope: ScopeOption,
    as_json: JsonOption = False,
) -> None:
    """Show what is known of a name: its types, its other names, and the facts about it.

    Example: memstream entity "Ines Duarte" --scope acme/user-42
    """
    with Reader(scope) as reader:
        found = reader.entity(name)
    if as_json:
        print_json(found)
        return
    for each in found["entities"]:
        same = ", ".join(other["name"] for other in each["same_as"])
        also = ", ".join(each["aliases"])
        out.print(f"[bold]{escape(each['name'])}[/] ({each['type']}), in {each['mentions']} sources", soft_wrap=True)
        for label, text in (("", each["description"]), ("also called ", also), ("the same as ", same)):
            if text:
                out.print(f"  {label}{escape(text)}", soft_wrap=True)
    _page(
        {"items": found["facts"]},
        False,
        ("fact", "from", "until", "holds", "confidence", "sources", "claim"),
        _fact_cells,
    )


def sessions(
    scope: ScopeOption, limit: LimitOption = 50, cursor: CursorOption = None, as_json: JsonOption = False
) -> None:
    """Show the sessions of a scope, the newest first.

    Example: memstream sessions --scope acme/user-42
    """
    with Reader(scope) as reader:
        found = reader.sessions(limit=limit, cursor=cursor)
    _page(found, as_json, ("session", "first", "ended", "title"), _session_cells)


def transcript(
    *,
    session_id: Annotated[str, typer.Argument(help="The session's id.")],
    scope: ScopeOption,
    calls: Annotated[bool, typer.Option("--tool-calls", help="Tool calls too, each at its place.")] = False,
    limit: LimitOption = 200,
    cursor: CursorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was said in a session, in order.

    Example: memstream transcript standup-12 --scope acme/user-42 --tool-calls
    """
    with Reader(scope) as reader:
        found = reader.transcript(session_id, include="tool_calls" if calls else None, limit=limit, cursor=cursor)
    if as_json:
        print_json(found)
        return
    for item in found["items"]:
        out.print(_entry(item), soft_wrap=True)
    _more(found)


def traces(
    *,
    scope: ScopeOption,
    trace_id: Annotated[str | None, typer.Argument(help="One trace, with its steps and tool calls.")] = None,
    session: Annotated[str | None, typer.Option(help="Only the traces of this session.")] = None,
    limit: LimitOption = 50,
    cursor: CursorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what agents did: their traces, or one trace with its steps.

    Example: memstream traces run-31 --scope acme/fleet-7
    """
    with Reader(scope) as reader:
        if trace_id is None:
            found = reader.traces(session=session, limit=limit, cursor=cursor)
        else:
            found = reader.trace(trace_id)
    if trace_id is None or as_json:
        _page(found, as_json, ("trace", "task", "started", "outcome", "success"), _trace_cells)
        return
    out.print(f"[bold]{escape(found['trace']['task'] or trace_id)}[/] {escape(found['trace']['outcome'] or '')}")
    for step in found["steps"]:
        told = " · ".join(step[name] for name in ("thought", "action", "observation") if step[name])
        out.print(f"  {_time(step['time'])} {escape(told)}", soft_wrap=True)
        for call in step["tool_calls"]:
            out.print("    " + _entry(call), soft_wrap=True)
    for call in found["tool_calls"]:
        out.print("  " + _entry(call), soft_wrap=True)


def _page(found: Json, as_json: bool, columns: Sequence[str], cells: Any) -> None:
    if as_json:
        print_json(found)
        return
    if not found["items"]:
        err.print("Nothing found.")
        return
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for item in found["items"]:
        table.add_row(*(escape(str(cell)) if cell is not None else "" for cell in cells(item)))
    out.print(table)
    _more(found)


def _more(found: Json) -> None:
    if found.get("next_cursor"):
        err.print(f"There is more: --cursor {found['next_cursor']}", soft_wrap=True)


def _fact_cells(fact: Json) -> list[Any]:
    holds = "yes" if fact["holds"] else "no longer"
    start = fact["valid_from"] if fact["start_known"] else None
    sure = f"{fact['confidence']:.2f}"
    return [fact["text"], _day(start), _day(fact["valid_to"]), holds, sure, fact["support"], fact["claim"]]


def _source_cells(source: Json) -> list[Any]:
    return [source["kind"], _time(source["time"]), source["speaker"], source["quote"], source["id"]]


def _session_cells(session: Json) -> list[Any]:
    return [session["session_id"], _time(session["first_time"]), _time(session["ended_at"]), session["title"]]


def _trace_cells(trace: Json) -> list[Any]:
    success = {True: "yes", False: "no", None: ""}[trace["success"]]
    return [trace["trace_id"], trace["task"], _time(trace["started_at"]), trace["outcome"], success]


def _entry(item: Json) -> str:
    if item["kind"] == "tool_call":
        told = item["error"] or item["result"]
        line = f"{item['tool']} {item['arguments'] or ''} → {item['status']}: {str(told)[:300] if told else ''}"
        return f"[dim]{_time(item['time'])}[/] [cyan]{escape(line)}[/]"
    speaker = item["speaker"] or item["name"] or item["role"]
    return f"[dim]{_time(item['time'])}[/] [bold]{escape(speaker)}[/]: {escape(item['text'])}"


def _time(time: str | None) -> str:
    return (time or "")[:16].replace("T", " ")


def _day(time: str | None) -> str:
    return (time or "")[:10]
