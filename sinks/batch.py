"""The one transaction of a batch, step by step. The order of the steps is the order of the locks.

Batches of several partitions may share a transaction: a statement costs more than a few rows in it. No scope lives in
two partitions, so nothing of one batch meets anything of another; positions are told by `homes`, scope by scope.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from memstream.sinks import cards, erase_steps, erasure, lock, outbox, payloads, sames
from memstream.sinks.edges import write_edges
from memstream.sinks.erasure import Known
from memstream.sinks.facts import ends_of, write_facts
from memstream.sinks.forgetting import TakenBack, take_back
from memstream.sinks.known import Judged, erased_props, event_props, judge
from memstream.sinks.links import pairs_of, write_links
from memstream.sinks.manifest import manifest_of, write_manifest
from memstream.sinks.nodes import keys_of, write_nodes
from memstream.sinks.reached import aged, by_event
from memstream.sinks.records import Applied, Incoming, Place, Written
from memstream.sinks.sessions import spots_of, write_chain
from memstream.sinks.statements import Runs
from memstream.sinks.taint import pruned
from memstream.sinks.told import told_of
from memstream.sinks.unfold import forget_versions, sweep
from memstream.sinks.versions import Told
from memstream.sinks.writer import Writer


def apply(tx: Runs, batches: Mapping[Place, Sequence[Incoming]], *, announce: bool) -> Written:
    """Apply decoded patches, by their partitions. Raises FatalError, LogMismatch, and what the driver raises."""
    stored = lock.lock(tx, batches)
    fresh = {place: _fresh(batch, stored[place]) for place, batch in batches.items()}
    # a copy of an erasure is for the scopes below its own, which may live in another partition
    homes = {one.scope: place for place, batch in fresh.items() for one in batch if not one.patch.copy_below}
    taken = [one for batch in fresh.values() for one in batch if not one.patch.copy_below]
    events = [one for one in taken if not one.patch.resolved]
    derived = [one for one in taken if one.patch.resolved]
    lock.lock_scopes(tx, homes)
    brought = {place: erasure.keep(tx, place, batch) for place, batch in fresh.items()}
    judged = judge(tx, events)
    events_known = [Known.of(one, judged.first[one.identity]) for one in judged.winners if not one.patch.erasures]
    covered = erasure.covered(tx, homes, events_known)
    writer = Writer(tx)
    winners = {one.identity for one in judged.winners}
    now = {place: erase_steps.begin(tx, place, new, winners) for place, new in brought.items() if new}
    found = by_event([*(one for each in now.values() for one in each.reached), *aged(tx, homes, judged.aged)])
    reached, covered = cards.spread(tx, found, judged.winners, covered)
    hidden = [one for one in judged.winners if one.identity in covered]
    back = take_back(writer, homes, judged, reached, hidden)
    applied = pruned(tx, [one for one in judged.winners if one.identity not in covered], back.gone)
    rows, told = write(writer, applied, hidden, back, judged.first)
    rows += sames.write(writer, derived)
    ends = {place: batch[-1] for place, batch in fresh.items() if batch}
    changes = outbox.store(tx, {p: end.offset for p, end in ends.items()}, homes, told) if announce else {}
    lock.advance(tx, {place: (end.offset, end.key) for place, end in ends.items()})
    parts = {
        place: Applied(
            applied=(count := sum(homes[one.scope] == place for one in (*applied, *derived))),
            dropped=len(batch) - count,
            replaced=sum(homes[one.scope] == place for one in judged.replaced),
            last_offset=ends[place].offset if place in ends else stored[place],
            changes=changes.get(place, []),
            erasing=place in back.released or (place in now and now[place].more),
        )
        for place, batch in batches.items()
    }
    return Written(parts, rows, writer.created + len(writer.nodes), writer.connected)


def _fresh(batch: Iterable[Incoming], stored: int) -> list[Incoming]:
    """What lies above the offset that was applied last, in order."""
    return sorted((one for one in batch if one.offset > stored), key=lambda one: one.offset)


def step(tx: Runs, place: Place) -> Applied:
    """Go on with the oldest erasure of the partition that is not done: take back some of the events that it reaches."""
    stored = lock.lock(tx, [place])[place]
    work = erase_steps.next_work(tx, place)
    if work is None:
        return Applied(last_offset=stored)
    scopes = erase_steps.scopes_of(tx, place, work)
    homes = dict.fromkeys(scopes, place)
    lock.lock_scopes(tx, homes)
    now = erase_steps.take(tx, place, work, scopes, stored)
    writer = Writer(tx)
    reached, _ = cards.spread(tx, now.reached)
    write(writer, [], [], take_back(writer, homes, Judged(), reached), {})
    return Applied(dropped=len(now.reached), last_offset=stored, erasing=True)


def skip(tx: Runs, place: Place, offset: int, event: str | None = None) -> int:
    """Move past a record of which nothing is wanted or can be read. Returns the offset that is reached."""
    stored = lock.lock(tx, [place])[place]
    if offset > stored:
        lock.advance(tx, {place: (offset, event)})
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
            event_props(one, first[one.identity], write_manifest(m), uses=m.uses)
            for one, m in zip(applied, made, strict=True)
        ),
        *(erased_props(one, first[one.identity]) for one in covered),
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
    positions: dict[str, int] = {}
    for gone in taken.gone:
        positions[gone.scope] = max(gone.cause.at, positions.get(gone.scope, -1))
    sames.forget(writer, back.nodes, back.forgotten, positions)
    sweep(writer, back.nodes)
    return rows + said, [*told_of(applied), *told]
