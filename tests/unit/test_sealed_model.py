"""A sealed log that a model reads beside the default extractor: its marks, its states, what a destroyed key takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from fake_model import NOTHING, Failure, FakeModel, fact, fake_model
from sealed import SCOPE, extraction, keys_at, one_by_one, patches, records, said, session

from memstream.extractors.merge.united import United
from memstream.extractors.options import OpenAiOptions
from memstream.extractors.plugins.openai_model import OpenAiExtractor
from memstream.extractors.registry import create_extractor
from memstream.schemas.patch import Patch, Verdict
from memstream.sealing import KeyStore
from memstream.sealing.patches import is_sealed_patch
from memstream.sinks.records import PatchRecord, decode
from memstream.streams.chunk import ChunkWorker

TALK = (said(0, "ana", "Mara Lind is my sister."), said(1, "ben", "She wears the captain's armband at Nimbus."))
BOSS = fact(("Nimbus", "Object"), "managed_by", ("Mara Lind", "Person"), "the captain's armband at Nimbus")

World = tuple[ChunkWorker, KeyStore, FakeModel]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An extraction with keys, and a model that knows whom a "she" means."""
    place, store = keys_at(tmp_path)
    with fake_model() as model:
        model.answers["She wears the captain's armband at Nimbus."] = {**NOTHING, "facts": [BOSS]}
        asking = OpenAiExtractor(OpenAiOptions(model.url, "tiny", tmp_path / "ledger.sqlite"))
        yield extraction(tmp_path, place, United([create_extractor("spacy"), asking])), store, model
        asking.close()


def opened(value: bytes, store: KeyStore) -> Patch:
    """A patch as a sink reads it."""
    return decode(PatchRecord(0, None, value), store).patch


def facts(patch: Patch) -> list[str]:
    """What it says of a leader."""
    return [row.text for row in patch.assertions if row.predicate == "managed_by"]


def test_what_the_model_took_from_somebody_erased_goes_with_her_key(world: World) -> None:
    """The name stands in Ana's message alone: without her key nobody can read what the model made of it."""
    worker, store, _ = world
    result = session(worker, records(TALK, store))
    first, second = patches(result.outputs)
    assert b"mara" not in b"".join([first, second, result.state or b""]).lower()
    assert facts(opened(second, store)) == ["Nimbus is managed by Mara Lind"]
    store.destroy(SCOPE, "ana")
    assert opened(first, store).verdict is Verdict.UNREADABLE
    assert facts(opened(second, store)) == []
    assert opened(second, store).verdict is Verdict.APPLIED


def test_it_makes_no_difference_how_a_session_is_cut(world: World) -> None:
    """What went before goes along with the state, sealed: the same bytes at once and one by one."""
    worker, store, _ = world
    log = records(TALK, store)
    at_once = session(worker, log)
    single, state = one_by_one(worker, log)
    assert patches(at_once.outputs) == patches(single)
    assert at_once.state == state


def test_a_mark_stands_in_clear(world: World) -> None:
    """So that re-extraction finds it whatever keys it has; opened, the patch has it as well."""
    worker, store, model = world
    model.down = Failure(401)
    for value in patches(session(worker, records(TALK, store)).outputs):
        assert is_sealed_patch(value)
        assert orjson.loads(value)["missing"] == ["openai"]
        assert opened(value, store).missing == ("openai",)
