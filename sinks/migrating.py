"""Changes of what is already in the graph: in batches on a live graph, going on after a kill where they were.

All nodes of a label are walked in the order of their key. Each batch is one transaction, with how far the walk is, so
that what is done is never done again; its first step locks the walk's own node by writing it, so of two at once each
takes the next batch in turn. The walk goes twice. The first takes as long as it takes, while sinks of the version
before go on writing. Then the new version is announced: a sink reads that under the lock of its partition and stops
(sinks.lock). The second walk begins by locking every partition: then no sink that had not read it is still at work. It
changes what they wrote behind the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

from neo4j import Driver, ManagedTransaction

from memstream.sinks.failures import told_as_ours
from memstream.sinks.statements import Row, Runs, Statement, run, statement

KEY = "CREATE CONSTRAINT memstream_migration_key IF NOT EXISTS FOR (m:Migration) REQUIRE m.id IS UNIQUE"
BATCH = 1_000
_REST, _DONE = 2, 3

# Index: the unique key id, in the next two.
BEGIN = statement(
    "lock migration",
    """
    MERGE (m:Migration {id: $id})
    ON CREATE SET m.name = $name, m.number = $number, m.walk = 1, m.scope = '', m.after = '', m.seen = 0, m.changed = 0
    SET m.lock = randomUUID()
    RETURN m.walk AS walk, m.scope AS scope, m.after AS after, m.seen AS seen, m.changed AS changed
    """,
)
STORE = statement(
    "store migration",
    """
    MATCH (m:Migration {id: $id})
    SET m.walk = $walk, m.scope = $scope, m.after = $after, m.seen = $seen, m.changed = $changed,
      m.announced = ($walk > 1)
    """,
)
# Index: the unique key (topic, partition), all of it.
BARRIER = statement(
    "wait for sinks",
    """
    MATCH (o:StreamOffset) WHERE o.topic IS NOT NULL AND o.partition IS NOT NULL
    WITH o ORDER BY o.topic, o.partition
    SET o.lock = $worker
    RETURN count(o) AS partitions
    """,
)
_TAKEN = """
WITH collect(n) AS batch
CALL (batch) { UNWIND batch AS n WITH n CHANGE RETURN count(*) AS changed }
RETURN size(batch) AS seen, changed, last([n IN batch | n.scope]) AS scope, last([n IN batch | n.id]) AS after
"""
# Index: the unique key (scope, id) of the label: the rest of one scope, then all scopes behind it.
_IN_SCOPE = "MATCH (n:LABEL {scope: $scope}) WHERE n.id > $after WITH n ORDER BY n.id LIMIT $size" + _TAKEN
_BEHIND = (
    "MATCH (n:LABEL) WHERE n.scope > $scope AND n.id IS NOT NULL WITH n ORDER BY n.scope, n.id LIMIT $size" + _TAKEN
)


@dataclass(frozen=True, slots=True)
class Change:
    """What is changed of the nodes of a label."""

    what: str
    in_scope: Statement
    behind: Statement

    @classmethod
    def of(cls, what: str, label: str, change: str) -> Self:
        """`change` is the end of a statement in which `n` is a node: WHERE it is not changed yet, then what to SET.

        It gives the same however often it is done: what a sink wrote meanwhile is seen by both walks.
        """
        texts = [text.replace("LABEL", label).replace("CHANGE", change) for text in (_IN_SCOPE, _BEHIND)]
        return cls(what, statement(f"{what}, in a scope", texts[0]), statement(f"{what}, behind", texts[1]))


@dataclass(frozen=True, slots=True)
class Walked:
    """How far a change is: nodes seen and changed by both walks so far."""

    seen: int
    changed: int
    done: bool


@dataclass(frozen=True, slots=True)
class Walk:
    """A change as the migration `number` of the schema `name`, in batches of `size` nodes."""

    name: str
    number: int
    change: Change
    size: int = BATCH

    @property
    def id(self) -> str:
        """The key of the node that keeps how far it is."""
        return f"{self.name}.{self.number}"


Tell = Callable[[str, Walked], None]


def change_all(driver: Driver, database: str, walk: Walk, tell: Tell) -> Walked:
    """Change all nodes, from where an earlier run came to; `tell` hears of each batch that is committed.

    Raises GraphUnavailable and TransientError.
    """
    with told_as_ours(), driver.session(database=database) as session:
        while True:
            walked = session.execute_write(partial(_step, walk))
            tell(walk.change.what, walked)
            if walked.done:
                return walked


def _step(walk: Walk, tx: ManagedTransaction) -> Walked:
    """The next batch, or the end of a walk."""
    (at,) = run(tx, BEGIN, id=walk.id, name=walk.name, number=walk.number)
    if at["walk"] >= _DONE:
        return Walked(at["seen"], at["changed"], done=True)
    if at["walk"] == _REST and not at["after"]:
        run(tx, BARRIER, worker=walk.id)
    taken = _take(tx, walk, at)
    seen, changed = at["seen"], at["changed"]
    for row in taken:
        seen, changed = seen + row["seen"], changed + row["changed"]
    ended = sum(row["seen"] for row in taken) < walk.size
    number = at["walk"] + ended
    place = ("", "") if ended else next((row["scope"], row["after"]) for row in reversed(taken) if row["seen"])
    run(tx, STORE, id=walk.id, walk=number, scope=place[0], after=place[1], seen=seen, changed=changed)
    return Walked(seen, changed, done=number >= _DONE)


def _take(tx: Runs, walk: Walk, at: Row) -> list[Row]:
    taken = run(tx, walk.change.in_scope, scope=at["scope"], after=at["after"], size=walk.size)
    left = walk.size - taken[0]["seen"]
    if left > 0:
        taken += run(tx, walk.change.behind, scope=at["scope"], size=left)
    return taken
