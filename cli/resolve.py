"""`memstream resolve`: looks at the entities of scopes, and says through the log which of them are one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.markup import escape

from memstream.cli.console import out, print_json
from memstream.extractors.vectors.embedders import Embedder, create_embedder
from memstream.schemas.errors import InvalidInput
from memstream.schemas.scope import parse_scope
from memstream.settings import Settings, load
from memstream.sinks.resolving import Place, ScopeReader
from memstream.sinks.stores import Stores
from memstream.streams.resolution import Resolved, resolve_scope
from memstream.streams.sender import Sender

Looked = dict[str, int]
"""The position at which a scope was looked at last."""


def resolve(
    scope: Annotated[str | None, typer.Option("--scope", "-s", help="Only this scope; else all.")] = None,
    every: Annotated[float, typer.Option(min=0, help="Look again after so many seconds, until stopped.")] = 0.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what is found, and publish nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Find entities that are one. Sure pairs are joined; likely ones wait for `memstream review`.

    Run it by a timer, or with --every. Twice is as good as once: it says only what is new, and the sink writes it.

    Example: memstream resolve --every 60
    """
    settings = load()
    embedder = _embedder(settings)
    looked: Looked = {}
    wanted = parse_scope(scope) if scope is not None else None
    while True:
        with Stores.connect(settings) as stores:
            found = list(_found(stores, wanted, embedder, looked))
        if wanted is not None and not found and not every:
            raise InvalidInput(f"nothing can be read of scope {wanted!r}: was anything said in it?")
        if not dry_run:
            asyncio.run(publish(settings, found))
        _show(found, dry_run=dry_run, as_json=as_json)
        if not every:
            return
        time.sleep(every)


async def publish(settings: Settings, found: list[Resolved]) -> None:
    """Send what is new; when this returns the broker has it. Raises BrokerUnavailable."""
    messages = [message for one in found for message in one.messages()]
    if not messages:
        return
    sender = Sender(settings)
    await sender.start()
    try:
        await sender.send(messages)
    finally:
        await sender.stop()


def _found(stores: Stores, scope: str | None, embedder: Embedder, looked: Looked) -> Iterator[Resolved]:
    """What each scope comes to, of those in whose partition something was applied since they were looked at."""
    for store in stores.all():
        reader = ScopeReader(store.driver, store.database)
        for place in reader.places(scope):
            if looked.get(place.scope) != place.position:
                yield _looked_at(reader, place, embedder, looked)


def _looked_at(reader: ScopeReader, place: Place, embedder: Embedder, looked: Looked) -> Resolved:
    found = resolve_scope(reader, place, embedder)
    looked[place.scope] = place.position
    return found


def _embedder(settings: Settings) -> Embedder:
    key = settings.embedder_api_key
    return create_embedder(settings.embedder, api_key=key.get_secret_value() if key else None)


def _show(found: list[Resolved], *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json([_row(one, dry_run=dry_run) for one in found])
        return
    for one in found:
        if one.sames or one.changed:
            out.print(
                f"{escape(one.scope)}: {one.entities:,} entities, of which {one.accepted:,} pairs are one and "
                f"{one.proposed:,} may be; {one.changed:,} are new or otherwise than before.",
                soft_wrap=True,
            )
    changed = sum(one.changed for one in found)
    told = "would be published" if dry_run else "are published"
    out.print(f"Looked at {len(found):,} scopes; {changed:,} changes {told}. See: memstream review")


def _row(one: Resolved, *, dry_run: bool) -> dict[str, object]:
    row: dict[str, object] = {
        "scope": one.scope,
        "position": one.position,
        "entities": one.entities,
        "accepted": one.accepted,
        "proposed": one.proposed,
        "changed": one.changed,
    }
    return row | ({"pairs": list(one.sames)} if dry_run else {})
