"""The one transaction of a batch, step by step. The order of the steps is the order of the locks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memstream.sinks import cards, erase_steps, erasure, lock, outbox, payloads
from memstream.sinks.edges import write_edges
from memstream.sinks.erasure import Known
from memstream.sinks.facts import ends_of, write_facts
from memstream.sinks.forgetting import TakenBack, take_back
from memstream.sinks.known import Judged, erased_props, event_props, judge
from memstream.sinks.links import pairs_of, write_links
from memstream.sinks.lock import Place
from memstream.sinks.manifest import manifest_of, write_manifest
from memstream.sinks.nodes import keys_of, write_nodes
from memstream.sinks.reached import aged, by_event
from memstream.sinks.records import Applied, Incoming
from memstream.sinks.sessions import spots_of, write_chain
from memstream.sinks.statements import Runs
from memstream.sinks.taint import pruned
from memstream.sinks.told import told_of
from memstream.sinks.unfold import forget_versions, sweep
from memstream.sinks.versions import Told
from memstream.sinks.writer import Writer


def apply(tx: Runs, place: Place, incoming: Sequence[Incoming], *, announce: bool) -> Applied:
    """Apply decoded patches. Raises FatalError, LogMismatch, and what the driver raises."""
    stored = lock.lock(tx, place)
    fresh = sorted((one for one in incoming if one.offset > stored), key=lambda one: one.offset)
    if not fresh:
        return Applied(dropped=len(incoming), last_offset=stored)
    # a copy of an erasure is for the scopes below its own, which may live in another partition
    events = [one for one in fresh if not one.patch.copy_below]
    lock.lock_scopes(tx, place, {one.scope for one in events})
    brought = erasure.keep(tx, place, fresh)
    judged = judge(tx, events)
    events_known = [Known.of(one, judged.first[one.scope, one.key]) for one in judged.winners if not one.patch.erasures]
    covered = erasure.covered(tx, place, events_known)
    writer = Writer(tx)
    now = erase_steps.begin(tx, place, brought, {(one.scope, one.key) for one in judged.winners})
    found = by_event([*now.reached, *aged(tx, place, judged.aged)])
    reached, covered = cards.spread(tx, found, judged.winners, covered)
    hidden = [one for one in judged.winners if one.offset in covered]
    back = take_back(writer, place, judged, reached, hidden)
    applied = pruned(tx, [one for one in judged.winners if one.offset not in covered], back.gone)
    rows, told = write(writer, applied, hidden, back, judged.first)
    last = fresh[-1]
    changes = outbox.store(tx, place, last.offset, told) if announce else []
    lock.advance(tx, place, last.offset, last.key)
    return Applied(
        applied=len(applied),
        dropped=len(incoming) - len(applied),
        replaced=len(judged.replaced),
        rows=rows,
        nodes=writer.created + len(writer.nodes),
        edges=writer.connected,
        last_offset=last.offset,
        changes=changes,
        erasing=now.more or back.released,
    )


def step(tx: Runs, place: Place) -> Applied:
    """Go on with the oldest erasure of the partition that is not done: take back some of the events that it reaches."""
    stored = lock.lock(tx, place)
    work = erase_steps.next_work(tx, place)
    if work is None:
        return Applied(last_offset=stored)
    scopes = erase_steps.scopes_of(tx, place, work)
    lock.lock_scopes(tx, place, scopes)
    now = erase_steps.take(tx, place, work, scopes, stored)
    writer = Writer(tx)
    reached, _ = cards.spread(tx, now.reached)
    write(writer, [], [], take_back(writer, place, Judged(), reached), {})
    return Applied(dropped=len(now.reached), last_offset=stored, erasing=True)


def skip(tx: Runs, place: Place, offset: int, event: str | None = None) -> int:
    """Move past a record of which nothing is wanted or can be read. Returns the offset that is reached."""
    stored = lock.lock(tx, place)
    if offset > stored:
        lock.advance(tx, place, offset, event)
    return max(offset, stored)


def write(
    writer: Writer,
    applied: Sequence[Incoming],
    covered: Sequence[Incoming],
    taken: TakenBack,
    first: Mapping[tuple[str, str], str],
) -> tuple[int, list[Told]]:
    """Write these patches and what is left of those that are covered, and fold again what was taken back.

    Returns the number of rows, and what became true.
    """
    back = taken.unfolded
    made = [manifest_of(one) for one in applied]
    props = [
        *(
            event_props(one, first[one.scope, one.key], write_manifest(m), uses=m.uses)
            for one, m in zip(applied, made, strict=True)
        ),
        *(erased_props(one, first[one.scope, one.key]) for one in covered),
    ]
    events = writer.create([(["Event"], row) for row in props])[: len(applied)]
    payloads.hold(writer, zip(applied, made, events, strict=True))
    came = {spot: one.offset for one in applied for spot in spots_of(one)}
    pairs = {pair: one.offset for one in applied for pair in pairs_of(one)}
    writer.touch(key for one in applied for key in (*keys_of(one), *ends_of(one)))
    writer.touch(key for pair in pairs.keys() | back.pairs.keys() for key in pair.ends)
    writer.touch(spot.conversation for spot in came.keys() | back.spots.keys())
    rows = write_nodes(writer, zip(applied, events, strict=True))
    rows += write_edges(writer, applied)
    rows += write_links(writer, applied, back.pairs | pairs)
    said, told = write_facts(writer, applied, back.facts)
    writer.flush()
    write_chain(writer, came, {spot: at for spot, at in back.spots.items() if spot not in came})
    writer.flush()
    forget_versions(writer, back)
    sweep(writer, back.nodes)
    return rows + said, [*told_of(applied), *told]
