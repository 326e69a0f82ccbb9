"""What former versions of event types looked like. Topics keep them for ever, so nothing here is ever edited."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from memstream.schemas.base import Data, Id, Model, Text


class ServedV1(Model):
    """One thing that recall served, with the rank written out."""

    kind: Id
    id: Id
    rank: Annotated[int, Field(ge=1)]
    score: float | None = None


class RecalledV1(Data):
    """What one recall served, the rank of each written out: two could claim the same, and one could be left out."""

    recall_id: Id
    query: Text
    items: Annotated[tuple[ServedV1, ...], Field(strict=False, max_length=1_000)]
    agent_id: Id | None = None
    session_id: Id | None = None

    def key_part(self) -> str:
        """The session, else the recall."""
        return self.session_id or self.recall_id
