"""A patch: the whole meaning of one event, as rows for the graph. What `streams` makes and `sinks` applies.

A patch is a pure function of its event and of what its session said before it in the log. Applying is a fold: the same
set of patches gives the same graph in any order, with any duplicates (docs/graph.md has the rules for each row).
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import orjson
from pydantic import Field, ValidationError

from memstream.schemas import patch_versions
from memstream.schemas.base import Model
from memstream.schemas.errors import InvalidPatch
from memstream.schemas.extraction import EntityType
from memstream.schemas.limits import MAX_PATCH_BYTES

PATCH_VERSION = patch_versions.VERSION
# The generation of a patch that only says that its event was refused. Extractors begin with 1.
REFUSED_GENERATION = 0


class Label(StrEnum):
    """The nodes that a patch may write. The sink makes Fact, Preference and the service nodes itself."""

    CONVERSATION = "Conversation"
    MESSAGE = "Message"
    DOCUMENT = "Document"
    PASSAGE = "Passage"
    ENTITY = "Entity"
    TRACE = "ReasoningTrace"
    STEP = "ReasoningStep"
    TOOL_CALL = "ToolCall"
    TOOL = "Tool"
    AGENT = "Agent"
    RECALL = "Recall"
    RATING = "Rating"
    MEMORY = "Memory"
    TAG = "Tag"
    BOARD_ITEM = "BoardItem"
    STATE_ITEM = "StateItem"
    CHECKPOINT = "Checkpoint"
    LINK = "Link"


SOURCES = frozenset({Label.MESSAGE, Label.DOCUMENT, Label.TOOL_CALL, Label.BOARD_ITEM})


class Edge(StrEnum):
    """The edges that a patch may write. The sink makes FIRST_MESSAGE, NEXT_MESSAGE, ABOUT and the like itself."""

    HAS_MESSAGE = "HAS_MESSAGE"
    HAS_DOCUMENT = "HAS_DOCUMENT"
    HAS_PASSAGE = "HAS_PASSAGE"
    REPLY_TO = "REPLY_TO"
    MENTIONS = "MENTIONS"
    INITIATED_BY = "INITIATED_BY"
    HAS_TRACE = "HAS_TRACE"
    HAS_STEP = "HAS_STEP"
    HAS_TOOL_CALL = "HAS_TOOL_CALL"
    INSTANCE_OF = "INSTANCE_OF"
    CALLED_BY = "CALLED_BY"
    BY_AGENT = "BY_AGENT"
    TOUCHED = "TOUCHED"
    SERVED = "SERVED"
    RATES = "RATES"
    TAGGED = "TAGGED"
    HAS_CHECKPOINT = "HAS_CHECKPOINT"


class Verdict(StrEnum):
    """What became of an event. Every event gives one patch, if only with its verdict.

    What is unreadable was sealed, and its key is destroyed.
    """

    APPLIED = "applied"
    EMPTY = "empty"
    DEAD_LETTERED = "dead_lettered"
    UNREADABLE = "unreadable"


class Origin(Model):
    """The event that a patch is of, and where it lies in the log.

    `key` is the event's identity (ids.event_key); `time`, `recorded_at` are UTC texts (ids.utc_text); `order` is the
    event's place among what was said (ids.order_key).
    """

    scope: str
    source: str
    id: str
    key: str
    type: str
    topic: str
    partition: int
    offset: int
    time: str
    recorded_at: str
    order: str
    subject: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    traceparent: str | None = None


class Vector(Model):
    """An embedding: the model's name and 16-bit floats, little-endian, in base64."""

    model: str
    packed: str

    @classmethod
    def of(cls, model: str, values: Sequence[float]) -> Vector:
        """Pack the values of an embedding."""
        return cls(model=model, packed=base64.b64encode(struct.pack(f"<{len(values)}e", *values)).decode())

    def values(self) -> list[float]:
        """The values, as floats."""
        raw = base64.b64decode(self.packed)
        return list(struct.unpack(f"<{len(raw) // 2}e", raw))


class NodeRow(Model):
    """What an event says of one node.

    An `owned` node is made by this event alone. Others are shared: each event's say is kept, and of all that was said
    into one `part` the row with the greatest `key` (the least, where `first`) gives the node its `props`. Parts
    of a label have props of their own. `labels` are further labels (an entity's type). A node with no say left is a
    stub: kept for its edges, passed over by reads.
    """

    label: Label
    id: str
    part: str = ""
    key: str = ""
    owned: bool = False
    first: bool = False
    labels: tuple[str, ...] = ()
    props: dict[str, Any] = Field(default_factory=dict)
    vector: Vector | None = None


class EdgeRow(Model):
    """An edge that this event alone makes. Both ends are made as stubs where they are not there yet.

    `used` are the keys of events of the same session without which it could not be read: where one is erased, the
    edge goes.
    """

    type: Edge
    from_label: Label
    from_id: str
    to_label: Label
    to_id: str
    props: dict[str, Any] = Field(default_factory=dict)
    used: tuple[str, ...] = ()


class AssertionKind(StrEnum):
    """What an assertion folds into."""

    FACT = "fact"
    PREFERENCE = "preference"


