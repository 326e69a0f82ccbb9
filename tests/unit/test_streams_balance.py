"""How sessions are spread over chunks, and records over transactions."""

from __future__ import annotations

from typing import NamedTuple

from aiokafka import TopicPartition
from hypothesis import given, settings
from hypothesis import strategies as st

from memstream.streams.pool import Patience, balance
from memstream.streams.records import Record, SessionWork
from memstream.streams.sink_partition import cut, together


class Sized(NamedTuple):
    """A record of the patches topic, as far as its size matters."""

    value: bytes | None


def work(*sizes: int) -> SessionWork:
    """A session with records of these sizes."""
    return SessionWork(b"k", b"", [Record("conversation", 0, n, 0, b"k", b"x" * size) for n, size in enumerate(sizes)])


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 5_000), min_size=1, max_size=5), max_size=40), st.integers(1, 8))
def test_every_session_is_in_one_chunk(sizes: list[list[int]], parts: int) -> None:
    """Chunks part the sessions: none twice, none missing, none empty, not more than asked for."""
    chunks = balance([work(*one) for one in sizes], parts)
    assert sorted(index for chunk in chunks for index in chunk) == list(range(len(sizes)))
    assert all(chunks)
    assert len(chunks) <= parts


def test_chunks_are_of_about_equal_cost() -> None:
    """One long session does not share its chunk while others are lighter; the costliest comes first."""
    chunks = balance([work(100), work(10_000), work(100), work(100)], 2)
    assert chunks == [[1], [0, 2, 3]]


def test_patience_grows_with_the_text() -> None:
    """A chunk of long texts may take longer before it is taken to hang."""
    patience = Patience(seconds=10.0, per_kilobyte=2.0)
    assert patience.of([work(800)]) == 12.0
    assert patience.of([work(100_800)]) == 212.0


@settings(deadline=None)
@given(st.lists(st.sampled_from([None, 10, 6 * 2**20]), max_size=30), st.integers(1, 5))
def test_batches_of_the_sink_are_bounded_and_in_order(sizes: list[int | None], most: int) -> None:
    """Records keep their order; no batch has too many, nor too many bytes unless it has one record."""
    records = [Sized(None if size is None else bytes(size)) for size in sizes]
    batches = list(cut(records, most))
    assert [record for batch in batches for record in batch] == records
    for batch in batches:
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or sum(len(record.value or b"") for record in batch) <= 16 * 2**20


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from([None, 10, 6 * 2**20]), min_size=1, max_size=9), max_size=12))
def test_partitions_share_transactions_of_bounded_size(partitions: list[list[int | None]]) -> None:
    """Each partition is in one group with all that was taken of it; only one that is alone may exceed the bounds."""
    taken = {
        TopicPartition("t", number): [Sized(None if size is None else bytes(size)) for size in sizes]
        for number, sizes in enumerate(partitions)
    }
    groups = list(together(taken, 10))
    assert sorted((tp for group in groups for tp in group), key=str) == sorted(taken, key=str)
    for group in groups:
        assert all(records is taken[tp] for tp, records in group.items())
        records = [record for some in group.values() for record in some]
        size = sum(len(record.value or b"") for record in records)
        assert len(group) == 1 or (len(records) <= 10 and size <= 16 * 2**20)
