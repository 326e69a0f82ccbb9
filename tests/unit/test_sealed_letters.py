"""Dead letters of a sealed log: nothing in clear, readable with the keys, put back sealed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import orjson
import pytest
from sealed import SCOPE, keys_at, records, said

from memstream.schemas import cloudevents
from memstream.schemas.errors import InvalidInput, Reason
from memstream.schemas.topics import Topic
from memstream.sealing import KeyStore, is_sealed
from memstream.sealing.events import open_event
from memstream.streams.dead_letters import read_letter, write_letter
from memstream.streams.letter_book import Filed, filed
from memstream.streams.letter_return import as_document, corrected, opened, untouched
from memstream.streams.records import Record, Refusal
from memstream.streams.sealed_letters import sealed_letter

TALK = said(0, "ana", "Mara lives in Rome.")
REFUSAL = Refusal(Reason.BAD_FIELD, "'Mara' is wrong")


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    """A file of keys."""
    return keys_at(tmp_path)[1]


def letter_of(record: Record, store: KeyStore, keys: KeyStore | None) -> Filed:
    """The letter of a record of a sealed log, read with some keys."""
    made = sealed_letter(store, write_letter(record, REFUSAL, "extract"))
    raw = b"".join([made.value or b"", *(value for _, value in made.headers)])
    assert b"Mara" not in raw
    assert b"bad_field" in raw
    taken = SimpleNamespace(partition=0, offset=5, key=made.key, value=made.value, headers=made.headers)
    return filed(taken, {}, keys)


def structured(record: Record, **more: object) -> Record:
    """The event of a record in structured mode, as clients of others publish it, in clear."""
    event = cloudevents.decode(record.headers, record.value)
    document = orjson.loads(cloudevents.encode_structured(event)) | more
    return replace(record, value=orjson.dumps(document), headers=(("content-type", b"application/cloudevents+json"),))


def test_a_sealed_record_stays_untouched_and_can_be_read(store: KeyStore) -> None:
    """Its bytes are those of the publisher; document and message are there for who has the keys."""
    [record] = records([TALK], store)
    letter = letter_of(record, store, store)
    assert (letter.value, letter.own_headers) == (record.value, record.headers)
    assert (letter.told.message, letter.told.scope) == (REFUSAL.message, SCOPE)
    assert orjson.loads(as_document(opened(letter, store)))["data"]["content"] == "Mara lives in Rome."
    back = untouched(letter, keys=store)
    assert back.value == record.value
    assert dict(back.headers)["ce_recordedtime"]


@pytest.mark.parametrize("binary", [True, False])
def test_a_record_in_clear_is_sealed_by_its_subject_and_goes_back_sealed(store: KeyStore, binary: bool) -> None:
    """In both modes; the key of the subject, so that an erasure reaches it."""
    [record] = records([TALK], None)
    record = record if binary else structured(record)
    letter = letter_of(record, store, store)
    assert (letter.value, letter.told.message) == (record.value, REFUSAL.message)
    assert [row.subject for row in store.rows()] == ["ana"]
    back = untouched(letter, keys=store)
    assert back.topic is Topic.CONVERSATION
    assert is_sealed(back.value)
    found = open_event(store, back.value or b"", back.headers)
    assert found is not None
    assert cloudevents.decode(found.headers, found.value).data == TALK.data
    store.destroy(SCOPE, "ana")
    again = letter_of(record, store, store)  # refused once more, by a new generation of the key
    assert again.told.message == REFUSAL.message


def test_a_correction_goes_back_sealed(store: KeyStore) -> None:
    """The person who corrects it writes in clear."""
    [record] = records([TALK], store)
    letter = letter_of(record, store, store)
    back = corrected(letter, as_document(opened(letter, store)).replace(b"Rome", b"Oslo"), store)
    found = open_event(store, back.value or b"", back.headers)
    assert found is not None
    assert b"Oslo" in found.value
    assert b"Oslo" not in (back.value or b"")


def test_what_is_no_event_goes_back_sealed_or_not_at_all(store: KeyStore) -> None:
    """With its envelope in the headers it is sealed as it is; without one it would lie in clear."""
    [record] = records([TALK], None)
    broken = replace(record, value=b'{"text": "Mara"}')
    letter = letter_of(broken, store, store)
    with pytest.raises(InvalidInput, match="refused again"):
        untouched(letter, keys=store)
    back = untouched(letter, anyway=True, keys=store)
    found = open_event(store, back.value or b"", back.headers)
    assert found is not None
    assert found.value == broken.value
    nobody = letter_of(replace(broken, headers=()), store, store)
    with pytest.raises(InvalidInput, match="can't be sealed"):
        untouched(nobody, anyway=True, keys=store)


def test_a_letter_of_somebody_erased_says_so(store: KeyStore) -> None:
    """It is listed with its reason, and can only be put away; without keys it is told what to set."""
    [record] = records([TALK], store)
    letter_of(record, store, store)
    made = sealed_letter(store, write_letter(record, REFUSAL, "extract"))
    taken = SimpleNamespace(partition=0, offset=5, key=made.key, value=made.value, headers=made.headers)
    with pytest.raises(InvalidInput, match="set MEMSTREAM_KEYS"):
        opened(filed(taken, {}), None)
    store.destroy(SCOPE, "ana")
    letter = filed(taken, {}, store)
    assert letter.told.message == "it is sealed, and its key is destroyed"
    assert letter.told.reason == "bad_field"
    with pytest.raises(InvalidInput, match="dlq drop 0:5"):
        untouched(letter, keys=store)


def test_of_what_tells_nothing_the_key_is_nobodys(store: KeyStore) -> None:
    """Bytes without scope and key are sealed all the same."""
    letter = letter_of(Record("conversation", 0, 1, 0, None, b"\xffMara", ()), store, store)
    assert letter.value == b"\xffMara"
    assert [(row.scope, row.subject) for row in store.rows()] == [("", "")]


def test_without_keys_letters_are_as_ever() -> None:
    """Off: the very same letter."""
    [record] = records([TALK], None)
    letter = write_letter(record, REFUSAL, "extract")
    assert sealed_letter(None, letter) is letter
    assert read_letter(letter.headers, letter.value).message == REFUSAL.message
