"""`memstream explain-extraction TEXT`: what is read out of a message, by which pattern, and why not more."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from memstream.cli.console import err, out, print_json
from memstream.cli.explain_page import page_of
from memstream.cli.explain_show import show
from memstream.extractors.explain import Explanation, explain
from memstream.extractors.spacy_extractor import create
from memstream.schemas.errors import InvalidInput
from memstream.schemas.extraction import Turn

_ROLES = ("user", "assistant", "system", "tool")
_ROLE = re.compile(rf"({'|'.join(_ROLES)}):\s*", re.I)


def explain_extraction(  # noqa: PLR0917 (options of a command)
    text: Annotated[str, typer.Argument(help="The message; - for standard input.")],
    before: Annotated[
        list[str] | None,
        typer.Option("--before", help='A message before it, again for each; "assistant: …" names who said it.'),
    ] = None,
    role: Annotated[str, typer.Option(help="Who says it: user, assistant, system or tool.")] = "user",
    name: Annotated[str | None, typer.Option(help="The speaker's name, where the publisher gives one.")] = None,
    time: Annotated[str | None, typer.Option(help="When it was said (ISO 8601); now by default.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page with the trees drawn, too.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Show the words and trees of a message, what it says and by which pattern, and why something was not asserted.

    Example: memstream explain-extraction "Ana might move to Porto, but she works at Kestrel Freight."
    """
    said = sys.stdin.read() if text == "-" else text
    found = explain(create(), [*_before(before or [], _moment(time)), _turn(said, role, name, _moment(time))])
    if html is not None:
        html.write_text(page_of(found), encoding="utf-8")
        err.print(f"The page is in {html}")
    if as_json:
        print_json(row_of(found))
    elif html is None:
        show(out, found)


def row_of(found: Explanation) -> dict[str, Any]:
    """The explanation as JSON has it: with the reasons in words."""
    row = asdict(found)
    for part, shown in zip(found.parts, row["parts"], strict=True):
        for clause, told in zip(part.clauses, shown["clauses"], strict=True):
            told["reason"] = clause.reason
    for attempt, told in zip(found.refused, row["refused"], strict=True):
        told["reason"] = attempt.reason
    for miss, told in zip(found.missed, row["missed"], strict=True):
        told["reason"] = miss.reason
    return row


def _turn(text: str, role: str, name: str | None, at: datetime) -> Turn:
    if role not in _ROLES:
        raise InvalidInput(f"role {role!r} is none of {', '.join(_ROLES)}")
    named = name is not None and role in ("user", "assistant")
    speaker = name if named and name else "assistant" if role == "assistant" else "user"
    return Turn("this", role, speaker, text, at, named=named)


def _before(texts: list[str], at: datetime) -> list[Turn]:
    turns = []
    for number, text in enumerate(texts, start=1):
        said = _ROLE.match(text)
        role = said[1].lower() if said else "user"
        speaker = "assistant" if role == "assistant" else "user"
        turns.append(Turn(f"before {number}", role, speaker, text[said.end() :] if said else text, at))
    return turns


def _moment(time: str | None) -> datetime:
    if time is None:
        return datetime.now(UTC)
    try:
        at = datetime.fromisoformat(time)
    except ValueError as error:
        raise InvalidInput(f"--time {time!r} is not ISO 8601, such as 2026-03-06T09:00Z") from error
    return at if at.tzinfo else at.replace(tzinfo=UTC)