class AssertionRow(Model):
    """What a source says: one value for a slot, at a place in the order of all that is said of it.

    `slot` is the hash of (scope, subject, predicate) and, for a multi-valued predicate, the object; `claim` the hash of
    (scope, slot, value). `value_key` is the normalised value or the object entity's id. `said_at` is the event's time.
    A preference's slot is (holder, object, context), its value the polarity (and what it is preferred over).
    """

    id: str
    ordinal: int
    kind: AssertionKind = AssertionKind.FACT
    slot: str
    claim: str
    subject: str
    subject_name: str
    subject_type: EntityType
    predicate: str
    single: bool
    object: str | None = None
    object_name: str | None = None
    object_type: EntityType | None = None
    value: str | None = None
    value_key: str
    negated: bool = False
    valid_from: str | None = None
    valid_to: str | None = None
    said_at: str
    key: str
    confidence: float = 1.0
    open: bool = False
    text: str
    source_label: Label | None = None
    source_id: str | None = None
    used: tuple[str, ...] = ()
    rule: str = ""
    props: dict[str, Any] = Field(default_factory=dict)
    vector: Vector | None = None


class RetractionRow(Model):
    """Takes an assertion out of its fold from `recorded_at` on: by its id, or by slot and claim said before a time."""

    id: str
    assertion: str | None = None
    slot: str | None = None
    claim: str | None = None
    said_before: str | None = None


class LinkRow(Model):
    """Says that two entities are one (`same`) or are not; the greatest `key` of a pair decides. `a` < `b` by id."""

    a: str
    b: str
    same: bool
    key: str
    reason: str = ""
    used: tuple[str, ...] = ()


class SameStatus(StrEnum):
    """What two entities are to each other: one, or for a person to say whether they are."""

    ACCEPTED = "accepted"
    PROPOSED = "proposed"


class ResolvedRow(Model):
    """What resolution says of two entities of the graph as it was: without a status that it says nothing any more.

    It stands behind all that events say of the pair; of two such rows the later one in the log counts. `a` < `b` by id.
    """

    a: str
    b: str
    status: SameStatus | None = None
    score: float = 0.0
    reason: str = ""


class ErasureRow(Model):
    """Forget: events by key, session, subject or entity, or the whole scope, first appended at or before `until`.

    With `children` the scopes below are reached too, through the copies of the patch in every partition.
    """

    kind: str
    ids: tuple[str, ...] = ()
    until: str
    children: bool = False


class Patch(Model):
    """All rows of one event. `cut` says in words what was left out of a monstrous event.

    `missing` names extractors that did not answer when it was made; a patch of a higher generation makes it good.
    `copy_below` marks the copies of an erasure that reaches scopes below its own: one lies in every partition.
    One with `resolved` rows is of no event: it is derived from the graph, has no other rows, and leaves no Event.
    """

    version: int = PATCH_VERSION
    generation: int
    extractor: str
    origin: Origin
    verdict: Verdict = Verdict.APPLIED
    reason: str | None = None
    nodes: tuple[NodeRow, ...] = Field(default=(), strict=False)
    edges: tuple[EdgeRow, ...] = Field(default=(), strict=False)
    assertions: tuple[AssertionRow, ...] = Field(default=(), strict=False)
    retractions: tuple[RetractionRow, ...] = Field(default=(), strict=False)
    links: tuple[LinkRow, ...] = Field(default=(), strict=False)
    erasures: tuple[ErasureRow, ...] = Field(default=(), strict=False)
    resolved: tuple[ResolvedRow, ...] = Field(default=(), strict=False)
    cut: tuple[str, ...] = Field(default=(), strict=False)
    missing: tuple[str, ...] = Field(default=(), strict=False)
    copy_below: bool = False

    def encode(self) -> bytes:
        """The record's value: JSON that a person can read, without what is at its default.

        Raises InvalidPatch where it would be larger than the limit.
        """
        value = orjson.dumps(self.model_dump(mode="json", exclude_defaults=True) | {"version": self.version})
        if len(value) > MAX_PATCH_BYTES:
            raise InvalidPatch(
                f"the patch of event {self.origin.id!r} has {len(value):,} bytes, more than {MAX_PATCH_BYTES:,}"
            )
        return value

    @classmethod
    def decode(cls, value: bytes | None) -> Patch:
        """The patch of a record, one of a former version as one of today. Raises InvalidPatch with what is wrong."""
        if not value:
            raise InvalidPatch("the record has no value: it is no patch")
        try:
            patch = cls.model_validate_json(value)
            if patch.version == PATCH_VERSION:
                return patch
        except ValidationError as error:
            former = patch_versions.as_present(value)
            if former is None:
                raise _invalid(error) from error
        else:
            former = patch_versions.as_present(value)
        try:
            return cls.model_validate_json(former or value)
        except ValidationError as error:
            raise _invalid(error) from error


def _invalid(error: ValidationError) -> InvalidPatch:
    first = error.errors(include_url=False)[0]
    path = ".".join(str(p) for p in first["loc"])
    where = f"patch field {path!r}" if path else "the patch"
    return InvalidPatch(f"{where}: {first['msg']}")
