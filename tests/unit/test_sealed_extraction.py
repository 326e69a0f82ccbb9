"""Sealed events through the extraction stage: what leaves it is sealed, and what can't be opened is a wall."""

from __future__ import annotations

from pathlib import Path

import pytest
from sealed import SCOPE, extraction, keys_at, one_by_one, patches, records, said, session

from memstream.folds.erasure import uses, without
from memstream.schemas.patch import Patch, Verdict
from memstream.sealing import KeyMissing, KeysPlace, KeyStore
from memstream.sealing.patches import is_sealed_patch
from memstream.sinks.records import PatchRecord, decode
from memstream.streams.chunk import ChunkWorker

TALK = (
    said(0, "ana", "I met Mara Lind yesterday. Mara Lind works at Nimbus."),
    said(1, "ben", "She moved to Rome. I live in Porto."),
    said(2, "ana", "Where does she work?"),
    said(3, "ben", "At Quillon Labs. My brother is Tom Hale."),
    said(4, "ben", "Tom works at Vexel."),
    said(5, "ana", "He lives in Lisbon."),
)


@pytest.fixture(scope="module")
def clear(tmp_path_factory: pytest.TempPathFactory) -> list[Patch]:
    """The patches of the talk, published in clear."""
    worker = extraction(tmp_path_factory.mktemp("clear"))
    return [Patch.decode(value) for value in patches(session(worker, records(TALK, None)).outputs)]


@pytest.fixture(scope="module")
def sealing(tmp_path_factory: pytest.TempPathFactory) -> tuple[ChunkWorker, KeysPlace]:
    """An extraction with keys of its own."""
    place, _ = keys_at(tmp_path_factory.mktemp("keys"))
    return extraction(tmp_path_factory.mktemp("sealed"), place), place


@pytest.fixture
def world(tmp_path: Path, sealing: tuple[ChunkWorker, KeysPlace]) -> tuple[ChunkWorker, KeyStore]:
    """The extraction with an empty store of keys."""
    from memstream.streams.seals import Seals  # noqa: PLC0415

    worker, _ = sealing
    place, store = keys_at(tmp_path)
    worker._seals = Seals(place.open())
    return worker, store


def opened(values: list[bytes], store: KeyStore) -> list[Patch]:
    """Patches as a sink reads them."""
    return [decode(PatchRecord(n, None, value), store).patch for n, value in enumerate(values)]


def test_nobody_reads_a_word_of_it_and_the_sink_reads_all(
    world: tuple[ChunkWorker, KeyStore], clear: list[Patch]
) -> None:
    """Records, patches and the session's state hold no text; opened, the patches are those of a log in clear."""
    worker, store = world
    log = records(TALK, store)
    result = session(worker, log)
    made = patches(result.outputs)
    raw = b"".join([*(record.value or b"" for record in log), *made, result.state or b""]).lower()
    for word in (b"mara", b"nimbus", b"rome", b"porto", b"quillon", b"vexel", b"brother"):
        assert word not in raw
    assert all(map(is_sealed_patch, made))
    assert opened(made, store) == clear
    assert any(uses(patch) for patch in clear)


def test_it_makes_no_difference_how_a_session_is_cut(world: tuple[ChunkWorker, KeyStore]) -> None:
    """At once, again, or record by record: the same bytes of patches and state."""
    worker, store = world
    log = records(TALK, store)
    at_once, again = session(worker, log), session(worker, log)
    single, state = one_by_one(worker, log)
    assert patches(at_once.outputs) == patches(again.outputs) == patches(single)
    assert at_once.state == again.state == state


