"""Sealed patches in the real graph: a destroyed key and an erasure come to the same, whichever comes first."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sink_patches import Told, moment
from sink_world import World, world

from memstream.schemas.errors import InvalidPatch
from memstream.sealing import Key, KeyMissing, KeyStore
from memstream.sealing.file_keys import FileKeys
from memstream.settings import Settings
from memstream.sinks.graph_sink import GraphSink
from memstream.sinks.records import PatchRecord
from memstream.streams.projection.sections import sealed

Keys = dict[str, Key]


@pytest.fixture
def graph(stack: Settings, scope: str) -> Iterator[World]:
    """A scope of this test alone, in the real graph."""
    with world(stack, scope) as made:
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the keys of this test lie."""
    return tmp_path / "keys.db"


@pytest.fixture
def keys(file: Path, scope: str) -> Keys:
    """The keys of two people, as they were when the patches were made."""
    store = FileKeys(str(file))
    return {who: store.current(scope, who) for who in ("ana", "ben")}


def sink(graph: World, store: KeyStore | None) -> GraphSink:
    """A sink with keys."""
    return GraphSink(graph.store.driver, graph.store.database, "tests", keys=store)


def talk(graph: World) -> dict[str, Told]:
    """Ana names somebody, ben speaks of her as "she", ana goes on; and ana is erased."""
    first = graph.say("m0", 0, subject="ana").message("Mara").mention("Mara").lives("Mara", "Porto")
    she = (
        graph.say("m1", 1, subject="ben").message("She lives in Rome, Tom in Oslo").mention("Tom").lives("Tom", "Oslo")
    )
    she.mention("Mara", "She", used=("m0",)).lives("Mara", "Rome", used=(first.key,))
    again = graph.say("m2", 2, subject="ana").message("Tom lives in Bern").mention("Tom").lives("Tom", "Bern")
    erasure = graph.say("x", 9, session=None).erases("user", "ana")
    return {"m0": first, "m1": she, "m2": again, "x": erasure}


def record(graph: World, told: Told, keys: Keys) -> PatchRecord:
    """The next record, sealed."""
    patch = told.patch()
    own = keys.get(told.subject or "")
    value = patch.encode() if own is None else sealed(patch, own, lambda _: [keys["ana"]])
    graph.next += 1
    return PatchRecord(graph.next - 1, graph.scope.encode(), value)


def test_when_the_key_is_destroyed_makes_no_difference(graph: World, keys: Keys, file: Path) -> None:
    """Never, before anything, or after some of the events, in some orders: the graph that the erasure leaves."""
    told, found = talk(graph), set()
    for run, (order, after) in enumerate(itertools.product([*itertools.permutations(told)][::11], (None, 0, 2))):
        copy = file.with_suffix(f".{run}")
        shutil.copyfile(file, copy)
        store = FileKeys(str(copy))
        applying = sink(graph, store)
        for number, name in enumerate((*order, None)):
            if number == after:
                store.destroy(graph.scope, "ana")
            if name is not None:
                applying.apply(graph.topic, 0, [record(graph, told[name], keys)])
        graph.erase_on()
        assert graph.facts() == [f"Tom lives in Oslo [{moment(1)}, )*"]
        found.add("\n".join(graph.dump()))
        graph.wipe()
    assert len(found) == 1
    assert "Mara" not in found.pop()


def test_what_nobody_can_read_and_no_erasure_reaches_says_so(graph: World, keys: Keys, file: Path) -> None:
    """An Event with its verdict and reason, and nothing else; of what was read by its help that part is missing."""
    told, store = talk(graph), FileKeys(str(file))
    store.destroy(graph.scope, "ana")
    applied = sink(graph, store).apply(graph.topic, 0, [record(graph, told[name], keys) for name in ("m0", "m1")])
    assert (applied.unreadable, applied.cut) == (1, 1)
    rows = graph.rows(
        "MATCH (e:Event {scope: $scope}) WHERE e.id IS NOT NULL RETURN e.event_id AS id, e.verdict AS v, e.reason AS r"
    )
    verdicts = {row["id"]: (row["v"], row["r"]) for row in rows}
    assert verdicts["m0"] == ("unreadable", "key_destroyed: what it said was sealed, and its key is destroyed")
    assert verdicts["m1"] == ("applied", None)
    assert graph.facts() == [f"Tom lives in Oslo [{moment(1)}, )*"]


def test_without_the_keys_nothing_is_applied(graph: World, keys: Keys, file: Path) -> None:
    """A sink that was told of no keys stops; one that meets a patch moved to another event refuses it."""
    told = talk(graph)
    one = record(graph, told["m0"], keys)
    with pytest.raises(KeyMissing, match="MEMSTREAM_KEYS"):
        sink(graph, None).apply(graph.topic, 0, [one])
    moved = (one.value or b"").replace(told["m0"].key.encode(), told["m1"].key.encode())
    with pytest.raises(InvalidPatch, match="moved from another place"):
        sink(graph, FileKeys(str(file))).apply(graph.topic, 0, [PatchRecord(one.offset, one.key, moved)])
    assert graph.rows("MATCH (e:Event {scope: $scope}) WHERE e.id IS NOT NULL RETURN e") == []
