"""Walks a graph in the order of the canonical form, page by page, holding a page at most.

Each label is walked along the index of its key, across scopes: from a place inside a scope on, then through the scopes
behind it. Edges are walked with the nodes that they start at; a page of them that is too large for memory (a session
of a million messages) is sorted on disk. A page is one short transaction, so the walk fails where the graph takes
patches meanwhile: its lines would belong to no one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

from neo4j import READ_ACCESS, Driver, ManagedTransaction, Session

from memstream.schemas.errors import TransientError
from memstream.schemas.scope import is_within, parse_scope
from memstream.sinks.export.form import LABELS, VERSIONS, End, Line, edge_line, node_line, primary, version_id
from memstream.sinks.export.sorting import LIMIT, Sorter
from memstream.sinks.failures import told_as_ours
from memstream.sinks.statements import Statement, run, statement

PAGE = 1_000
_FETCH = 200  # records that the driver holds at once: one may have a megabyte
_LAST_SCOPE = "\U0010ffff"  # behind every scope, since it is no character

# Index: the unique key (scope, id), from a key on, or from the scopes behind one.
_WITHIN = "MATCH (n:LABEL) WHERE n.scope = $scope AND n.id > $id WITH n ORDER BY n.scope, n.id LIMIT $page"
_BEHIND = """
MATCH (n:LABEL) WHERE n.scope > $scope AND n.scope < $end AND n.id IS NOT NULL
WITH n ORDER BY n.scope, n.id LIMIT $page
"""
# Index: Fact (scope, claim), Preference (scope, claim), likewise; versions of one claim are sorted as they are read.
# (An OR where the CASE is would be planned as a union of seeks, without the order of the index.)
_VERSIONS_WITHIN = """
MATCH (n:LABEL) WHERE n.scope = $scope AND n.claim >= $claim AND n.ended_at IS NULL
  AND CASE WHEN n.claim > $claim OR n.name > $name THEN true ELSE n.name = $name AND n.id > $id END
WITH n ORDER BY n.scope, n.claim, n.name, n.id LIMIT $page
"""
_VERSIONS_BEHIND = """
MATCH (n:LABEL) WHERE n.scope > $scope AND n.scope < $end AND n.claim IS NOT NULL AND n.ended_at IS NULL
WITH n ORDER BY n.scope, n.claim, n.name, n.id LIMIT $page
"""
_NODES = "RETURN n.scope, n.id, n.claim, n.name, labels(n), properties(n)"
_EDGES = """
OPTIONAL MATCH (n)-[r]->(m) WHERE NOT (m.ended_at IS NOT NULL AND (m:Fact OR m:Preference))
RETURN n.scope, n.id, n.claim, n.name, type(r), properties(r), labels(m), m.scope, m.id, m.claim, m.name
"""
# Index: the unique key (scope, id) of each label: which labels there are at all in a range of scopes.
PRESENT = statement(
    "export labels",
    "RETURN "
    + ", ".join(
        f"EXISTS {{ MATCH (n:{label}) WHERE n.scope >= $scope AND n.scope < $end AND n.id IS NOT NULL }} AS {label}"
        for label in LABELS
    ),
)
# Index: StreamOffset (topic, partition), from its first part on.
POSITIONS = statement(
    "export positions",
    """
    MATCH (o:StreamOffset) WHERE o.topic > '' AND o.partition IS NOT NULL
    RETURN o.topic AS topic, o.partition AS partition, o.offset AS offset, o.sealed AS sealed
    ORDER BY topic, partition
    """,
)
# Index: the unique key scope of Scope, then that of StreamOffset.
POSITIONS_OF = statement(
    "export positions of scopes",
    """
    MATCH (s:Scope) WHERE s.scope >= $scope AND s.scope < $end AND (s.scope = $scope OR s.scope > $below)
    WITH DISTINCT s.topic AS topic, s.partition AS partition
    MATCH (o:StreamOffset {topic: topic, partition: partition})
    RETURN topic, partition, o.offset AS offset, o.sealed AS sealed ORDER BY topic, partition
    """,
)
# Index: ErasureWork (pending).
ERASING = statement(
    "export erasures",
    "MATCH (w:ErasureWork) WHERE w.pending > '' RETURN w.scope AS scope ORDER BY w.pending LIMIT 1000",
)


class _Walks(NamedTuple):
    """The two statements of a walk: inside a scope from a key on, and through the scopes behind it."""

    within: Statement
    behind: Statement


def _walks(what: str, label: str, tail: str) -> _Walks:
    within, behind = (_VERSIONS_WITHIN, _VERSIONS_BEHIND) if label in VERSIONS else (_WITHIN, _BEHIND)
    return _Walks(
        statement(f"export {what} of {label}", within.replace("LABEL", label) + tail),
        statement(f"export {what} of {label} in later scopes", behind.replace("LABEL", label) + tail),
    )


NODES = {label: _walks("nodes", label, "\n" + _NODES) for label in LABELS}
EDGES = {label: _walks("edges", label, _EDGES) for label in LABELS}


class GraphMoved(TransientError):
    """The graph took patches while it was read, or is being erased: what was read belongs to no one moment."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a partition of the log is in the graph: the last offset applied, and the last one that can be read."""

    topic: str
    partition: int
    offset: int | None
    sealed: int | None