@pytest.mark.parametrize("who", ["ana", "ben"])
def test_a_destroyed_key_takes_what_the_erasure_takes(
    world: tuple[ChunkWorker, KeyStore], clear: list[Patch], who: str
) -> None:
    """Patches about the person can't be read; of the others goes what was read with the help of these, no more."""
    worker, store = world
    made = patches(session(worker, records(TALK, store)).outputs)
    store.destroy(SCOPE, who)
    gone = {patch.origin.key for patch in clear if patch.origin.subject == who}
    for patch, now in zip(clear, opened(made, store), strict=True):
        if patch.origin.key in gone:
            assert (now.verdict, now.nodes, now.origin) == (Verdict.UNREADABLE, (), patch.origin)
            assert now.generation == patch.generation
        else:
            assert now == without(patch, gone)
    changed = [patch for patch in clear if patch.origin.key not in gone and without(patch, gone) is not patch]
    assert changed


@pytest.mark.parametrize("seen", [True, False])
def test_what_cannot_be_opened_is_passed_over_and_nothing_is_resolved_past_it(
    world: tuple[ChunkWorker, KeyStore], seen: bool
) -> None:
    """No pronoun and no answer behind an erased message is about what was before it; the session goes on behind it.

    (Without the message they are: so it is the wall that holds them off.)
    """
    worker, store = world
    ana = (said(2, "ana", "I met Mara Lind today."),) if seen else ()
    talk = (
        said(0, "ben", "I met Jana Lind yesterday. Jana Lind works at Nimbus."),
        said(1, "cem", "Where does she work?"),
        *ana,
        said(3, "ben", "At Quillon Labs."),
        said(4, "ben", "She moved to Rome."),
        said(5, "ben", "My sister is Ines Duarte. She lives in Lisbon."),
    )
    log = records(talk, store)
    store.destroy(SCOPE, "ana")
    result = session(worker, log)
    single, state = one_by_one(worker, log)
    assert patches(single) == patches(result.outputs)
    assert state == result.state
    found = {patch.origin.id: patch for patch in opened(patches(result.outputs), store)}
    about_jana = [text for one in ("e3", "e4") for text in texts(found[one]) if "Quillon" in text or "Rome" in text]
    assert bool(about_jana) is not seen
    assert [text for text in texts(found["e5"]) if "Lisbon" in text]
    if seen:
        passed = found["e2"]
        assert (passed.verdict, passed.generation, passed.origin.subject) == (Verdict.UNREADABLE, 0, "ana")
        assert (passed.origin.key, passed.origin.session_id) == (talk[2].key, "s")
    else:
        assert len(about_jana) == 2


def texts(patch: Patch) -> list[str]:
    """What a patch asserts."""
    return [said.text for said in patch.assertions]


def test_a_state_with_words_of_somebody_erased_is_begun_anew(world: tuple[ChunkWorker, KeyStore]) -> None:
    """What the session had said is forgotten, its offsets and known events are not."""
    worker, store = world
    before = session(worker, records(TALK[:1], store))
    assert before.state is not None
    store.destroy(SCOPE, "ana")
    result = session(worker, records(TALK[1:2], store), before.state)
    [she] = opened(patches(result.outputs), store)
    assert not [said.text for said in she.assertions if "Rome" in said.text]
    again = session(worker, records(TALK[:2], store), result.state or b"")
    assert patches(again.outputs) == []


def test_a_worker_without_the_keys_stops(tmp_path: Path, world: tuple[ChunkWorker, KeyStore]) -> None:
    """It passes nothing over that it only lacks the keys of: no key setting, or another store."""
    worker, store = world
    log = records(TALK[:1], store)
    from memstream.streams.seals import Seals  # noqa: PLC0415

    other = tmp_path / "other"
    other.mkdir()
    for seals in (Seals(None), Seals(keys_at(other)[1])):
        worker._seals = seals
        with pytest.raises(KeyMissing, match="MEMSTREAM_KEYS"):
            session(worker, log)


def test_what_was_published_in_clear_leaves_sealed(world: tuple[ChunkWorker, KeyStore], clear: list[Patch]) -> None:
    """Events of other clients: their patches are sealed under their subjects' keys."""
    worker, store = world
    made = patches(session(worker, records(TALK, None)).outputs)
    assert all(map(is_sealed_patch, made))
    assert opened(made, store) == clear
