"""Dead letters: what is kept untouched, what is told, and what is cut."""

from __future__ import annotations

import hashlib

from memstream.schemas.errors import Reason
from memstream.schemas.limits import MAX_DEAD_LETTER_BYTES
from memstream.streams.dead_letters import read_letter, write_letter
from memstream.streams.records import Record, Refusal

REFUSAL = Refusal(Reason.BAD_TIME, "the year 3000 is far away")


def record(value: bytes | None, headers: tuple[tuple[str, bytes], ...] = (), key: bytes | None = b"k") -> Record:
    """A record of the conversation topic."""
    return Record("conversation", 3, 17, 1_772_787_600_000, key, value, headers)


def test_a_letter_keeps_key_bytes_and_headers_and_tells_its_origin() -> None:
    """Reading a letter gives all that was said when it was written."""
    own = (("ce_id", b"e1"), ("ce_type", b"memstream.message.v1"), ("odd", b"\xff"))
    letter = write_letter(record(b"\x00\xffbytes", own), REFUSAL, "extract")
    assert (letter.key, letter.value) == (b"k", b"\x00\xffbytes")
    assert letter.headers[:3] == own
    told = read_letter(letter.headers, letter.value)
    assert (told.topic, told.partition, told.offset) == ("conversation", 3, 17)
    assert told.time == "2026-03-06T09:00:00.000000Z"
    assert (told.reason, told.message, told.stage) == ("bad_time", REFUSAL.message, "extract")
    assert (told.event_id, told.event_type, told.size, told.cut) == ("e1", "memstream.message.v1", 7, False)


def test_a_value_that_is_too_large_is_cut_and_says_what_the_whole_was() -> None:
    """Size and hash of the whole are told; key and value together fit the limit."""
    value = bytes(range(256)) * 12_000
    letter = write_letter(record(value), REFUSAL, "extract")
    assert letter.value is not None
    assert len(letter.value) + 1 == MAX_DEAD_LETTER_BYTES
    assert value.startswith(letter.value)
    told = read_letter(letter.headers, letter.value)
    assert (told.cut, told.size, told.sha256) == (True, len(value), hashlib.sha256(value).hexdigest())


def test_a_record_without_value_or_key_has_a_letter_too() -> None:
    """Nothing is made up for what was not there."""
    letter = write_letter(record(None, key=None), REFUSAL, "sink")
    assert (letter.key, letter.value) == (None, None)
    assert read_letter(letter.headers, letter.value).size == 0


def test_foreign_headers_are_bounded() -> None:
    """A record with a megabyte of headers has a letter that the topic takes."""
    headers = tuple((f"h{n}", b"x" * 1_000) for n in range(1_000))
    letter = write_letter(record(b"v", headers), REFUSAL, "extract")
    assert sum(len(name) + len(value) for name, value in letter.headers) < 40_000
    assert read_letter(letter.headers, letter.value).reason == "bad_time"


def test_a_record_that_is_no_letter_reads_as_empty() -> None:
    """A stranger in the topic harms no list."""
    told = read_letter([("dl_offset", b"abc"), ("dl_reason", b"\xff")], b"v")
    assert (told.offset, told.topic, told.size) == (0, "", 1)
