"""What is shared on a board: asked, claimed, answered. One log orders a board, so one holder has a claim."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from memstream.schemas.base import Data, Id, Metadata, Text


class ItemKind(StrEnum):
    """What is posted."""

    QUESTION = "question"
    TASK = "task"
    FINDING = "finding"
    NOTE = "note"


class Posted(Data):
    """Something is put on the board."""

    item_id: Id
    kind: ItemKind
    text: Text
    agent_id: Id | None = None
    reply_to: Id | None = None
    metadata: Metadata = Field(default_factory=dict)


class Claimed(Data):
    """An agent takes an item on, until the lease runs out."""

    item_id: Id
    agent_id: Id
    lease_seconds: Annotated[int, Field(gt=0, le=604_800)]


class Released(Data):
    """An agent gives an item back."""

    item_id: Id
    agent_id: Id


class Answered(Data):
    """An agent answers an item."""

    item_id: Id
    agent_id: Id
    text: Text
    metadata: Metadata = Field(default_factory=dict)


class Closed(Data):
    """An item is done with."""

    item_id: Id
    agent_id: Id | None = None
    resolution: Text | None = None
