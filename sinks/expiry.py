"""Sessions whose time to live is over: what they are, for whoever publishes their erasure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from neo4j import Driver

from memstream.sinks.failures import told_as_ours
from memstream.sinks.statements import run, statement

# Index: Conversation (ttl_seconds); then Message (scope, session_id, order), from its end.
MORTAL = statement(
    "sessions with a time to live",
    """
    MATCH (c:Conversation) WHERE c.ttl_seconds > 0 AND c.at IS NOT NULL AND ($scope IS NULL OR c.scope = $scope)
    CALL (c) {
      OPTIONAL MATCH (m:Message) WHERE m.scope = c.scope AND m.session_id = c.session_id AND m.order IS NOT NULL
      WITH m ORDER BY m.scope DESC, m.session_id DESC, m.order DESC LIMIT 1
      RETURN m.time AS last
    }
    RETURN c.scope AS scope, c.session_id AS session, c.ttl_seconds AS seconds, c.started_at AS started, last
    ORDER BY scope, session
    """,
)


@dataclass(frozen=True, slots=True)
class Expired:
    """A session, the time of the last that was said in it (or of its start), and when its time was over."""

    scope: str
    session: str
    last: datetime
    over: datetime


def expired(driver: Driver, database: str, now: datetime, scope: str | None = None) -> Iterator[Expired]:
    """The sessions whose time to live, counted from the last that was said in them, is over at `now`."""
    with told_as_ours(), driver.session(database=database) as session:
        rows = run(session, MORTAL, scope=scope)
    for row in rows:
        times = [datetime.fromisoformat(text) for text in (row["started"], row["last"]) if text]
        if times and (over := max(times) + timedelta(seconds=row["seconds"])) <= now:
            yield Expired(row["scope"], row["session"], max(times), over)