class _Cursor(NamedTuple):
    """A place in the walk of a label: the scope, and in it the key of a node."""

    scope: str
    claim: str = ""
    name: str = ""
    id: str = ""


class _Page(NamedTuple):
    """What a page was: how many nodes it has, and the last of them."""

    size: int
    last: _Cursor


_Read = Callable[[Iterable[Any], Sorter], _Page]


def export_lines(driver: Driver, database: str, scope: str | None = None) -> Iterator[Line]:
    """The canonical form of a graph, or of a scope and those below it: all nodes, then all edges, in order.

    Holds a page at most. Raises GraphMoved at the end where the graph took patches meanwhile, at once where an erasure
    is at work; GraphUnavailable and TransientError where Neo4j does not take it now.
    """
    return GraphLines(driver, database, scope).lines()


class GraphLines:
    """The canonical form of a graph, or of a scope and those below it.

    `labels` restricts it to these nodes, `starts` to the edges that start at nodes of these labels (else of `labels`).
    `page` is how many nodes are read at once, `memory` how many bytes of lines are sorted without a disk.
    """

    def __init__(
        self,
        driver: Driver,
        database: str,
        scope: str | None = None,
        *,
        labels: Collection[str] = LABELS,
        starts: Collection[str] | None = None,
        page: int = PAGE,
        memory: int = LIMIT,
    ) -> None:
        self._driver = driver
        self._database = database
        self._scope = None if scope is None else parse_scope(scope)
        self._nodes = sorted(labels)
        self._starts = self._nodes if starts is None else sorted(starts)
        self._size = page
        self._memory = memory

    def positions(self) -> list[Position]:
        """How far the partitions are that this part of the graph was built from.

        Raises GraphMoved where an erasure is at work in it: what is to be erased would still be read.
        """
        with told_as_ours(), self._session() as session:
            return session.execute_read(self._read_positions)

    def lines(self, positions: list[Position] | None = None) -> Iterator[Line]:
        """All nodes, then all edges, as `export_lines` gives them; `positions` must not move from now on."""
        before = self.positions() if positions is None else positions
        own, later = self._present()
        with Sorter(self._memory) as sorter:
            for walks, read, labels in ((NODES, _read_nodes, self._nodes), (EDGES, _read_edges, self._starts)):
                for label in labels:
                    if label in own:
                        start = _Cursor(self._scope or "")
                        yield from self._rest(walks[label], start, partial(read, label), sorter)
                    if label in later:
                        yield from self._behind(walks[label], partial(read, label), sorter)
        _check(before, self.positions())

    def _present(self) -> tuple[set[str], set[str]]:
        """The labels that the scope itself has, and those of the scopes behind it that are to be walked."""

        def found(tx: ManagedTransaction, start: str, end: str) -> set[str]:
            (row,) = run(tx, PRESENT, scope=start, end=end)
            return {label for label, there in row.items() if there}

        with told_as_ours(), self._session() as session:
            start, end = self._later
            later = session.execute_read(found, start, end)
            if self._scope is None:
                return set(), later
            return session.execute_read(found, self._scope, self._scope + "\x01"), later

    @property
    def _later(self) -> tuple[str, str]:
        """The scopes to be walked: behind the first of these texts, and before the second."""
        if self._scope is None:
            return "", _LAST_SCOPE
        return self._scope + "/", _end_of(self._scope)

    def _behind(self, walks: _Walks, read: _Read, sorter: Sorter) -> Iterator[Line]:
        start, end = self._later
        place = _Cursor(start)
        while True:
            page = self._page(walks.behind, place, end, read, sorter)
            yield from sorter.sorted()
            if page.size < self._size:
                return
            yield from self._rest(walks, page.last, read, sorter)
            place = page.last

    def _rest(self, walks: _Walks, place: _Cursor, read: _Read, sorter: Sorter) -> Iterator[Line]:
        """What a scope has behind a place."""
        while True:
            page = self._page(walks.within, place, "", read, sorter)
            yield from sorter.sorted()
            if page.size < self._size:
                return
            place = page.last

    def _page(self, what: Statement, place: _Cursor, end: str, read: _Read, sorter: Sorter) -> _Page:
        parameters = {**place._asdict(), "end": end, "page": self._size}

        def work(tx: ManagedTransaction) -> _Page:
            sorter.clear()  # the driver may try again
            return read((record.values() for record in tx.run(cast(Any, what.text), parameters)), sorter)

        with told_as_ours(), self._session() as session:
            return session.execute_read(work)

    def _read_positions(self, tx: ManagedTransaction) -> list[Position]:
        for row in run(tx, ERASING):
            if self._scope is None or is_within(self._scope, row["scope"]) or is_within(row["scope"], self._scope):
                raise GraphMoved(
                    f"an erasure in scope {row['scope']} is still at work: let the sink end it, and try again"
                )
        if self._scope is None:
            rows = run(tx, POSITIONS)
        else:
            rows = run(tx, POSITIONS_OF, scope=self._scope, below=self._scope + "/", end=_end_of(self._scope))
        return [Position(**row) for row in rows]

    def _session(self) -> Session:
        return self._driver.session(database=self._database, default_access_mode=READ_ACCESS, fetch_size=_FETCH)


