"""What all commands about dead letters are narrowed by."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from memstream.schemas.base import Moment
from memstream.schemas.errors import InvalidInput
from memstream.schemas.ids import utc_text
from memstream.schemas.scope import parse_scope
from memstream.streams.letter_book import Wanted

Reason = Annotated[str | None, typer.Option("--reason", help="Only those with this reason, such as bad_time.")]
Scope = Annotated[str | None, typer.Option("--scope", "-s", help="Only those of this scope and below.")]
Since = Annotated[str | None, typer.Option("--since", help="Only what was published from then on: 2026-03-06T09:00Z.")]
Until = Annotated[str | None, typer.Option("--until", help="Only what was published before then.")]

_MOMENT: TypeAdapter[datetime] = TypeAdapter(Moment)


def wanted_of(
    reason: str | None, scope: str | None, since: str | None, until: str | None, *, done: bool = False
) -> Wanted:
    """What the options mean. Raises InvalidInput for what is no time, InvalidScope for what is no scope."""
    return Wanted(
        reason=reason,
        scope=None if scope is None else parse_scope(scope),
        since=_moment("--since", since),
        until=_moment("--until", until),
        done=done,
    )


def name_of(letter: str) -> tuple[int, int]:
    """Partition and offset of a letter. Raises InvalidInput."""
    partition, _, offset = letter.partition(":")
    if not (partition.isdigit() and offset.isdigit()):
        raise InvalidInput(f"{letter!r} names no dead letter: write partition:offset, as `memstream dlq list` shows it")
    return int(partition), int(offset)


def _moment(option: str, text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return utc_text(_MOMENT.validate_python(text))
    except ValidationError as error:
        raise InvalidInput(f"{option} {text!r} is no time such as 2026-03-06T09:00Z") from error
