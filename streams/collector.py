"""Python's search for cycles, made rare where a process handles batches of many small objects.

What a batch makes is freed by counting references as soon as nobody needs it. The search walks over all of it several
times while a batch is under way, finds nothing, and took a quarter of the sink's time.
"""

from __future__ import annotations

import gc

# One search for so many objects that came and did not go: about what a thousand patches are made of. The older
# generations follow each twenty times as seldom.
_THRESHOLDS = (100_000, 20, 20)


def search_seldom() -> None:
    """Never look again through what is there now, and seldom through what comes. Call it once a process is ready."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
