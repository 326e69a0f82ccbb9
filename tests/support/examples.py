"""How many examples a property of convergence looks at: `make properties` looks at ten times as many."""

from __future__ import annotations

import os

_TIMES = int(os.environ.get("EXAMPLES_TIMES", "1"))


def examples(count: int) -> int:
    """As many as said, or a multiple of it."""
    return count * _TIMES
