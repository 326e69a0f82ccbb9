"""Takes back what a batch or a step changes of what is there: replaced events, erased ones, and what used these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memstream.sinks.known import Judged
from memstream.sinks.payloads import release
from memstream.sinks.reached import Reached, strip
from memstream.sinks.records import Incoming, Place
from memstream.sinks.slots import Cause
from memstream.sinks.taint import Gone, rewrite, tainted
from memstream.sinks.unfold import Taken, Unfolded, drop_events, unfold
from memstream.sinks.writer import Writer


@dataclass(slots=True)
class TakenBack:
    """What was taken back, which events are erased by it, and which partitions let go of payloads."""

    unfolded: Unfolded = field(default_factory=Unfolded)
    gone: list[Gone] = field(default_factory=list)
    released: set[Place] = field(default_factory=set)


def take_back(
    writer: Writer,
    homes: Mapping[str, Place],
    judged: Judged,
    reached: Sequence[tuple[Reached, Cause]],
    covered: Iterable[Incoming] = (),
) -> TakenBack:
    """Take back what better patches replace and what erasures reach; `covered` are patches that are not applied."""
    back = TakenBack()
    back.gone += [Gone(one.event.scope, one.event.id, one.session, cause) for one, cause in reached]
    back.gone += [_gone(one) for one in covered]
    by_key = {one.identity: Cause(one.offset, one.patch.origin.id) for one in judged.winners}
    taken = [Taken(event, by_key[event.scope, event.id]) for event in judged.replaced]
    taken += [Taken(one.event, cause, forget=True) for one, cause in reached]
    users = tainted(writer.tx, back.gone, {(one.event.scope, one.event.id) for one in taken})
    kept = [((one.event.scope, one.event.id), one.made.payloads) for one in taken]
    kept += [(one.identity, tuple(one.payloads)) for one in covered]
    kept += [(event, tuple(shed)) for event, shed in judged.shed.items()]
    back.released = release(writer, homes, kept)
    taken += [Taken(one.event, one.cause, forget=True, part=one.part, orphans=one.orphans) for one in users]
    if not taken:
        return back
    back.unfolded = unfold(writer, taken)
    drop_events(writer, judged.replaced)
    strip(writer, [one.event for one, _ in reached])
    rewrite(writer, users)
    return back


def _gone(one: Incoming) -> Gone:
    origin = one.patch.origin
    return Gone(one.scope, one.key, origin.session_id, Cause(one.offset, origin.id))
