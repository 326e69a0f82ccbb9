"""Methods for what is shared on a board and for what agents keep under a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from memstream.client.minting import Envelope, Handed, Methods, choice
from memstream.schemas import board, state
from memstream.schemas.board import ItemKind
from memstream.schemas.errors import InvalidEvent, Reason
from memstream.schemas.state import PendingWrite


class BoardMethods(Methods[Handed]):
    """Events of the board topic. Whoever claims, releases or answers is named: by the call, or by the publisher."""

    def posted(
        self,
        item_id: str,
        kind: str | ItemKind,
        text: str,
        *,
        agent_id: str | None = None,
        reply_to: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """Something is put on the board: `kind` is question, task, finding or note."""
        return self._emit(
            board.Posted,
            envelope,
            item_id=item_id,
            kind=choice(ItemKind, kind, "kind"),
            text=text,
            agent_id=self._agent(agent_id),
            reply_to=reply_to,
            metadata=dict(metadata or {}),
        )

    def claimed(
        self, item_id: str, *, lease_seconds: int = 900, agent_id: str | None = None, **envelope: Unpack[Envelope]
    ) -> Handed:
        """An agent takes an item on, until the lease runs out."""
        return self._emit(
            board.Claimed, envelope, item_id=item_id, agent_id=self._who(agent_id), lease_seconds=lease_seconds
        )

    def released(self, item_id: str, *, agent_id: str | None = None, **envelope: Unpack[Envelope]) -> Handed:
        """An agent gives an item back."""
        return self._emit(board.Released, envelope, item_id=item_id, agent_id=self._who(agent_id))

    def answered(
        self,
        item_id: str,
        text: str,
        *,
        agent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """An agent answers an item."""
        return self._emit(
            board.Answered,
            envelope,
            item_id=item_id,
            agent_id=self._who(agent_id),
            text=text,
            metadata=dict(metadata or {}),
        )

    def closed(
        self,
        item_id: str,
        *,
        agent_id: str | None = None,
        resolution: str | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """An item is done with."""
        return self._emit(
            board.Closed, envelope, item_id=item_id, agent_id=self._agent(agent_id), resolution=resolution
        )

    def _who(self, given: str | None) -> str:
        agent_id = self._agent(given)
        if agent_id is None:
            raise InvalidEvent(Reason.MISSING_FIELD, "no agent_id: give the publisher one, or the call")
        return agent_id


class StateMethods(Methods[Handed]):
    """Events of the state topic."""

    def item_put(
        self, key: str, value: Mapping[str, Any], *, ttl_seconds: int | None = None, **envelope: Unpack[Envelope]
    ) -> Handed:
        """The value of a key. Putting again overwrites; the history stays."""
        return self._emit(state.ItemPut, envelope, key=key, value=dict(value), ttl_seconds=ttl_seconds)

    def item_deleted(self, key: str, **envelope: Unpack[Envelope]) -> Handed:
        """The key has no value any more."""
        return self._emit(state.ItemDeleted, envelope, key=key)

    def checkpoint_put(
        self,
        thread_id: str,
        checkpoint_id: str,
        blob: str,
        *,
        encoding: str,
        namespace: str = "",
        parent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """A checkpoint of a thread: `blob` is base64, `encoding` names what it holds."""
        return self._emit(
            state.CheckpointPut,
            envelope,
            thread_id=thread_id,
            checkpoint_id=checkpoint_id,
            namespace=namespace,
            parent_id=parent_id,
            encoding=encoding,
            blob=blob,
            metadata=dict(metadata or {}),
        )

    def checkpoint_writes(
        self,
        thread_id: str,
        checkpoint_id: str,
        task_id: str,
        writes: Sequence[PendingWrite],
        *,
        namespace: str = "",
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """Writes of a task that belong to a checkpoint."""
        return self._emit(
            state.CheckpointWrites,
            envelope,
            thread_id=thread_id,
            checkpoint_id=checkpoint_id,
            task_id=task_id,
            namespace=namespace,
            writes=tuple(writes),
        )

    def thread_deleted(self, thread_id: str, **envelope: Unpack[Envelope]) -> Handed:
        """A thread and its checkpoints are gone."""
        return self._emit(state.ThreadDeleted, envelope, thread_id=thread_id)
