"""`memstream expire`: an erasure for each session whose time to live is over."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.markup import escape

from memstream.cli.console import out, print_json
from memstream.client import Publisher
from memstream.schemas.ids import hash_of, utc_text
from memstream.settings import Settings, load
from memstream.sinks.expiry import Expired, expired
from memstream.sinks.stores import Stores

SOURCE = "memstream://expire"


def expire(
    scope: Annotated[str | None, typer.Option("--scope", "-s", help="Only in this scope.")] = None,
    every: Annotated[float, typer.Option(min=0, help="Look again after so many seconds, until stopped.")] = 0.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show which are over, and erase nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Erase the sessions whose time to live is over: `ttl_seconds` of their start, since the last that was said.

    Run it by a timer, or with --every. Twice is as good as once: the erasure of a session has an id of its own.

    Example: memstream expire --every 300
    """
    settings = load()
    while True:
        with Stores.connect(settings) as stores:
            now = datetime.now(UTC)  # decides when the event is published, and is in nothing that is stored
            over = [one for store in stores.all() for one in expired(store.driver, store.database, now, scope)]
        if not dry_run:
            publish(settings, over)
        if as_json:
            print_json(over)
        else:
            for one in over:
                out.print(f"{escape(one.scope)} session {escape(one.session)}: over since {utc_text(one.over)[:19]}")
            out.print(f"{len(over)} sessions {'are over' if dry_run else 'are being erased'}.")
        if not every:
            return
        time.sleep(every)


def publish(settings: Settings, over: list[Expired]) -> None:
    """The erasures of these sessions; returns when the broker has them. Raises PublishError."""
    if not over:
        return
    with Publisher(settings=settings, source=SOURCE) as publisher:
        sent = [
            publisher.erased(
                "session", [one.session], reason="its time to live is over", scope=one.scope, id=event_id(one)
            )
            for one in over
        ]
        for one in sent:
            one.result()


def event_id(one: Expired) -> str:
    """The same for the same session, unless it has gone on since."""
    return hash_of("expired", one.session, utc_text(one.last))
