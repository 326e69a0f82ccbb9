"""What is stated outright: entities, facts, preferences, cards, links, and what takes them back."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from memstream.schemas.base import (
    Confidence,
    Data,
    EntityRef,
    EventRef,
    Id,
    Ids,
    JsonObject,
    Metadata,
    Model,
    Moment,
    Name,
    Names,
    ShortText,
    ShortTexts,
    Text,
    When,
)
from memstream.schemas.extraction import EntityType, Polarity
from memstream.schemas.tools import Environment


class EntityStated(Data):
    """An entity with a description and other names."""

    name: Name
    type: EntityType
    subtype: ShortText | None = None
    description: Text | None = None
    aliases: Names = ()
    agent_id: Id | None = None
    metadata: Metadata = Field(default_factory=dict)


class FactStated(Data):
    """A triple whose object is a literal value (`value`) or an entity (`object`): exactly one of the two."""

    subject: EntityRef
    predicate: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    object: EntityRef | None = None
    value: ShortText | None = None
    negated: bool = False
    valid_from: When | None = None
    valid_to: When | None = None
    confidence: Confidence = 1.0
    agent_id: Id | None = None
    metadata: Metadata = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_object(self) -> FactStated:
        if (self.object is None) == (self.value is None):
            raise ValueError("needs exactly one of 'object' (an entity) and 'value' (a literal)")
        return self


class RelationshipStated(Data):
    """A triple between two entities."""

    subject: EntityRef
    predicate: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    object: EntityRef
    negated: bool = False
    valid_from: When | None = None
    valid_to: When | None = None
    confidence: Confidence = 1.0
    agent_id: Id | None = None
    metadata: Metadata = Field(default_factory=dict)


class PreferenceStated(Data):
    """A taste or a standing instruction. Without a `holder` it is the scope's own."""

    holder: EntityRef
    polarity: Polarity
    object: ShortText
    over: ShortText | None = None
    context: ShortText | None = None
    category: ShortText | None = None
    confidence: Confidence = 1.0
    agent_id: Id | None = None
    metadata: Metadata = Field(default_factory=dict)


class CardKind(StrEnum):
    """The three kinds of what is learned (Tulving's terms)."""

    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    EPISODIC = "episodic"


class CardForm(StrEnum):
    """The shape of a card."""

    CONCEPT = "concept"
    PATTERN = "pattern"
    SKILL = "skill"
    EPISODE = "episode"
    CASE = "case"


class CardPolarity(StrEnum):
    """Do, or do not."""

    POSITIVE = "positive"
    NEGATIVE = "negative"


class Card(Data):
    """What was learned. Without `card_id` its id comes from its normalised content."""

    kind: CardKind
    title: ShortText
    content: Text
    card_id: Id | None = None
    form: CardForm | None = None
    polarity: CardPolarity = CardPolarity.POSITIVE
    summary: Text | None = None
    tags: Names = ()
    symptoms: ShortTexts = ()
    when_to_use: Text | None = None
    how_to_apply: Text | None = None
    gotchas: ShortTexts = ()
    evidence: ShortTexts = ()
    applies_to: Environment | None = None
    outcome: Text | None = None
    confidence: Confidence = 1.0
    utility: Confidence | None = None
    agent_id: Id | None = None
    task_id: Id | None = None
    error_signatures: Ids = ()
    resolved_by: Ids = ()
    negative_memories: Ids = ()
    metadata: Metadata = Field(default_factory=dict)


class Link(Data):
    """An edge between any two ids, of a relation from the allow-list."""

    from_id: Id
    to_id: Id
    relation: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")]
    properties: Annotated[JsonObject, Field(max_length=50)] = Field(default_factory=dict)
    agent_id: Id | None = None


class AssertionTarget(Model):
    """The assertion that is meant: by event and ordinal, or by what it says (and said before when)."""

    event: EventRef | None = None
    ordinal: Annotated[int, Field(ge=0)] | None = None
    subject: EntityRef | None = None
    predicate: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")] | None = None
    object: EntityRef | None = None
    value: ShortText | None = None
    said_before: Moment | None = None

    @model_validator(mode="after")
    def _one_way(self) -> AssertionTarget:
        by_event = self.event is not None and self.ordinal is not None
        by_saying = self.subject is not None and self.predicate is not None
        by_saying = by_saying and (self.object is None) != (self.value is None)
        if by_event == by_saying:
            raise ValueError(
                "needs either 'event' and 'ordinal', or 'subject', 'predicate' and one of 'object', 'value'"
            )
        return self


class Corrected(Data):
    """The target was wrong, and this is right: the target leaves the fold, the replacement enters it."""

    target: AssertionTarget
    replacement: FactStated
    reason: ShortText | None = None
    agent_id: Id | None = None


class Retracted(Data):
    """The target was wrong: it leaves the fold from now on; what was known before stays readable as such."""

    target: AssertionTarget
    reason: ShortText | None = None
    agent_id: Id | None = None


class Merged(Data):
    """Two entities are one."""

    a: EntityRef
    b: EntityRef
    reason: ShortText | None = None
    agent_id: Id | None = None


class Unmerged(Data):
    """Two entities are not one."""

    a: EntityRef
    b: EntityRef
    reason: ShortText | None = None
    agent_id: Id | None = None


class ErasureKind(StrEnum):
    """What an erasure names."""

    EVENT = "event"
    MESSAGE = "message"
    SESSION = "session"
    USER = "user"
    ENTITY = "entity"
    SCOPE = "scope"


class Erased(Data):
    """Forget for real. `ids` are event ids, session ids, subjects or entity ids as `kind` says, never text.

    `until` bounds it to what was first appended at or before then; without it: up to the erasure itself. With
    `children` it reaches the scopes below as well: a whole scope, a person, a session.
    """

    kind: ErasureKind
    ids: Ids = ()
    source: Id | None = None
    until: Moment | None = None
    children: bool = False
    reason: ShortText | None = None

    @model_validator(mode="after")
    def _names_something(self) -> Erased:
        if (self.kind is ErasureKind.SCOPE) == bool(self.ids):
            raise ValueError("needs 'ids', unless 'kind' is scope, which takes none")
        if self.children and self.kind not in (ErasureKind.SCOPE, ErasureKind.USER, ErasureKind.SESSION):
            raise ValueError(f"an id of the kind {self.kind.value} is of one scope: leave out 'children'")
        return self
