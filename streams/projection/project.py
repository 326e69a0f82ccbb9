"""The whole meaning of one event as a patch: which family's function says which rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from memstream.schemas.base import Data
from memstream.schemas.board import Answered, Claimed, Closed, Posted, Released
from memstream.schemas.conversation import Document, Message, SessionEnded, SessionStarted
from memstream.schemas.errors import InvalidPatch
from memstream.schemas.feedback import Rated, Recalled
from memstream.schemas.limits import MAX_PATCH_ROWS
from memstream.schemas.patch import Patch, Verdict
from memstream.schemas.state import CheckpointPut, CheckpointWrites, ItemDeleted, ItemPut, ThreadDeleted
from memstream.schemas.statement import (
    Card,
    Corrected,
    EntityStated,
    Erased,
    FactStated,
    Link,
    Merged,
    PreferenceStated,
    RelationshipStated,
    Retracted,
    Unmerged,
)
from memstream.schemas.tools import Step, ToolCall, TraceCompleted, TraceStarted
from memstream.streams.projection import board, conversation, feedback, state, statement, tools
from memstream.streams.projection.material import Findings, Material
from memstream.streams.projection.rows import Rows

Say: TypeAlias = Callable[[Rows, Any, Material, Findings], None]

_FAMILIES: dict[type[Data], Say] = {
    Message: conversation.message,
    SessionStarted: lambda rows, data, _m, _f: conversation.session_started(rows, data),
    SessionEnded: lambda rows, data, _m, _f: conversation.session_ended(rows, data),
    Document: conversation.document,
    TraceStarted: tools.trace_started,
    Step: lambda rows, data, material, _f: tools.step(rows, data, material),
    ToolCall: lambda rows, data, material, _f: tools.tool_call(rows, data, material),
    TraceCompleted: lambda rows, data, _m, _f: tools.trace_completed(rows, data),
    Recalled: lambda rows, data, _m, _f: feedback.recalled(rows, data),
    Rated: lambda rows, data, material, _f: feedback.rated(rows, data, material),
    EntityStated: lambda rows, data, _m, _f: statement.entity(rows, data),
    RelationshipStated: lambda rows, data, _m, _f: statement.fact(rows, data),
    FactStated: lambda rows, data, _m, _f: statement.fact(rows, data),
    PreferenceStated: lambda rows, data, _m, _f: statement.preference(rows, data),
    Card: lambda rows, data, _m, findings: statement.card(rows, data, findings),
    Link: lambda rows, data, _m, _f: statement.link(rows, data),
    Corrected: lambda rows, data, material, _f: statement.corrected(rows, data, material),
    Retracted: lambda rows, data, material, _f: statement.retracted(rows, data, material),
    Merged: lambda rows, data, _m, _f: statement.merged(rows, data),
    Unmerged: lambda rows, data, _m, _f: statement.merged(rows, data),
    Erased: lambda rows, data, material, _f: statement.erased(rows, data, material),
    Posted: lambda rows, data, _m, findings: board.posted(rows, data, findings),
    Claimed: lambda rows, data, material, _f: board.claimed(rows, data, material),
    Released: lambda rows, data, _m, _f: board.released(rows, data),
    Answered: lambda rows, data, _m, findings: board.answered(rows, data, findings),
    Closed: lambda rows, data, _m, _f: board.closed(rows, data),
    ItemPut: lambda rows, data, _m, _f: state.item_put(rows, data),
    ItemDeleted: lambda rows, data, _m, _f: state.item_deleted(rows, data),
    CheckpointPut: lambda rows, data, _m, _f: state.checkpoint_put(rows, data),
    CheckpointWrites: lambda rows, data, _m, _f: state.checkpoint_writes(rows, data),
    ThreadDeleted: lambda rows, data, _m, _f: state.thread_deleted(rows, data),
}


def project(material: Material, findings: Findings, *, extractor: str, generation: int) -> Patch:
    """The patch of an event: a pure function of its arguments."""
    rows = Rows(material.origin)
    data = material.event.data
    _FAMILIES[type(data)](rows, data, material, findings)
    cut = [*material.cut, *findings.extraction.cut]
    if rows.left_out:
        cut.append(f"{rows.left_out:,} rows beyond the {MAX_PATCH_ROWS:,} of a patch were left out")
    patch = Patch(
        generation=generation,
        extractor=extractor,
        origin=material.origin,
        nodes=rows.nodes,
        edges=rows.edges,
        assertions=tuple(rows.assertions),
        retractions=tuple(rows.retractions),
        links=tuple(rows.links),
        erasures=tuple(rows.erasures),
        cut=tuple(cut),
        missing=tuple(sorted({one.extractor for one in findings.extraction.missing})),
    )
    return patch if _says_something(patch) else patch.model_copy(update={"verdict": Verdict.EMPTY})


def copy_below(patch: Patch) -> bytes | None:
    """The copy of an erasure for the scopes below its own, which may be in any partition; else None."""
    if not any(row.children for row in patch.erasures):
        return None
    return encode(patch.model_copy(update={"copy_below": True}))


def encode(patch: Patch, as_bytes: Callable[[Patch], bytes] = Patch.encode) -> bytes:
    """The bytes of a patch. Where they are too many, vectors go first, then the rows of least weight; `cut` says so."""
    try:
        return as_bytes(patch)
    except InvalidPatch:
        smaller = _without_vectors(patch)
    while True:
        try:
            return as_bytes(smaller)
        except InvalidPatch:
            if len(smaller.nodes) <= 1 and not smaller.assertions and not smaller.edges:
                raise  # one row that is too large: no event within its own limit makes it
            smaller = _halved(smaller)


def _says_something(patch: Patch) -> bool:
    return any((patch.nodes, patch.edges, patch.assertions, patch.retractions, patch.links, patch.erasures))


def _without_vectors(patch: Patch) -> Patch:
    nodes = tuple(row.model_copy(update={"vector": None}) for row in patch.nodes)
    note = "vectors were left out: the patch had too many bytes"
    return patch.model_copy(update={"nodes": nodes, "cut": (*patch.cut, note)})


def _halved(patch: Patch) -> Patch:
    note = "half of the rows were left out: the patch had too many bytes"
    update = {
        "nodes": patch.nodes[: (len(patch.nodes) + 1) // 2],
        "edges": patch.edges[: len(patch.edges) // 2],
        "assertions": patch.assertions[: len(patch.assertions) // 2],
        "cut": (*patch.cut, note),
    }
    return patch.model_copy(update=update)
