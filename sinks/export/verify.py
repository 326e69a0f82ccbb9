"""Whether two graphs are the same: each a graph in a Neo4j, or an export in a file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Protocol

from memstream.schemas.errors import InvalidInput
from memstream.schemas.scope import is_within, parse_scope
from memstream.sinks.export.compare import EXACT, Difference, Tolerance, compare
from memstream.sinks.export.file import Advance, ExportFile, Header, Totals, counted
from memstream.sinks.export.form import LABELS, Basis, Digest, Line
from memstream.sinks.export.graph import GraphLines
from memstream.sinks.stores import Store


class Source(Protocol):
    """Something that has the canonical form of a graph, or of a scope and those below it."""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    @property
    def scope(self) -> str | None:
        """What all of it is: None for a whole graph."""
        ...

    @property
    def basis(self) -> Basis:
        """What its digest rests on."""
        ...

    def lines(
        self, scope: str | None, labels: Collection[str] = LABELS, starts: Collection[str] | None = None
    ) -> Iterator[Line]:
        """The lines of a scope: of nodes with these labels, and of edges that start at `starts` (else at `labels`)."""
        ...


@dataclass(frozen=True, slots=True)
class GraphSource:
    """A graph in a Neo4j; `name` is for messages."""

    name: str
    store: Store
    scope: None = None
    basis: Basis = field(default_factory=Basis.here)

    def lines(
        self, scope: str | None, labels: Collection[str] = LABELS, starts: Collection[str] | None = None
    ) -> Iterator[Line]:
        """As Source says; raises what `export_lines` does."""
        return GraphLines(self.store.driver, self.store.database, scope, labels=labels, starts=starts).lines()

    def export(self, scope: str | None) -> tuple[Header, Iterator[Line]]:
        """What an export of it begins with, and its lines."""
        graph = GraphLines(self.store.driver, self.store.database, scope)
        positions = graph.positions()
        return Header.of(scope, positions), graph.lines(positions)


class FileSource:
    """An export. Raises InvalidInput where it is none."""

    def __init__(self, path: Path) -> None:
        self.file = ExportFile(path)
        self.name = str(path)

    @property
    def scope(self) -> str | None:
        """The scope that was exported."""
        return self.file.header.scope

    @property
    def basis(self) -> Basis:
        """That of the Memstream that wrote it."""
        return self.file.header.basis

    def lines(
        self, scope: str | None, labels: Collection[str] = LABELS, starts: Collection[str] | None = None
    ) -> Iterator[Line]:
        """As Source says; raises InvalidInput where the file is cut off or was altered."""
        nodes, edges = frozenset(labels), frozenset(labels if starts is None else starts)
        for line in self.file.lines():
            wanted = nodes if line.is_node else edges
            if line.key[1] in wanted and (scope is None or is_within(line.key[2], scope)):
                yield line


@dataclass(frozen=True, slots=True)
class Verdict:
    """The first differences, and what each side has: None where it was not read to its end."""

    differences: tuple[Difference, ...]
    a: Totals | None
    b: Totals | None

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not self.differences


def common_scope(a: Source, b: Source, scope: str | None) -> str | None:
    """The scope to compare: the one asked for, else all that both have.

    Raises InvalidInput where one of them has less than is asked for, or where neither has all of the other.
    """
    if scope is not None:
        parse_scope(scope)
        for one in (a, b):
            if one.scope is not None and not is_within(scope, one.scope):
                raise InvalidInput(f"{one.name} has scope {one.scope} alone, and nothing of {scope}")
        return scope
    if a.scope is None or b.scope is None:
        return a.scope or b.scope
    for inner, outer in ((a.scope, b.scope), (b.scope, a.scope)):
        if is_within(inner, outer):
            return inner
    raise InvalidInput(f"{a.name} has scope {a.scope}, {b.name} has {b.scope}: they have nothing in common")


def verify(
    a: Source,
    b: Source,
    scope: str | None = None,
    *,
    limit: int = 1,
    tolerance: Tolerance = EXACT,
    advance: Advance = lambda _: None,
) -> Verdict:
    """Compare two graphs, and stop after `limit` differences. A scope means it and all below it.

    Raises InvalidInput as `common_scope` does and where a file is broken, GraphMoved where a graph takes patches.
    """
    scope = common_scope(a, b, scope)
    mine, theirs = Digest(a.basis), Digest(b.basis)
    found = [*_of_basis(a.basis, b.basis)]
    lines = (
        _into(mine, counted(a.lines(scope), advance)),
        _into(theirs, counted(b.lines(scope), advance)),
    )
    found += islice(compare(*lines, tolerance), max(limit - len(found), 0))
    if len(found) >= limit:
        return Verdict(tuple(found), None, None)
    return Verdict(tuple(found), Totals.of(mine), Totals.of(theirs))


def totals(source: Source, scope: str | None = None, advance: Advance = lambda _: None) -> Totals:
    """The counts and the digest of a graph, or of a scope and those below it. Raises what `verify` does."""
    scope = common_scope(source, source, scope)
    digest = Digest(source.basis)
    for line in counted(source.lines(scope), advance):
        digest.add(line)
    return Totals.of(digest)


def _of_basis(a: Basis, b: Basis) -> Iterator[Difference]:
    """Facts that were folded by another catalogue are other facts."""
    if a.catalogue != b.catalogue:
        yield Difference("header", "of the export", "catalogue", a.catalogue, b.catalogue)
    if a.own != b.own:
        yield Difference("header", "of the export", "predicates", a.own or None, b.own or None)
    if a.format != b.format:
        yield Difference("header", "of the export", "format", a.format, b.format)


def _into(digest: Digest, lines: Iterable[Line]) -> Iterator[Line]:
    for line in lines:
        digest.add(line)
        yield line
