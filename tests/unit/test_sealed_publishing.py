"""What a publisher does to events before they leave it where the log is sealed."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sealed import SCOPE, event, said

from memstream.client import AsyncPublisher
from memstream.client.outbox import _after_ack
from memstream.schemas.cloudevents import encode
from memstream.schemas.statement import Erased, ErasureKind
from memstream.sealing import KeysReadOnly, is_sealed, open_keys
from memstream.sealing.events import open_event
from memstream.settings import Settings, load

ERASED = event(9, None, Erased(kind=ErasureKind.USER, ids=("ana",)))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with a file of keys."""
    return load(keys=(tmp_path / "keys.db").as_uri())


@pytest.fixture
async def publisher(settings: Settings) -> AsyncIterator[AsyncPublisher]:
    """A publisher that never meets a broker."""
    made = AsyncPublisher(SCOPE, settings=settings)
    yield made
    await made.close()


async def test_data_is_sealed_and_the_envelope_is_not(publisher: AsyncPublisher, settings: Settings) -> None:
    """One event gives the same record each time it is published; the envelope's headers stay as they are."""
    talk = said(0, "ana", "Mara lives in Rome.")
    entry, again = publisher._entry(talk), publisher._entry(talk)
    key, value, headers = encode(talk)
    assert (entry.key, entry.value, entry.acked) == (key, again.value, None)
    assert is_sealed(entry.value)
    assert dict(entry.headers) == dict(headers) | {"content-type": b"application/vnd.memstream.sealed"}
    store = open_keys(settings)
    assert store is not None
    opened = open_event(store, entry.value, entry.headers)
    assert opened is not None
    assert (opened.value, dict(opened.headers)) == (value, dict(headers))
    assert [(row.scope, row.subject) for row in store.rows()] == [(SCOPE, "ana")]


async def test_an_erasure_goes_out_in_clear_and_destroys_keys_once_acked(
    publisher: AsyncPublisher, settings: Settings
) -> None:
    """Not before; with a time limit never."""
    publisher._entry(said(0, "ana", "Mara lives in Rome."))
    entry = publisher._entry(ERASED)
    store = open_keys(settings)
    assert store is not None
    assert (entry.value, entry.headers) == encode(ERASED)[1:]
    assert [row.destroyed for row in store.rows()] == [None]
    assert _after_ack(entry) is None
    assert [row.destroyed is None for row in store.rows()] == [False]
    limited = Erased(kind=ErasureKind.USER, ids=("ana",), until=ERASED.time)
    assert publisher._entry(event(8, None, limited)).acked is None


async def test_where_keys_are_read_only_the_handle_tells_what_is_left_to_do() -> None:
    """The erasure is in the log; the error says which entry to replace."""
    entry = {"id": "ab" * 12, "scope": SCOPE, "subject": "ana", "key": base64.b64encode(bytes(32)).decode()}
    publisher = AsyncPublisher(SCOPE, settings=load(keys="env:", keys_json=json.dumps([entry])))
    told = _after_ack(publisher._entry(ERASED))
    assert isinstance(told, KeysReadOnly)
    assert "the erasure is in the log" in str(told)
    assert entry["id"] in str(told)
    await publisher.close()


async def test_without_keys_records_are_as_ever() -> None:
    """Off: the very bytes of the contract."""
    publisher = AsyncPublisher(SCOPE, settings=load())
    talk = said(0, "ana", "Mara lives in Rome.")
    entry = publisher._entry(talk)
    assert (entry.key, entry.value, entry.headers) == encode(talk)
    await publisher.close()
