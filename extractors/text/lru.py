"""A bounded memo: what was computed for a key not long ago is not computed again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Keeps the `size` entries that were used last."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        """How many entries are kept now."""
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The value kept for `key`, which thereby becomes the youngest; None where there is none."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Keep `value`; the entry that was not used for the longest time goes where there is no room."""
        if self._size <= 0:
            return
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)
