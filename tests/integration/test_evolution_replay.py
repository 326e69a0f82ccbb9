"""What was written under a former version, replayed today: into the real graph, and through extraction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from sink_world import World, world

from memstream.extractors.vectors.embedders import create_embedder
from memstream.schemas.cloudevents import decode_structured, encode_structured
from memstream.schemas.patch import Patch
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.sinks.records import PatchRecord
from memstream.streams.chunk import ChunkConfig, ChunkWorker
from memstream.streams.records import Record, SessionWork

DATA = Path(__file__).parents[1] / "data"
PATCHES_V1 = (DATA / "patches" / "v1.jsonl").read_bytes().splitlines()
RECALLED_V1 = (DATA / "events" / "recalled.v1.jsonl").read_bytes().splitlines()


@pytest.fixture
def graph(stack: Settings) -> Iterator[World]:
    """The scope that the kept patches are of."""
    with world(stack, orjson.loads(PATCHES_V1[0])["origin"]["scope"]) as made:
        made.wipe()
        yield made


def test_the_first_patches_replay_into_a_graph_of_today(graph: World) -> None:
    """Their bytes as they were written give the facts, the messages and the verdicts that they gave then."""
    records = [PatchRecord(offset, graph.scope.encode(), line) for offset, line in enumerate(PATCHES_V1)]
    graph.sink.apply(graph.topic, graph.partition, records)
    assert [text.split(" [")[0] for text in graph.facts()] == ["Ann lives in Rome"]
    assert graph.chain() == ["m1", "m2"]
    said = graph.rows("MATCH (e:Event {scope: $scope}) WHERE e.id IS NOT NULL RETURN e.event_id AS id, e.verdict AS v")
    assert {row["id"]: row["v"] for row in said} == {"m1": "applied", "m2": "applied", "m3": "dead_lettered"}
    assert graph.rows("MATCH (p:Preference {scope: $scope}) WHERE p.id IS NOT NULL RETURN p.polarity AS p") == [
        {"p": "like"}
    ]


class _Nothing:
    """An extractor that finds nothing: recalls have no text to read."""

    name = "nothing"
    generation = 1

    def extract(self, sessions: list[object]) -> list[object]:
        """Nobody asks."""
        raise AssertionError(sessions)


def patch_of(worker: ChunkWorker, value: bytes) -> Patch:
    """What the extraction stage makes of a record in structured mode."""
    event = decode_structured(value)
    record = Record(Topic.FEEDBACK.value, 0, 5, 1_796_000_000_000, event.record_key, value)
    [result] = worker.process([SessionWork(record.key, b"", [record])])
    [output] = result.outputs
    assert output.refusal is None
    return Patch.decode(output.patch)


@pytest.mark.parametrize("line", RECALLED_V1, ids=["ranks", "nothing served"])
def test_an_event_of_before_gives_the_patch_of_one_of_today(line: bytes, tmp_path: Path) -> None:
    """A v1 record from the log and the same event published today mean the same, to the byte."""
    worker = ChunkWorker(ChunkConfig(tmp_path.as_uri()), extractor=_Nothing(), embedder=create_embedder("none"))  # type: ignore[arg-type]
    before, today = patch_of(worker, line), patch_of(worker, encode_structured(decode_structured(line)))
    assert before.encode() == today.encode()
    served = orjson.loads(next(node.props["items"] for node in before.nodes if node.label == "Recall"))
    assert [item["rank"] for item in served] == list(range(1, len(served) + 1))
