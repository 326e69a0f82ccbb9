"""One `memstream up` or `down` at a time for a data directory; the next one waits for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from memstream.schemas.errors import StackError

if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def held(path: Path, report: Callable[[str], None], timeout: float = 900.0) -> Iterator[None]:
    """Hold the lock while the body runs; the system frees it if we die. Raises StackError after `timeout` seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout
    with path.open("wb") as file:
        waiting = False
        while not _try_lock(file):
            if not waiting:
                report("waiting for another `memstream` that is starting or stopping this stack")
                waiting = True
            if time.monotonic() > deadline:
                raise StackError(f"Another `memstream up` or `down` has held {path} for {timeout:.0f} s. Is it stuck?")
            time.sleep(0.2)
        yield
