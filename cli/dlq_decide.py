"""`memstream dlq retry | drop`: an event goes back through the front door once, or its letter is put away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Annotated

import typer
from rich.markup import escape

from memstream.cli.console import err, out, print_json, read_bytes
from memstream.cli.dlq_options import Reason, Scope, Since, Until, name_of, wanted_of
from memstream.cli.editor import edited
from memstream.schemas.errors import InvalidInput, TopicMismatch
from memstream.sealing import open_keys
from memstream.settings import Settings, load
from memstream.streams.dead_letters import Decision, Mark
from memstream.streams.letter_book import Filed, Wanted, read_letters
from memstream.streams.letter_desk import Decided, Desk, Outcome
from memstream.streams.letter_return import as_document, corrected, opened, untouched
from memstream.streams.outlet import Message

_BATCH = 50
_SHOWN = 20

Letters = Annotated[list[str] | None, typer.Argument(help="As `list` shows them, such as 3:17.", show_default=False)]
Note = Annotated[str, typer.Option("--note", help="Why, for whoever looks with `list --all --json`.")]


@dataclass(slots=True)
class _Done:
    """What was decided, and what could not be put back."""

    marks: list[Mark] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    known: int = 0


def retry(  # noqa: PLR0917 - options of a command
    letters: Letters = None,
    file: Annotated[str | None, typer.Option("--file", help="The corrected event, or its data; - for stdin.")] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Correct it in your editor ($EDITOR).")] = False,
    anyway: Annotated[bool, typer.Option("--anyway", help="Send what would be refused again, as it is.")] = False,
    reason: Reason = None,
    scope: Scope = None,
    since: Since = None,
    until: Until = None,
    note: Note = "",
    wait: Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for what becomes of it.")] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Put events back into their topics, untouched or corrected, and mark their letters as done.

    Each goes back once, under its own id. What would be refused again stays a dead letter, and the command says why.

    Example: memstream dlq retry 3:17 --edit

    Example: memstream dlq retry --reason extraction_failed --since 2026-03-06T09:00Z
    """
    settings = load()
    wanted = _wanted(letters, wanted_of(reason, scope, since, until))
    keys = open_keys(settings)
    message_of: Callable[[Filed], Message] = lambda letter: untouched(letter, anyway=anyway, keys=keys)  # noqa: E731
    if file is not None or edit:
        letter = asyncio.run(_only(settings, wanted))
        readable = letter if file is not None else opened(letter, keys)
        document = edited(as_document(readable)) if file is None else read_bytes(file)
        message = corrected(letter, document, keys)
        message_of = lambda _: message  # noqa: E731
    done = asyncio.run(_decide(settings, wanted, Decision.RETRIED, note, message_of, wait))
    _tell_retried(done, as_json)


def drop(  # noqa: PLR0917 - options of a command
    letters: Letters = None,
    reason: Reason = None,
    scope: Scope = None,
    since: Since = None,
    until: Until = None,
    note: Note = "",
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Mark dead letters as done without putting anything back. Their bytes stay in the topic.

    Example: memstream dlq drop 3:17 --note "a test of the gateway"
    """
    wanted = _wanted(letters, wanted_of(reason, scope, since, until))
    done = asyncio.run(_decide(load(), wanted, Decision.DROPPED, note, None, 0))
    if as_json:
        print_json({"dropped": len(done.marks), "known": done.known})
    else:
        out.print(f"{len(done.marks)} dropped.{_known(done)}")


def _wanted(letters: list[str] | None, wanted: Wanted) -> Wanted:
    """What is decided about: it has to be named or narrowed, and never everything by accident."""
    if not letters and wanted == Wanted():
        raise InvalidInput("Name the letters, or narrow them with --reason, --scope, --since or --until")
    return replace(wanted, names=frozenset(map(name_of, letters or ())), done=True)


async def _only(settings: Settings, wanted: Wanted) -> Filed:
    """The one letter that is corrected."""
    found = [letter async for letter in _letters(settings, wanted)]
    if len(found) != 1:
        raise InvalidInput(f"A correction is for one letter, and {len(found)} are meant: name it, such as 3:17")
    if found[0].mark is not None:
        raise InvalidInput(f"Dead letter {found[0].name} was {found[0].mark.decision.value} already")
    return found[0]


async def _decide(  # noqa: PLR0917 - what the commands have in common
    settings: Settings,
    wanted: Wanted,
    decision: Decision,
    note: str,
    message_of: Callable[[Filed], Message] | None,
    wait: float,
) -> _Done:
    done = _Done()
    async with Desk(settings) as desk:
        batch: list[Decided] = []
        async for letter in _letters(settings, wanted):
            if letter.mark is not None:
                done.known += 1
                continue
            try:
                message = None if message_of is None else message_of(letter)
            except InvalidInput as error:
                done.refused.append(str(error))
                continue
            batch.append(Decided(letter, message, Mark(letter.told.place, decision, note)))
            if len(batch) == _BATCH:
                done.marks += await desk.decide(batch)
                batch.clear()
        done.marks += await desk.decide(batch)
        if wait and done.marks:
            with err.status("Put back; waiting for what becomes of it …"):
                done.outcomes = await desk.outcomes(done.marks, wait)
    return done


async def _letters(settings: Settings, wanted: Wanted) -> AsyncIterator[Filed]:
    """The letters meant. Raises InvalidInput where one that is named is not there."""
    missing = set(wanted.names)
    try:
        async for letter in read_letters(settings, wanted):
            missing.discard((letter.partition, letter.offset))
            yield letter
    except TopicMismatch:
        if not wanted.names:
            raise
    if missing:
        names = ", ".join(f"{partition}:{offset}" for partition, offset in sorted(missing))
        raise InvalidInput(f"There is no dead letter {names}: `memstream dlq list --all` shows which there are")


def _tell_retried(done: _Done, as_json: bool) -> None:
    again = [one.refused for one in done.outcomes if one.refused is not None]
    taken = len(done.outcomes) - len(again)
    if as_json:
        sent = [list(mark.sent) for mark in done.marks if mark.sent is not None]
        print_json(
            {"retried": sent, "taken": taken, "refused_again": again, "not_sent": done.refused, "known": done.known}
        )
    else:
        unknown = len(done.marks) - len(done.outcomes)
        later = f", {unknown} not worked off yet" if unknown else ""
        out.print(f"{len(done.marks)} put back: {taken} taken{later}.{_known(done)}", soft_wrap=True)
        _tell_some("refused again, as a new dead letter", again)
        _tell_some("not sent", done.refused)
    if again or done.refused:
        raise typer.Exit(1)


def _tell_some(what: str, reasons: list[str]) -> None:
    for reason in reasons[:_SHOWN]:
        err.print(f"[yellow]{what}:[/] {escape(reason)}", soft_wrap=True)
    if len(reasons) > _SHOWN:
        err.print(f"{len(reasons) - _SHOWN} more {what}", soft_wrap=True)


def _known(done: _Done) -> str:
    return f" {done.known} were done already." if done.known else ""
