"""What a key is, and what a store of keys does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

SECRET_BYTES = 32
ID_BYTES = 12


@dataclass(frozen=True, slots=True)
class Key:
    """A secret and its id, which is in clear in all that it seals."""

    id: str
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key as people see it: whose it is, when it was made, and when it was destroyed."""

    id: str
    scope: str
    subject: str
    generation: int
    made: str
    destroyed: str | None = None


@dataclass(frozen=True, slots=True)
class Destroyed:
    """Keys that are destroyed now, and their ids."""

    keys: tuple[KeyRow, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Their ids."""
        return tuple(row.id for row in self.keys)


class KeyStore(Protocol):
    """Keys by id and by whose they are. Safe from several threads; destructions by other processes are noticed."""

    def current(self, scope: str, subject: str = "") -> Key:
        """The key under which to seal what is about a subject; made on first use, anew after a destruction.

        Raises KeysReadOnly where there is none and none can be made, TransientError where the store does not answer.
        """
        ...

    def get(self, ids: Sequence[str]) -> list[Key] | None:
        """The keys of these ids; None where one of them is destroyed.

        Raises KeyMissing where one was never here.
        """
        ...

    def destroy(self, scope: str, subject: str | None, *, below: bool = False) -> Destroyed:
        """Destroy all generations of a subject's key, or of all keys of a scope (`subject` None); `below`: also below.

        Raises KeysReadOnly where an operator has to do it.
        """
        ...

    def rows(self, scope: str | None = None, *, below: bool = False) -> list[KeyRow]:
        """All keys, or those of a scope, the destroyed ones too."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...
