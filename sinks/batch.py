"""The one transaction of a batch, step by step. The order of the steps is the order of the locks."""

from __future__ import annotations

from collections.abc import Sequence

from memstream.sinks import erasure, lock, outbox
from memstream.sinks.edges import write_edges
from memstream.sinks.facts import Told, ends_of, write_facts
from memstream.sinks.known import Judged, Stored, erased_props, event_props, judge
from memstream.sinks.links import pairs_of, write_links
from memstream.sinks.lock import Place
from memstream.sinks.manifest import manifest_of
from memstream.sinks.nodes import keys_of, write_nodes
from memstream.sinks.records import Applied, Incoming
from memstream.sinks.sessions import spots_of, write_chain
from memstream.sinks.slots import Cause
from memstream.sinks.statements import Runs
from memstream.sinks.told import told_of
from memstream.sinks.unfold import Taken, Unfolded, drop_events, forget_versions, sweep, unfold
from memstream.sinks.writer import Writer


def apply(tx: Runs, place: Place, incoming: Sequence[Incoming], *, announce: bool) -> Applied:
    """Apply decoded patches. Raises FatalError, LogMismatch, and what the driver raises."""
    stored = lock.lock(tx, place)
    fresh = sorted((one for one in incoming if one.offset > stored), key=lambda one: one.offset)
    if not fresh:
        return Applied(dropped=len(incoming), last_offset=stored)
    lock.lock_scopes(tx, place, {one.scope for one in fresh})
    erasures, brought = erasure.read_and_keep(tx, fresh)
    judged = judge(tx, fresh)
    covered = {one.offset for one in judged.winners if any(x.covers(one) for x in erasures)}
    writer = Writer(tx)
    unfolded = _take_back(writer, judged, erasure.reached(tx, brought))
    applied = [one for one in judged.winners if one.offset not in covered]
    rows, told = _write(writer, applied, [one for one in judged.winners if one.offset in covered], unfolded)
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
    )


def skip(tx: Runs, place: Place, offset: int) -> int:
    """Move past a record of which nothing can be read. Returns the offset that is reached."""
    stored = lock.lock(tx, place)
    if offset > stored:
        lock.advance(tx, place, offset, None)
    return max(offset, stored)


def _take_back(writer: Writer, judged: Judged, reached: list[tuple[Stored, Cause]]) -> Unfolded | None:
    """What better patches replace, and what new erasures reach of what is there."""
    by_key = {(one.scope, one.key): Cause(one.offset, one.patch.origin.id) for one in judged.winners}
    forgotten = [(event, cause) for event, cause in reached if (event.scope, event.id) not in by_key]
    if not judged.replaced and not forgotten:
        return None
    replaced = [(event, by_key[event.scope, event.id]) for event in judged.replaced]
    taken = [Taken(event, cause) for event, cause in replaced]
    taken += [Taken(event, cause, forget=True) for event, cause in forgotten]
    unfolded = unfold(writer, taken)
    drop_events(writer, judged.replaced)
    if forgotten:
        erasure.strip(writer, [event for event, _ in forgotten])
    return unfolded


def _write(
    writer: Writer, applied: Sequence[Incoming], covered: Sequence[Incoming], unfolded: Unfolded | None
) -> tuple[int, list[Told]]:
    back = unfolded or Unfolded()
    props = [event_props(one, manifest_of(one)) for one in applied] + [erased_props(one) for one in covered]
    events = writer.create([(["Event"], row) for row in props])[: len(applied)]
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
