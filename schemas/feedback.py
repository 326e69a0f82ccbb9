"""What helped: what recall served, and how it was rated."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from memstream.schemas.base import Data, Id, Ids, Metadata, Model, Text


class Served(Model):
    """One thing that recall served: its kind (message, fact, entity, card …) and id."""

    kind: Id
    id: Id
    score: float | None = None


class Recalled(Data):
    """What one recall served, the best first. Published by the query service."""

    recall_id: Id
    query: Text
    items: Annotated[tuple[Served, ...], Field(strict=False, max_length=1_000)]
    agent_id: Id | None = None
    session_id: Id | None = None

    def key_part(self) -> str:
        """The session, else the recall."""
        return self.session_id or self.recall_id


class TargetKind(StrEnum):
    """What a rating without a recall is of."""

    TRACE = "trace"
    STEP = "step"
    TOOL_CALL = "tool_call"
    SESSION = "session"
    MESSAGE = "message"
    MEMORY = "memory"


class Target(Model):
    """The thing rated: by the id its publisher gave it (for a message: its event id)."""

    kind: TargetKind
    id: Id
    source: Id | None = None


class Rated(Data):
    """How a recall, or a run, was rated. `reward` is a number on the rater's own scale (higher is better)."""

    recall_id: Id | None = None
    target: Target | None = None
    used: Ids = ()
    useful: Ids = ()
    not_useful: Ids = ()
    neutral: Ids = ()
    update_unrated_used: bool = True
    reward: float | None = None
    comment: Text | None = None
    agent_id: Id | None = None
    session_id: Id | None = None
    metadata: Metadata = Field(default_factory=dict)

    @model_validator(mode="after")
    def _rates_something(self) -> Rated:
        if not (self.recall_id or self.target or self.used or self.useful or self.not_useful or self.neutral):
            raise ValueError(
                "rates nothing: give 'recall_id', 'target' or ids in 'used', 'useful', 'not_useful', 'neutral'"
            )
        return self

    def key_part(self) -> str:
        """The session, else what is rated."""
        return self.session_id or self.recall_id or (self.target.id if self.target else "")
