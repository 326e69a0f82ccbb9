"""The edges of patches. Each belongs to the event that said it; two events may say the same edge."""

from __future__ import annotations

from collections.abc import Iterable

from memstream.sinks.records import Incoming
from memstream.sinks.writer import NodeKey, Writer


def write_edges(writer: Writer, patches: Iterable[Incoming]) -> int:
    """Make the edges of these patches between nodes that are touched. Returns their number."""
    count = 0
    for one in patches:
        own = {"event": one.key, "at": one.offset}
        for row in one.patch.edges:
            start = writer.nodes[NodeKey(row.from_label, one.scope, row.from_id)]
            end = writer.nodes[NodeKey(row.to_label, one.scope, row.to_id)]
            used = {"used": list(row.used)} if row.used else {}
            writer.connect(row.type.value, start.eid, end.eid, {**row.props, **own, **used})
            count += 1
    return count
