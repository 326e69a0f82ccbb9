"""The sample story under another root, as records of a log, as patches, and in the graph."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sink_world import WIPE

from memstream.deploy.story import INVALID_IDS, SCOPES, story_lines
from memstream.schemas import cloudevents
from memstream.schemas.events import Event
from memstream.schemas.patch import Patch
from memstream.schemas.topics import Topic, record_key
from memstream.sinks.export.graph import export_lines
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.records import PatchRecord, Written
from memstream.sinks.stores import Store
from memstream.streams.chunk import ChunkConfig, ChunkWorker
from memstream.streams.records import Record, SessionResult, SessionWork

Place = tuple[str, bytes | None]


def story_events(root: str) -> list[Event]:
    """All valid events of the story, with scopes below `root`."""
    lines = [line.replace(b'"demo/', f'"{root}/'.encode()) for line in story_lines()]
    invalid = [name.encode() for name in INVALID_IDS]
    return [cloudevents.decode_structured(line) for line in lines if not any(name in line for name in invalid)]


def scopes_of(root: str) -> list[str]:
    """The story's scopes, below `root`."""
    return [scope.replace("demo", root, 1) for scope in SCOPES]


def records(events: Iterable[Event]) -> list[Record]:
    """Events as one partition of each topic holds them; the broker had each at its own time."""
    ends: dict[str, int] = {}
    made = []
    for event in events:
        key, value, headers = cloudevents.encode(event)
        topic = event.kind.topic.value
        offset = ends[topic] = ends.get(topic, -1) + 1
        made.append(Record(topic, 0, offset, int(event.time.timestamp() * 1000), key, value, tuple(headers)))
    return made


def worker(folder: Path) -> ChunkWorker:
    """The extraction that ships, without vectors."""
    return ChunkWorker(ChunkConfig(folder.as_uri(), embedder="none"))


def by_session(batch: Iterable[Record]) -> dict[Place, list[Record]]:
    """As the stage groups a batch: what has a key in a topic is worked off in order."""
    groups: dict[Place, list[Record]] = {}
    for record in batch:
        groups.setdefault((record.topic, record.key), []).append(record)
    return groups


def process(
    extraction: ChunkWorker, batch: Iterable[Record], states: Mapping[Place, bytes]
) -> dict[Place, SessionResult]:
    """A batch as the stage gives it to a child, with the states that sessions have now."""
    groups = by_session(batch)
    works = [
        SessionWork(key, states.get((topic, key), b"") if topic == Topic.CONVERSATION else b"", records)
        for (topic, key), records in groups.items()
    ]
    return dict(zip(groups, extraction.process(works), strict=True))


def patches_of(extraction: ChunkWorker, events: Sequence[Event]) -> list[bytes]:
    """The patches of events in their order, extracted at once."""
    results = process(extraction, records(events), {})
    outputs = {(o.record.topic, o.record.offset): o.patch for result in results.values() for o in result.outputs}
    made = [outputs[record.topic, record.offset] for record in records(events)]
    assert all(made)
    return [patch for patch in made if patch is not None]


@dataclass
class Shelf:
    """Several sinks on several partitions of one topic, each scope in one partition."""

    store: Store
    scopes: Sequence[str]
    topic: str = ""
    partitions: int = 3
    sinks: list[GraphSink] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)

    def begin(self, sinks: int) -> None:
        """An empty graph of these scopes, and new sinks."""
        self.wipe()
        self.topic = f"t{secrets.token_hex(5)}.patches"
        self.sinks = [GraphSink(self.store.driver, self.store.database, f"tests-{n}") for n in range(sinks)]
        self.ends = {}

    def apply(self, sink: int, batch: Iterable[bytes], partition_of: Mapping[str, int]) -> Written:
        """One batch by one of the sinks, all partitions in one transaction."""
        parts: dict[int, list[PatchRecord]] = {}
        for value in batch:
            scope = Patch.decode(value).origin.scope
            partition = partition_of[scope]
            self.ends[partition] = self.ends.get(partition, -1) + 1
            parts.setdefault(partition, []).append(PatchRecord(self.ends[partition], record_key(scope), value))
        for partition, rows in sorted(parts.items()):
            if rows[0].offset == 0:
                self.sinks[sink].resume(self.topic, partition, self.partitions)
        return self.sinks[sink].together(self.topic, parts)

    def canonical(self) -> list[bytes]:
        """The canonical form of all scopes."""
        return [
            line.text for scope in self.scopes for line in export_lines(self.store.driver, self.store.database, scope)
        ]

    def wipe(self) -> None:
        """Nothing is left of these scopes and of the topic."""
        with self.store.driver.session(database=self.store.database) as session:
            session.run(WIPE, scopes=list(self.scopes)).consume()
            session.run("MATCH (s:Scope) WHERE s.scope IN $scopes DETACH DELETE s", scopes=list(self.scopes)).consume()
            for label in ("StreamOffset", "Outbox"):
                text = f"MATCH (o:{label} {{topic: $topic}}) WHERE o.partition IS NOT NULL DELETE o"
                session.run(text, topic=self.topic).consume()
