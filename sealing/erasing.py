"""Which keys an erasure destroys: those of a person or of a scope, where it has no time limit.

With a limit, or for a session, an entity or single events, the keys stay: what is not erased is sealed with them, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from memstream.schemas.events import Event
from memstream.schemas.statement import Erased, ErasureKind
from memstream.sealing.errors import KeysReadOnly
from memstream.sealing.keys import KeyStore


def destroys_keys(erased: Erased) -> bool:
    """Whether nothing of what these keys seal is left by an erasure."""
    return erased.until is None and erased.kind in {ErasureKind.USER, ErasureKind.SCOPE}


def destroy_for(store: KeyStore, scope: str, erased: Erased) -> tuple[str, ...]:
    """Destroy the keys of whom an erasure names, once it is in the log; their ids. Raises KeysReadOnly."""
    if not destroys_keys(erased):
        return ()
    subjects = [None] if erased.kind is ErasureKind.SCOPE else list(erased.ids)
    return tuple(one for who in subjects for one in store.destroy(scope, who, below=erased.children).ids)


def destroy_with(store: KeyStore, event: Event) -> Callable[[], None] | None:
    """What is due when the broker has acked an event; None for all but erasures that destroy keys."""
    if not isinstance(event.data, Erased) or not destroys_keys(event.data):
        return None
    return partial(_destroy, store, event.scope, event.data)


def _destroy(store: KeyStore, scope: str, erased: Erased) -> None:
    try:
        destroy_for(store, scope, erased)
    except KeysReadOnly as error:
        raise KeysReadOnly(f"the erasure is in the log, and the graph forgets; but {error}") from error
