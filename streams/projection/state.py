"""What the events of a kept state mean: items and checkpoints. The log orders them, whatever the publishers' clocks."""

from __future__ import annotations

import orjson

from memstream.schemas.patch import Edge
from memstream.schemas.state import CheckpointPut, CheckpointWrites, ItemDeleted, ItemPut, ThreadDeleted
from memstream.streams.projection import names
from memstream.streams.projection.jsontext import json_text
from memstream.streams.projection.names import Ref, log_order
from memstream.streams.projection.rows import Rows


def item_put(rows: Rows, data: ItemPut) -> None:
    """The value of a key."""
    props = {
        "state_key": data.key,
        "value": orjson.dumps(data.value).decode(),
        "deleted": False,
        "ttl_seconds": data.ttl_seconds,
        "time": rows.origin.time,
    }
    rows.share(names.state_item(rows.origin.scope, data.key), "value", props, key=log_order(rows.origin))


def item_deleted(rows: Rows, data: ItemDeleted) -> None:
    """The key has no value any more."""
    props = {"state_key": data.key, "deleted": True, "time": rows.origin.time}
    rows.share(names.state_item(rows.origin.scope, data.key), "value", props, key=log_order(rows.origin))


def checkpoint_put(rows: Rows, data: CheckpointPut) -> None:
    """A checkpoint of a thread."""
    props = {
        "kind": "checkpoint",
        "thread_id": data.thread_id,
        "namespace": data.namespace,
        "checkpoint_id": data.checkpoint_id,
        "parent_id": data.parent_id,
        "encoding": data.encoding,
        "blob": data.blob,
        "log": log_order(rows.origin),
        "time": rows.origin.time,
        "metadata": json_text(data.metadata),
    }
    ref = names.checkpoint(rows.origin.scope, data.thread_id, data.namespace, data.checkpoint_id)
    rows.share(ref, "put", props, key=log_order(rows.origin))
    rows.edge(Edge.HAS_CHECKPOINT, _thread(rows, data.thread_id), ref)


def checkpoint_writes(rows: Rows, data: CheckpointWrites) -> None:
    """What a task wrote, beside its checkpoint."""
    writes = [{"channel": w.channel, "encoding": w.encoding, "blob": w.blob} for w in data.writes]
    props = {
        "kind": "writes",
        "thread_id": data.thread_id,
        "namespace": data.namespace,
        "checkpoint_id": data.checkpoint_id,
        "task_id": data.task_id,
        "writes": orjson.dumps(writes).decode(),
        "log": log_order(rows.origin),
        "time": rows.origin.time,
    }
    ref = names.checkpoint(rows.origin.scope, data.thread_id, data.namespace, data.checkpoint_id, data.task_id)
    rows.share(ref, "put", props, key=log_order(rows.origin))
    rows.edge(Edge.HAS_CHECKPOINT, _thread(rows, data.thread_id), ref)


def thread_deleted(rows: Rows, data: ThreadDeleted) -> None:
    """The checkpoints of a thread that stand before this in the log are gone."""
    props = {"thread_id": data.thread_id, "deleted_before": log_order(rows.origin), "time": rows.origin.time}
    rows.share(names.thread(rows.origin.scope, data.thread_id), "deleted", props, key=log_order(rows.origin))


def _thread(rows: Rows, thread_id: str) -> Ref:
    ref = names.thread(rows.origin.scope, thread_id)
    return rows.share(ref, "named", {"thread_id": thread_id}, key=log_order(rows.origin), first=True)
