"""What the events of feedback mean: what recall served, and how it was rated."""

from __future__ import annotations

import orjson

from memstream.schemas.base import EventRef
from memstream.schemas.feedback import Rated, Recalled, Target, TargetKind
from memstream.schemas.patch import Edge, Label
from memstream.streams.projection import names
from memstream.streams.projection.jsontext import json_text
from memstream.streams.projection.material import Material
from memstream.streams.projection.names import Ref
from memstream.streams.projection.rows import Rows


def recalled(rows: Rows, data: Recalled) -> None:
    """What one recall served. Items are kept by id: they may be of any kind, and gone by now."""
    items = [
        {"kind": item.kind, "id": item.id, "rank": rank, **({} if item.score is None else {"score": item.score})}
        for rank, item in enumerate(data.items, start=1)
    ]
    props = {
        "recall_id": data.recall_id,
        "query": data.query,
        "items": orjson.dumps(items).decode(),
        "agent_id": data.agent_id,
        "session_id": data.session_id,
        "time": rows.origin.time,
    }
    rows.share(names.recall(rows.origin.scope, data.recall_id), "served", props)


def rated(rows: Rows, data: Rated, material: Material) -> None:
    """One rating, and what it is of."""
    props = {
        "recall_id": data.recall_id,
        "target_kind": data.target.kind.value if data.target else None,
        "target_id": data.target.id if data.target else None,
        "used": data.used,
        "useful": data.useful,
        "not_useful": data.not_useful,
        "neutral": data.neutral,
        "update_unrated_used": data.update_unrated_used,
        "reward": data.reward,
        "comment": data.comment,
        "agent_id": data.agent_id,
        "session_id": data.session_id,
        "time": rows.origin.time,
        "metadata": json_text(data.metadata),
    }
    ref = rows.own(Ref(Label.RATING, rows.origin.key), props)
    if data.recall_id is not None:
        rows.edge(Edge.RATES, ref, names.recall(rows.origin.scope, data.recall_id))
    target = _target(material, data.target) if data.target is not None else None
    if target is not None:
        rows.edge(Edge.RATES, ref, target)


def _target(material: Material, target: Target) -> Ref | None:
    """The node that is rated. A step has its id inside its trace only, so it is kept by that id and has no edge."""
    scope = material.event.scope
    if target.kind is TargetKind.MESSAGE:
        return names.message(material.event, EventRef(id=target.id, source=target.source))
    named = {
        TargetKind.TRACE: names.trace,
        TargetKind.TOOL_CALL: names.call,
        TargetKind.SESSION: names.conversation,
        TargetKind.MEMORY: names.card,
    }.get(target.kind)
    return named(scope, target.id) if named is not None else None
