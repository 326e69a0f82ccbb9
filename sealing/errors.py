"""What goes wrong with keys and seals."""

from __future__ import annotations

from memstream.schemas.errors import FatalError, PoisonError, UsageError


class SealBroken(PoisonError):
    """Sealed bytes that were altered, cut, or moved from another place."""


class KeyMissing(FatalError):
    """No store of keys is set, or it does not know a key: passing over what it seals would lose it in silence."""


class KeysReadOnly(UsageError):
    """The keys lie where only an operator can make or destroy them; the message says what to do there."""
