"""What else became true with a batch, beside facts: ids only, the texts stay where an erasure reaches them."""

from __future__ import annotations

from collections.abc import Iterable

from memstream.schemas.patch import Label
from memstream.sinks.records import Incoming
from memstream.sinks.statements import Row
from memstream.sinks.versions import Told

_KINDS = {
    (Label.MESSAGE, ""): "message",
    (Label.DOCUMENT, ""): "document",
    (Label.TRACE, "started"): "trace.started",
    (Label.TRACE, "completed"): "trace.completed",
    (Label.TOOL_CALL, "status"): "tool_call",
    (Label.BOARD_ITEM, "posted"): "board.posted",
    (Label.BOARD_ITEM, "claim"): "board.claim",
    (Label.BOARD_ITEM, "answered"): "board.answered",
    (Label.BOARD_ITEM, "closed"): "board.closed",
    (Label.STATE_ITEM, "value"): "state",
    (Label.MEMORY, "card"): "card",
}


def told_of(patches: Iterable[Incoming]) -> Iterable[Told]:
    """What these patches tell of nodes."""
    for one in patches:
        origin = one.patch.origin
        for row in one.patch.nodes:
            if (kind := _KINDS.get((row.label, row.part))) is None:
                continue
            payload: Row = {"kind": kind, "id": row.id, "event_id": origin.id}
            if origin.session_id is not None:
                payload["session_id"] = origin.session_id
            yield one.scope, one.offset, payload
