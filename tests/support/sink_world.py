"""A scope of its own in the real graph, and a sink that writes it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sink_patches import Told

from memstream.schemas.patch import Patch
from memstream.settings import Settings
from memstream.sinks.export.form import LABELS
from memstream.sinks.export.graph import export_lines
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.records import Applied, PatchRecord
from memstream.sinks.stores import Store, Stores

PARTITIONS = 3
# one statement, since one for each label takes fifty times as long
WIPE = "\n".join(
    f"CALL () {{ UNWIND $scopes AS scope MATCH (n:{label} {{scope: scope}}) WHERE n.id IS NOT NULL DETACH DELETE n }}"
    for label in (*LABELS, "ErasureWork", "Payload", "Outbox")
)


@dataclass
class World:
    """A scope, a topic of its own, and the offset that comes next."""

    store: Store
    scope: str
    topic: str = ""
    partition: int = 0
    next: int = 0
    sink: GraphSink = field(init=False)

    def __post_init__(self) -> None:
        self.new_sink()
        self.new_log()

    def new_sink(self) -> None:
        """Another sink, which knows nothing but what is in the graph."""
        self.sink = GraphSink(self.store.driver, self.store.database, "tests")

    def new_log(self) -> None:
        """Start again with another topic, as a replay into an empty graph does."""
        self.topic, self.next = f"t{secrets.token_hex(5)}.patches", 0
        self.sink.resume(self.topic, self.partition, PARTITIONS)

    def say(self, event: str, minute: int, **more: Any) -> Told:
        """An event of this scope."""
        return Told(self.scope, event, minute, **more)

    def records(self, told: Sequence[Told | Patch]) -> list[PatchRecord]:
        """Records for the next offsets."""
        made = []
        for one in told:
            patch = one.patch() if isinstance(one, Told) else one
            made.append(PatchRecord(self.next, self.scope.encode(), patch.encode()))
            self.next += 1
        return made

    def apply(self, *told: Told | Patch) -> Applied:
        """Apply events in one batch."""
        return self.sink.apply(self.topic, self.partition, self.records(told))

    def erase_on(self, steps: int = 10_000) -> int:
        """Go on with erasures, by at most so many steps. Returns how many there were to do."""
        done = 0
        while done < steps and self.sink.erase_on(self.topic, self.partition):
            done += 1
        return done

    def rows(self, text: str, **parameters: Any) -> list[dict[str, Any]]:
        """Rows of a query of a test; `$scope` is the world's."""
        bound = {"scope": self.scope, **parameters}
        result = self.store.driver.execute_query(text, bound, database_=self.store.database)
        return [dict(record) for record in result.records]

    def facts(self) -> list[str]:
        """The facts that stand, as `text [from, to)`, a star where one holds."""
        found = self.rows(
            "MATCH (f:Fact {scope: $scope}) WHERE f.id IS NOT NULL AND f.ended_at IS NULL "
            "RETURN f.text AS text, f.negated AS negated, f.valid_from AS start, f.valid_to AS end, f.holds AS holds "
            "ORDER BY coalesce(start, ''), text"
        )
        return [
            f"{'not ' if row['negated'] else ''}{row['text']} [{row['start'] or '?'}, {row['end'] or ''})"
            f"{'*' if row['holds'] else ''}"
            for row in found
        ]

    def chain(self, session: str = "s") -> list[str]:
        """The event ids of a session's messages, by FIRST_MESSAGE and NEXT_MESSAGE alone."""
        found = self.rows(
            "MATCH (c:Conversation {scope: $scope}) WHERE c.id IS NOT NULL AND c.session_id = $session "
            "MATCH p = (c)-[:FIRST_MESSAGE]->(:Message)-[:NEXT_MESSAGE*0..200]->(m:Message) "
            "WHERE NOT (m)-[:NEXT_MESSAGE]->() RETURN [x IN tail(nodes(p)) | x.event_id] AS ids",
            session=session,
        )
        assert len(found) <= 1
        return list(found[0]["ids"]) if found else []

    def dump(self) -> list[str]:
        """The canonical form of the scope."""
        return [line.text.decode() for line in export_lines(self.store.driver, self.store.database, self.scope)]

    def wipe(self) -> None:
        """Remove all of the scope, and begin another log."""
        self.rows(WIPE, scopes=[self.scope])
        self.rows("MATCH (s:Scope {scope: $scope}) DETACH DELETE s")
        self.rows("MATCH (o:StreamOffset {topic: $topic}) WHERE o.partition IS NOT NULL DELETE o", topic=self.topic)
        self.rows("MATCH (o:Outbox {topic: $topic}) WHERE o.partition IS NOT NULL DELETE o", topic=self.topic)
        self.new_log()


@contextmanager
def world(settings: Settings, scope: str) -> Iterator[World]:
    """A world that leaves nothing behind."""
    with Stores.connect(settings) as stores:
        made = World(stores.of(scope), scope)
        try:
            yield made
        finally:
            made.wipe()
