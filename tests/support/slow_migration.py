"""A migration as a process of its own, to be killed: `python slow_migration.py NAME LABEL`. Tells each batch."""

from __future__ import annotations

import sys

from memstream.settings import load
from memstream.sinks.migrating import Change, Walked
from memstream.sinks.migrations import Migration, migrate
from memstream.sinks.stores import Stores


def steps(label: str) -> tuple[Migration, ...]:
    """A first version that makes the key of a label, and a second that changes all its nodes."""
    key = f"CREATE CONSTRAINT {label}_key IF NOT EXISTS FOR (n:{label}) REQUIRE (n.scope, n.id) IS UNIQUE"
    # counts, so that a node that is changed twice shows
    change = Change.of(
        "double the sizes",
        label,
        "WHERE n.doubled IS NULL SET n.doubled = n.size * 2, n.times = coalesce(n.times, 0) + 1",
    )
    return (Migration(1, "a key", lambda: [key]), Migration(2, change.what, change=change))


def main() -> None:
    """Migrate the schema NAME to its second version."""
    name, label = sys.argv[1:]

    def tell(_: str, walked: Walked) -> None:
        sys.stdout.write(f"{walked.seen} {walked.changed}\n")
        sys.stdout.flush()

    with Stores.connect(load()) as stores:
        store = stores.of("")
        migrate(store.driver, store.database, name=name, migrations=steps(label), tell=tell)


if __name__ == "__main__":
    main()
