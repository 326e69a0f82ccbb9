"""What the events of a conversation mean: messages, sessions, documents."""

from __future__ import annotations

from typing import Any

from memstream.schemas.conversation import Document, Message, Role, SessionEnded, SessionStarted
from memstream.schemas.patch import Edge, Label
from memstream.streams.projection import names
from memstream.streams.projection.jsontext import json_text
from memstream.streams.projection.material import Findings, Material
from memstream.streams.projection.names import Ref
from memstream.streams.projection.rows import Rows
from memstream.streams.projection.said import add_extraction
from memstream.streams.projection.speakers import document_speaker, message_speaker


def session(rows: Rows, session_id: str) -> Ref:
    """The session was seen by this event: its first time is the earliest of all."""
    ref = names.conversation(rows.origin.scope, session_id)
    return rows.share(ref, "seen", {"session_id": session_id, "first_time": rows.origin.time}, first=True)


def message(rows: Rows, data: Message, material: Material, findings: Findings) -> None:
    """A message in its session, and what it says."""
    cut = material.large is not None and material.large.whole is not None
    text = material.large.text if material.large is not None else data.content
    props = _common(rows) | {
        "session_id": data.session_id,
        "role": data.role.value,
        "name": data.name,
        "text": text,
        "user_id": data.user_id,
        "agent_id": data.agent_id,
        "tool_call_id": data.tool_call_id,
        "recalled": data.recalled,
        "speaker": None if data.role is Role.TOOL else message_speaker(material.event, data),
        "offload": material.handle,
        "result_size": material.large.size if cut and material.large else None,
        "metadata": json_text(data.metadata),
    }
    ref = rows.own(Ref(Label.MESSAGE, rows.origin.key), props, findings.vectors.get(text))
    rows.edge(Edge.HAS_MESSAGE, session(rows, data.session_id), ref)
    if data.reply_to is not None:
        rows.edge(Edge.REPLY_TO, ref, names.message(material.event, data.reply_to))
    add_extraction(rows, findings.extraction, ref)


def session_started(rows: Rows, data: SessionStarted) -> None:
    """A session begins."""
    props = {
        "session_id": data.session_id,
        "title": data.title,
        "started_at": rows.origin.time,
        "ttl_seconds": data.ttl_seconds,
        "agent_id": data.agent_id,
        "user_id": data.user_id,
        "metadata": json_text(data.metadata),
    }
    rows.share(session(rows, data.session_id), "started", props)


def session_ended(rows: Rows, data: SessionEnded) -> None:
    """A session ends."""
    props = {"session_id": data.session_id, "ended_at": rows.origin.time, "reason": data.reason}
    rows.share(session(rows, data.session_id), "ended", props)


def document(rows: Rows, data: Document, material: Material, findings: Findings) -> None:
    """A document with its passages, and what they say."""
    props = _common(rows) | {
        "document_id": data.document_id,
        "title": data.title,
        "uri": data.uri,
        "text": data.text,
        "session_id": data.session_id,
        "user_id": data.user_id,
        "agent_id": data.agent_id,
        "speaker": document_speaker(material.event, data),
        "metadata": json_text(data.metadata),
    }
    ref = rows.own(Ref(Label.DOCUMENT, rows.origin.key), props)
    if data.session_id is not None:
        rows.edge(Edge.HAS_DOCUMENT, session(rows, data.session_id), ref)
    for passage in material.passages:
        own = {"document": ref.id, "number": passage.number, "text": passage.text, "start": passage.start}
        vector = findings.vectors.get(passage.text)
        rows.edge(Edge.HAS_PASSAGE, ref, rows.own(names.passage(rows.origin, passage.number), own, vector))
    add_extraction(rows, findings.extraction, ref)


def _common(rows: Rows) -> dict[str, Any]:
    origin = rows.origin
    return {"event_id": origin.id, "source": origin.source, "time": origin.time, "order": origin.order}
