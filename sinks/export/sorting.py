"""Sorting more lines than memory should hold: sorted runs go to a temporary file, and are merged when read."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

from memstream.sinks.export.form import Line, read_line

LIMIT = 16_000_000  # bytes of text held in memory
_OVERHEAD = 900  # of a line: its key and its objects


class Sorter:
    """Takes lines in any order and gives them back in theirs, once. Closes its files at the end of a `with`."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._held: list[Line] = []
        self._size = 0
        self._runs: list[BinaryIO] = []

    def add(self, line: Line) -> None:
        """Keep a line."""
        self._held.append(line)
        self._size += len(line.text) + _OVERHEAD
        if self._size > self._limit:
            self._spill()

    def sorted(self) -> Iterator[Line]:
        """All lines, in order."""
        self._held.sort()
        if not self._runs:
            return iter(self._held)
        return heapq.merge(*map(_lines, self._runs), self._held)

    def clear(self) -> None:
        """Forget all."""
        for run in self._runs:
            run.close()
        self._held, self._size, self._runs = [], 0, []

    def _spill(self) -> None:
        self._held.sort()
        run = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed by clear
        run.writelines(line.text + b"\n" for line in self._held)
        run.seek(0)
        self._runs.append(run)
        self._held, self._size = [], 0

    def __enter__(self) -> Sorter:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()


def _lines(run: BinaryIO) -> Iterator[Line]:
    return (read_line(text.rstrip(b"\n")) for text in run)
