"""`memstream erase`: forget for real, and how far that is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.markup import escape

from memstream.cli.console import err, out, print_json, table_of
from memstream.client import Publisher
from memstream.client.receipt import Receipt
from memstream.schemas.errors import InvalidInput, NotVisibleError
from memstream.schemas.ids import event_key, utc_text
from memstream.schemas.scope import parse_scope
from memstream.schemas.statement import ErasureKind
from memstream.sealing import open_keys
from memstream.settings import Settings, load
from memstream.sinks.erase_status import Progress, entities_named, events_of, is_applied, progress, would_reach
from memstream.sinks.erasure import BELOW, Erasure
from memstream.sinks.stores import Store, Stores

SOURCE = "memstream://cli/erase"
_PAUSE = 0.3
_TOGETHER = 500  # ids in one erasure


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be forgotten: ids by kind, in a scope and below it, up to a time."""

    scope: str
    named: dict[ErasureKind, tuple[str, ...]]
    children: bool
    until: datetime | None
    source: str

    def erasures(self) -> list[Erasure]:
        """It as the graph sees it; a bound that is not given is the erasure itself."""
        until = utc_text(self.until) if self.until is not None else ""
        made = []
        for kind, ids in self.named.items():
            for one in self.keys(kind, ids) if kind is not ErasureKind.SCOPE else ("",):
                made.append(Erasure(self.scope, kind, one, until))
                if self.children and kind in BELOW:
                    made.append(Erasure(self.scope, kind, one, until, below=True))
        return made

    def keys(self, kind: ErasureKind, ids: Sequence[str]) -> Sequence[str]:
        """Ids as the graph knows them: those of events become keys."""
        if kind in (ErasureKind.EVENT, ErasureKind.MESSAGE):
            return [event_key(self.scope, self.source, one) for one in ids]
        return ids