def _end_of(scope: str) -> str:
    """The text right behind all scopes that are below this one: what follows a slash is a zero."""
    return scope + chr(ord("/") + 1)


def _check(before: list[Position], after: list[Position]) -> None:
    reached = {(one.topic, one.partition): one.offset for one in before}
    for one in after:
        was = reached.get((one.topic, one.partition))
        if was != one.offset:
            raise GraphMoved(
                f"the graph took patches while it was read: partition {one.partition} of {one.topic} went from "
                f"offset {was} to {one.offset}. Stop the sink (`memstream worker`) meanwhile; what is published waits "
                "in the log, and nothing is lost"
            )


def _read_nodes(label: str, rows: Iterable[Any], sorter: Sorter) -> _Page:
    count, last = 0, _Cursor("")
    for scope, node, claim, name, labels, props in rows:
        count, last = count + 1, _place(label, scope, node, claim, name)
        if props.get("at") is not None:  # else it is a stub
            sorter.add(node_line(label, scope, _name(label, node, claim, name), labels, props))
    return _Page(count, last)


def _read_edges(label: str, rows: Iterable[Any], sorter: Sorter) -> _Page:
    starts: set[_Cursor] = set()
    for scope, node, claim, name, kind, props, labels, *end in rows:
        starts.add(_place(label, scope, node, claim, name))
        if kind is None or (other := primary(labels)) is None or props.get("derived"):
            continue
        start = End(label, scope, _name(label, node, claim, name))
        sorter.add(edge_line(kind, start, End(other, end[0], _name(other, *end[1:])), props))
    return _Page(len(starts), max(starts, default=_Cursor("")))


def _place(label: str, scope: str, node: str, claim: str | None, name: str | None) -> _Cursor:
    return _Cursor(scope, claim or "", name or "", node) if label in VERSIONS else _Cursor(scope, id=node)


def _name(label: str, node: str, claim: str | None, name: str | None) -> str:
    return version_id(claim or "", name or "") if label in VERSIONS else node
