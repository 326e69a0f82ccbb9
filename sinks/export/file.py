"""Exports as files: a line of JSON that says what it is, the lines of the canonical form, and one with their digest.

Without its last line a file is cut off, and with lines that have another digest it was altered: neither is read to its
end without an error. The digest is over the lines between, so two files of equal graphs have the same one.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from memstream.schemas.errors import InvalidInput
from memstream.sinks.export.form import FORMAT, Basis, Digest, Line, read_line, row_of
from memstream.sinks.export.graph import Position

Advance = Callable[[int], None]
"""Is told how many lines there are more."""

_TOLD_EVERY = 500
_KIND = "export"


@dataclass(frozen=True, slots=True)
class Header:
    """What an export says of itself: of which scope it is (None: all), and how far the graph was."""

    project: str
    scope: str | None
    basis: Basis
    positions: tuple[Position, ...] = ()

    @classmethod
    def of(cls, scope: str | None, positions: Iterable[Position]) -> Header:
        """That of an export made here."""
        return cls(importlib.metadata.version("memstream"), scope, Basis.here(), tuple(positions))

    def encode(self) -> bytes:
        """Its line."""
        row = {
            "memstream": _KIND,
            "format": self.basis.format,
            "project": self.project,
            "scope": self.scope,
            "catalogue": self.basis.catalogue,
            **({"predicates": self.basis.own} if self.basis.own else {}),
            "positions": [asdict(one) for one in self.positions],
        }
        return orjson.dumps(row, option=orjson.OPT_SORT_KEYS)


@dataclass(frozen=True, slots=True)
class Totals:
    """What an export has, with its digest."""

    nodes: int
    edges: int
    digest: str

    @classmethod
    def of(cls, digest: Digest) -> Totals:
        """Those that were counted."""
        return cls(digest.nodes, digest.edges, digest.hex)

    @property
    def lines(self) -> int:
        """Nodes and edges together."""
        return self.nodes + self.edges


def write(out: BinaryIO, header: Header, lines: Iterable[Line], advance: Advance = lambda _: None) -> Totals:
    """Write an export. The last line is written only if all lines could be read."""
    head = header.encode()
    out.write(head + b"\n")
    digest = Digest(header.basis)
    for line in counted(lines, advance):
        digest.add(line)
        out.write(line.text + b"\n")
    totals = Totals.of(digest)
    out.write(orjson.dumps({"end": {**asdict(totals), "head": _hash(head)}}) + b"\n")
    out.flush()
    return totals


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of another only when it is whole.

    Raises InvalidInput where it can't be written.
    """
    part = path.with_name(path.name + ".part")
    try:
        file = part.open("wb")
    except OSError as error:
        raise InvalidInput(f"{path} can't be written: {error.strerror}") from error
    try:
        with file:
            yield file
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


class ExportFile:
    """An export in a file. Raises InvalidInput where it is none, or of a newer format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as file:
            self._head = file.readline().rstrip(b"\n")
        self.header = _header(path, self._head)

    def lines(self) -> Iterator[Line]:
        """All lines, in order. Raises InvalidInput at the end where the file is cut off or was altered."""
        digest = Digest(self.header.basis)
        with self._open() as file:
            file.readline()
            for number, raw in enumerate(file, start=2):
                text = raw.rstrip(b"\n")
                if text.startswith(b'{"end":'):
                    self._check(text, digest, behind=file.readline())
                    return
                line = self._line(text, number)
                digest.add(line)
                yield line
        raise InvalidInput(
            f"{self.path} is cut off: its last line, with the counts and the digest, is not there. Export again"
        )

    def check(self, advance: Advance = lambda _: None) -> Totals:
        """Read all of it. Raises InvalidInput as `lines` does."""
        digest = Digest(self.header.basis)
        for line in counted(self.lines(), advance):
            digest.add(line)
        return Totals.of(digest)

    def _line(self, text: bytes, number: int) -> Line:
        try:
            return read_line(text)
        except InvalidInput as error:
            raise InvalidInput(f"{self.path} is cut off or was altered: line {number} is {error}") from error

    def _check(self, text: bytes, digest: Digest, behind: bytes) -> None:
        if behind:
            raise InvalidInput(f"{self.path} was altered: there are lines behind its last one. Export again")
        said, found = _end(self.path, text), {**asdict(Totals.of(digest)), "head": _hash(self._head)}
        for name, value in found.items():
            if said.get(name) != value:
                raise InvalidInput(
                    f"{self.path} was altered: {name} is {value}, and not {said.get(name)} as its last line has it. "
                    "Export again"
                )

    def _open(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except OSError as error:
            raise InvalidInput(f"{self.path} can't be read: {error.strerror}") from error


def counted(lines: Iterable[Line], advance: Advance) -> Iterator[Line]:
    """The same lines; `advance` is told now and then how many passed."""
    passed = 0
    for line in lines:
        yield line
        passed += 1
        if passed == _TOLD_EVERY:
            advance(passed)
            passed = 0
    advance(passed)


def _header(path: Path, head: bytes) -> Header:
    wrong = InvalidInput(f"{path} is no export: `memstream export` writes one")
    try:
        row = row_of(head)
    except InvalidInput as error:
        raise wrong from error
    if row.get("memstream") != _KIND or not isinstance(row.get("format"), int):
        raise wrong
    if row["format"] > FORMAT:
        raise InvalidInput(
            f"{path} has format {row['format']}, of Memstream {row.get('project')}; this one reads up to {FORMAT}: "
            "use a newer Memstream"
        )
    try:
        positions = tuple(Position(**one) for one in row["positions"])
        basis = Basis(row["format"], row["catalogue"], row.get("predicates", ""))
        return Header(row["project"], row["scope"], basis, positions)
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"{path} was altered: its first line is not whole") from error


def _end(path: Path, text: bytes) -> dict[str, Any]:
    end = None
    try:
        end = row_of(text)["end"]
    except InvalidInput as error:
        raise InvalidInput(f"{path} is cut off: its last line is not whole. Export again") from error
    return end if isinstance(end, dict) else {}


def _hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
