"""A search of the graph for what must not be in it any more: every property of every node and edge, and the indexes.

An erased event leaves its Event node (key, id, type and place in the log), and an Erasure names what it was asked for:
these are not found. All else that holds one of the words or ids is, and so is what hangs on an erased event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from neo4j import Driver, Session

from memstream.schemas.ids import scope_token
from memstream.schemas.patch import Label
from memstream.sinks.failures import told_as_ours
from memstream.sinks.indexes import FULL_TEXTS, VECTORS
from memstream.sinks.statements import Row, run, statement

LABELS = (*(label.value for label in Label), "Fact", "Preference", "Assertion", "Retraction", "Event")
_LEFT = frozenset(
    {"scope", "id", "event_id", "type", "generation", "topic", "partition", "offset", "at", "recorded_at"}
)
_FEW = 1_000

# Index: the unique key (scope, id), walked for one scope, in both; a page at a time.
_NODES = """
MATCH (n:LABEL {scope: $scope}) WHERE n.id > $after
RETURN n.id AS id, properties(n) AS props ORDER BY n.id LIMIT $most
"""
_EDGES = """
UNWIND $ids AS id
MATCH (n:LABEL {scope: $scope, id: id})-[r]->()
RETURN id, type(r) AS type, properties(r) AS props
"""
NODES = {label: statement(f"search {label}", _NODES.replace("LABEL", label)) for label in LABELS}
EDGES = {label: statement(f"search edges of {label}", _EDGES.replace("LABEL", label)) for label in LABELS}
# Index: the unique key (scope, id); the edges of an event.
HELD = statement(
    "what hangs on erased events",
    """
    UNWIND $ids AS id
    MATCH (e:Event {scope: $scope, id: id})-[r]-() WHERE e.verdict = 'erased'
    RETURN id, type(r) AS type
    """,
)
# Index: the unique key (scope, id), by its first part.
OUTBOX = statement(
    "search the outbox", "MATCH (o:Outbox {scope: ''}) WHERE o.id IS NOT NULL RETURN o.id AS id, o.payload AS payload"
)
# Full-text indexes, by their names; the scope is a required term.
BY_WORDS = statement(
    "search full text",
    """
    CALL db.index.fulltext.queryNodes($index, $query, {limit: 100}) YIELD node AS n
    WHERE n.scope = $scope RETURN n.id AS id, labels(n) AS labels, properties(n) AS props
    """,
)


@dataclass(frozen=True, slots=True)
class Needles:
    """What is looked for: ids, as they are, and words, in any case."""

    ids: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def found_in(self, text: str) -> bool:
        """Whether a text holds any of them."""
        folded = text.casefold()
        return any(one in text for one in self.ids) or any(one.casefold() in folded for one in self.words)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is still there: in which place, what it is, and which of its properties holds it."""

    place: str
    what: str
    holds: str


@dataclass(slots=True)
class Searched:
    """What was looked at, by kind of thing, and what was found."""

    counts: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    erased: dict[str, str | None] = field(default_factory=dict)

    def count(self, what: str, more: int = 1) -> None:
        """More of it was looked at."""
        self.counts[what] = self.counts.get(what, 0) + more


def search_graph(driver: Driver, database: str, scopes: Sequence[str], needles: Needles) -> Searched:
    """Look at all that the graph holds of these scopes. Raises GraphUnavailable, TransientError."""
    found = Searched()
    with told_as_ours(), driver.session(database=database) as session:
        for scope in scopes:
            for label in LABELS:
                _search_label(session, scope, label, needles, found)
            _search_words(session, scope, needles, found)
        for row in run(session, OUTBOX):
            found.count("outbox entries")
            if any(scope in row["payload"] for scope in scopes) and needles.found_in(row["payload"]):
                found.findings.append(Finding("graph", f"Outbox {row['id']}", "payload"))
    return found


def _search_label(session: Session, scope: str, label: str, needles: Needles, found: Searched) -> None:
    for page in _pages(session, scope, label):
        erased = [row["id"] for row in page if label == "Event" and row["props"].get("verdict") == "erased"]
        for row in page:
            props = row["props"]
            found.count("nodes")
            found.count("properties", len(props))
            found.count("vectors", "embedding" in props or "vector" in props)
            if row["id"] in erased:
                found.erased[row["id"]] = props.get("event_id")
                props = {name: value for name, value in props.items() if name not in _LEFT}
            elif "embedding" in props and props.get("at") is None:
                found.findings.append(Finding("graph", f"{label} {row['id']}", "a vector of nothing"))
            _look(f"{label} {row['id']}", props, needles, found)
        for row in run(session, EDGES[label], scope=scope, ids=[row["id"] for row in page]):
            found.count("edges")
            found.count("properties", len(row["props"]))
            found.count("vectors", "vector" in row["props"])
            _look(f"edge {row['type']} of {label} {row['id']}", row["props"], needles, found)
        for row in run(session, HELD, scope=scope, ids=erased) if erased else ():
            found.findings.append(Finding("graph", f"Event {row['id']}", f"an edge {row['type']} of an erased event"))


def _pages(session: Session, scope: str, label: str) -> Iterator[list[Row]]:
    after = ""
    while page := run(session, NODES[label], scope=scope, after=after, most=_FEW):
        yield page
        after = page[-1]["id"]


def _look(what: str, props: Row, needles: Needles, found: Searched) -> None:
    found.findings += [Finding("graph", what, name) for name, value in props.items() if _holds(value, needles)]


def _holds(value: Any, needles: Needles) -> bool:
    if isinstance(value, list):
        return any(_holds(one, needles) for one in value)
    return isinstance(value, str) and needles.found_in(value)


def _search_words(session: Session, scope: str, needles: Needles, found: Searched) -> None:
    """Ask the full-text indexes themselves: an index might hold what no node does."""
    for index in FULL_TEXTS:
        found.count("full-text indexes")
        for word in needles.words:
            quoted = word.replace("\\", " ").replace('"', " ")
            query = f'+stok:{scope_token(scope)} +"{quoted}"'
            for row in run(session, BY_WORDS, index=index, query=query, scope=scope):
                if any(_holds(value, needles) for value in row["props"].values()):
                    found.findings.append(Finding("full text", f"{index}: {row['labels'][0]} {row['id']}", word))
    found.count("vector indexes", len(VECTORS))
