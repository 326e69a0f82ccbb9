"""What the events of a board mean. One log orders a board: who claims an item is decided by the log, not by clocks."""

from __future__ import annotations

from datetime import timedelta

from memstream.schemas.board import Answered, Claimed, Closed, Posted, Released
from memstream.schemas.ids import utc_text
from memstream.schemas.patch import Edge
from memstream.streams.projection import names
from memstream.streams.projection.jsontext import json_text
from memstream.streams.projection.material import Findings, Material
from memstream.streams.projection.rows import Rows
from memstream.streams.projection.said import add_extraction


def posted(rows: Rows, data: Posted, findings: Findings) -> None:
    """An item is put on the board; what it says counts as said by its agent."""
    props = {
        "item_id": data.item_id,
        "kind": data.kind.value,
        "text": data.text,
        "agent_id": data.agent_id,
        "reply_to": data.reply_to,
        "time": rows.origin.time,
        "order": rows.origin.order,
        "metadata": json_text(data.metadata),
    }
    ref = rows.share(names.item(rows.origin.scope, data.item_id), "posted", props)
    rows.by_agent(ref, data.agent_id)
    if data.reply_to is not None:
        rows.edge(Edge.REPLY_TO, ref, names.item(rows.origin.scope, data.reply_to))
    add_extraction(rows, findings.extraction, ref)


def claimed(rows: Rows, data: Claimed, material: Material) -> None:
    """An agent takes an item on until its lease runs out."""
    lease = utc_text(material.event.time + timedelta(seconds=data.lease_seconds))
    props = {
        "item_id": data.item_id,
        "claim": "claimed",
        "holder": data.agent_id,
        "lease_until": lease,
        "claim_time": rows.origin.time,
    }
    rows.share(names.item(rows.origin.scope, data.item_id), "claim", props, key=names.log_order(rows.origin))


def released(rows: Rows, data: Released) -> None:
    """An agent gives an item back."""
    props = {
        "item_id": data.item_id,
        "claim": "released",
        "holder": data.agent_id,
        "claim_time": rows.origin.time,
    }
    rows.share(names.item(rows.origin.scope, data.item_id), "claim", props, key=names.log_order(rows.origin))


def answered(rows: Rows, data: Answered, findings: Findings) -> None:
    """An agent answers an item; what it says counts as said by the agent."""
    props = {
        "item_id": data.item_id,
        "answer": data.text,
        "answered_by": data.agent_id,
        "answered_at": rows.origin.time,
        "answer_metadata": json_text(data.metadata),
    }
    ref = rows.share(names.item(rows.origin.scope, data.item_id), "answered", props)
    rows.by_agent(ref, data.agent_id)
    add_extraction(rows, findings.extraction, ref)


def closed(rows: Rows, data: Closed) -> None:
    """An item is done with."""
    props = {
        "item_id": data.item_id,
        "resolution": data.resolution,
        "closed_by": data.agent_id,
        "closed_at": rows.origin.time,
    }
    rows.share(names.item(rows.origin.scope, data.item_id), "closed", props)
