"""What agents keep under a key: items and checkpoints. A stable key overwrites; its history stays."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from memstream.schemas.base import Data, Id, JsonObject, Metadata, Model, Text


class ItemPut(Data):
    """The value of a key."""

    key: Id
    value: JsonObject = Field(default_factory=dict)
    ttl_seconds: Annotated[int, Field(gt=0)] | None = None

    def key_part(self) -> str:
        """The key keeps its puts in order."""
        return self.key


class ItemDeleted(Data):
    """The key has no value any more."""

    key: Id

    def key_part(self) -> str:
        """The key keeps its puts in order."""
        return self.key


class CheckpointPut(Data):
    """A checkpoint of a thread; `blob` is its serialised form in base64, `encoding` names how."""

    thread_id: Id
    checkpoint_id: Id
    namespace: str = ""
    parent_id: Id | None = None
    encoding: Id
    blob: Text
    metadata: Metadata = Field(default_factory=dict)

    def key_part(self) -> str:
        """The thread keeps its checkpoints in order."""
        return self.thread_id


class PendingWrite(Model):
    """One write of a task into a channel."""

    channel: Id
    encoding: Id
    blob: Text


class CheckpointWrites(Data):
    """Writes of a task that belong to a checkpoint."""

    thread_id: Id
    checkpoint_id: Id
    task_id: Id
    namespace: str = ""
    writes: Annotated[tuple[PendingWrite, ...], Field(strict=False, max_length=1_000)]

    def key_part(self) -> str:
        """The thread keeps its checkpoints in order."""
        return self.thread_id


class ThreadDeleted(Data):
    """A thread and its checkpoints are gone."""

    thread_id: Id

    def key_part(self) -> str:
        """The thread keeps its checkpoints in order."""
        return self.thread_id