def erase(  # noqa: PLR0917 - options of a command
    scope: Annotated[str | None, typer.Option("--scope", "-s", help="The scope, such as acme/user-42.")] = None,
    event: Annotated[list[str] | None, typer.Option(help="An event, by its id (with --source).")] = None,
    session: Annotated[list[str] | None, typer.Option(help="All of a session.")] = None,
    user: Annotated[list[str] | None, typer.Option(help="All that is about a person: the subject of events.")] = None,
    entity: Annotated[
        list[str] | None, typer.Option(help="All events that name an entity, given by a name or an id.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All of the scope.")] = False,
    children: Annotated[bool, typer.Option(help="In the scopes below, too.")] = False,
    until: Annotated[datetime | None, typer.Option(help="Only what was recorded up to this time (UTC).")] = None,
    source: Annotated[str | None, typer.Option(help="The source of the events that --event names.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait until the graph is done with it.")] = 0.0,
    status: Annotated[
        bool, typer.Option("--status", help="Show erasures and how far they are, and erase nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Forget for real. An erasure is an event like any other: it holds on replay, and for what arrives late.

    Example: memstream erase --scope acme/fleet-7 --user user-42 --children --wait 60
    """
    settings = load()
    with Stores.connect(settings) as stores:
        if status:
            _show_status(
                [one for store in stores.all() for one in progress(store.driver, store.database, scope)], as_json
            )
            return
        if scope is None:
            raise InvalidInput("say where: --scope, such as acme/user-42")
        asked = _asked(stores, parse_scope(scope), event, session, user, entity, all_, children, until, source)
        store = stores.of(asked.scope)
        bound = utc_text(asked.until) if asked.until is not None else None
        reach = would_reach(store.driver, store.database, asked.erasures(), bound)
        if not yes:
            _ask(asked, reach, len(_living(settings, asked)))
        entities = asked.named.get(ErasureKind.ENTITY, ())
        events = events_of(store.driver, store.database, asked.scope, entities, bound) if entities else {}
        before = _living(settings, asked)
        receipts = _publish(settings, asked, events)
        destroyed = before - _living(settings, asked)
        told = _wait(settings, store, asked, receipts, wait) if wait else []
    if as_json:
        keys = {"keys_destroyed": sorted(destroyed), "keys_kept": _why_kept(settings, asked)} if settings.keys else {}
        print_json({"reached": reach, "events": [asdict(one) for one in receipts], "progress": told, **keys})
        return
    out.print(f"Published {len(receipts)} erasures, which reach {reach:,} events of the graph as it is now.")
    if destroyed:
        out.print(f"Destroyed {len(destroyed)} keys: what they seal in the log can't be read by anybody any more.")
    if kept := _why_kept(settings, asked):
        out.print(escape(kept), soft_wrap=True)
    if wait:
        out.print(f"Done: {sum(one.events for one in told):,} events are taken back.")
    else:
        out.print(f"How far it is: memstream erase --status --scope {escape(asked.scope)}")


def _asked(  # noqa: PLR0917 - the options of the command
    stores: Stores,
    scope: str,
    event: list[str] | None,
    session: list[str] | None,
    user: list[str] | None,
    entity: list[str] | None,
    everything: bool,
    children: bool,
    until: datetime | None,
    source: str | None,
) -> Asked:
    if event and source is None:
        raise InvalidInput("an event is known by its source and its id: give --source too")
    named: dict[ErasureKind, tuple[str, ...]] = {}
    for kind, ids in ((ErasureKind.EVENT, event), (ErasureKind.SESSION, session), (ErasureKind.USER, user)):
        if ids:
            named[kind] = tuple(ids)
    if entity:
        named[ErasureKind.ENTITY] = _entities(stores.of(scope), scope, entity)
    if everything:
        named[ErasureKind.SCOPE] = ()
    if not named:
        raise InvalidInput("say what: --event, --session, --user, --entity, or --all for the whole scope")
    if children and not any(kind in BELOW for kind in named):
        raise InvalidInput(
            "--children goes with --session, --user or --all: ids of events and entities are of one scope"
        )
    bound = until.replace(tzinfo=until.tzinfo or UTC) if until is not None else None
    return Asked(scope, named, children, bound, source or SOURCE)


def _entities(store: Store, scope: str, names: list[str]) -> tuple[str, ...]:
    found = entities_named(store.driver, store.database, scope, names)
    unknown = sorted(set(names) - {one.asked for one in found})
    if unknown:
        raise InvalidInput(
            f"scope {scope!r} has no entity {', '.join(map(repr, unknown))}: see `memstream entity NAME`"
        )
    for one in found:
        err.print(f"{escape(one.asked)}: {escape(one.name or one.asked)} ({one.type}), {one.id}", soft_wrap=True)
    return tuple(one.id for one in found)


def _ask(asked: Asked, reach: int, doomed: int) -> None:
    what = ", ".join(f"{kind.value} {' '.join(ids)}" if ids else "the whole scope" for kind, ids in asked.named.items())
    where = asked.scope + (" and the scopes below" if asked.children else "")
    err.print(f"To be forgotten in {escape(where)}: {escape(what)}.", soft_wrap=True)
    err.print(
        f"That reaches {reach:,} events of the graph as it is now, what was read by the help of them, and what of it "
        "arrives later. It can't be undone. The log keeps its records (docs/erasure.md)."
    )
    if doomed:
        err.print(f"And {doomed} keys are destroyed, so that nobody can read what they seal in the log.")
    typer.confirm("Erase?", abort=True, err=True)


def _publish(settings: Settings, asked: Asked, events: dict[str, list[str]]) -> list[Receipt]:
    """The erasures that are asked for; `events` (of entities, by source) go by their ids as well.

    What a newer extractor reads in them then makes no difference.
    """
    with Publisher(asked.scope, settings=settings, source=SOURCE) as publisher:
        pending = [
            publisher.erased(
                kind,
                ids,
                of_source=asked.source if kind is ErasureKind.EVENT else None,
                until=asked.until,
                children=asked.children and kind in BELOW,
            )
            for kind, ids in asked.named.items()
        ]
        pending += [
            publisher.erased("event", ids[start : start + _TOGETHER], of_source=source, until=asked.until)
            for source, ids in events.items()
            for start in range(0, len(ids), _TOGETHER)
        ]
        return [one.result() for one in pending]


def _living(settings: Settings, asked: Asked) -> set[str]:
    """The ids of the keys that this erasure is to destroy, as far as they are there."""
    store = open_keys(settings)
    if store is None or asked.until is not None:
        return set()
    try:
        people = set(asked.named.get(ErasureKind.USER, ()))
        return {
            row.id
            for row in store.rows(asked.scope, below=asked.children)
            if row.destroyed is None and (ErasureKind.SCOPE in asked.named or row.subject in people)
        }
    finally:
        store.close()


def _why_kept(settings: Settings, asked: Asked) -> str | None:
    """Why the log can still be read after an erasure, where keys might have been destroyed."""
    if not settings.keys:
        return None
    if asked.until is not None:
        return (
            "No key is destroyed: what was recorded after the time limit is sealed by the same ones. The log keeps its "
            "records readable for who has the keys; without --until they are destroyed."
        )
    if not {ErasureKind.USER, ErasureKind.SCOPE} & asked.named.keys():
        return (
            "No key is destroyed: keys are of a person or a scope, and seal more than this. The log keeps its records "
            "readable for who has the keys."
        )
    return None


def _wait(settings: Settings, store: Store, asked: Asked, receipts: list[Receipt], seconds: float) -> list[Progress]:
    """Wait until the graph has the erasures, and none of them has work left."""
    deadline = time.monotonic() + seconds
    ids = {one.event_id for one in receipts}
    wanted = len([one for one in asked.erasures() if one.below]) * settings.partitions
    keys = [event_key(one.scope, one.source, one.event_id) for one in receipts]
    while True:
        told = progress(store.driver, store.database, asked.scope)
        there = all(is_applied(store.driver, store.database, asked.scope, key) for key in keys)
        ours = [one for one in told if one.event_id in ids]
        if there and all(one.done for one in told) and len([one for one in ours if one.below]) >= wanted:
            return ours
        if time.monotonic() > deadline:
            left = [one for one in ours if not one.done]
            raise NotVisibleError(
                f"the erasures are published, but not done after {seconds:g} s ({len(left)} of {len(ours)} have work "
                "left): `memstream erase --status` shows how far they are, `memstream status` whether the sink runs"
            )
        with err.status(f"{sum(one.events for one in ours):,} events taken back …"):
            time.sleep(_PAUSE)


def _show_status(rows: list[Progress], as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    if not rows:
        out.print("No erasures.")
        return
    table = table_of("Scope", "Kind", "Named", "Until", "Events", "State")
    for one in rows:
        where = one.scope + ("/*" if one.below else "")
        state = "done" if one.done else f"working, {one.steps} steps"
        table.add_row(*map(escape, (where, one.kind, one.named, one.until[:19], f"{one.events:,}", state)))
    out.print(table)
