"""Removing what a benchmark wrote into the graph: by scope and label, some hundred nodes in a transaction."""

from __future__ import annotations

from collections.abc import Sequence

from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.sinks.export.form import LABELS
from memstream.sinks.stores import Store, Stores

# Index: the unique key (scope, id) of each label; the text after it stands for no data.
_WIPE = """
UNWIND $scopes AS scope MATCH (n:LABEL {scope: scope}) WHERE n.id IS NOT NULL
CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 500 ROWS
"""
WIPE = {label: _WIPE.replace("LABEL", label) for label in (*LABELS, "Outbox")}
# Index: the unique key scope.
WIPE_HEADS = "UNWIND $scopes AS scope MATCH (s:Scope {scope: scope}) DETACH DELETE s"
# Index: (topic, partition), by its first part, in both.
WIPE_OFFSETS = "MATCH (o:StreamOffset {topic: $topic}) WHERE o.partition IS NOT NULL DELETE o"
WIPE_OUTBOX = "MATCH (o:Outbox {topic: $topic}) WHERE o.partition IS NOT NULL DELETE o"


def wipe(settings: Settings, scopes: Sequence[str]) -> None:
    """Remove all of these scopes, and the offsets of the settings' patches topic, from every store."""
    topic = Topic.PATCHES.named(settings.topic_prefix)
    with Stores.connect(settings) as stores:
        for store in stores.all():
            wipe_store(store, scopes, topic)


def wipe_store(store: Store, scopes: Sequence[str], topic: str) -> None:
    """Remove these scopes, and what a store keeps of a topic."""
    with store.driver.session(database=store.database) as session:
        for statement in (*WIPE.values(), WIPE_HEADS):
            session.run(statement, scopes=list(scopes)).consume()
        for statement in (WIPE_OFFSETS, WIPE_OUTBOX):
            session.run(statement, topic=topic).consume()
