"""The dead letters with what was decided about them, read from their two topics."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any

from memstream.schemas.errors import TopicMismatch
from memstream.schemas.scope import is_within
from memstream.schemas.topics import Topic
from memstream.sealing import KeyStore, open_keys
from memstream.settings import Settings
from memstream.streams.dead_letters import PREFIX, Headers, LetterTold, Mark, Place, read_letter, read_mark
from memstream.streams.log_reader import read_to_end
from memstream.streams.sealed_letters import opened_letter


@dataclass(frozen=True, slots=True)
class Filed:
    """A dead letter: where it lies in its own topic, what its headers tell, its bytes, and its mark if it has one."""

    partition: int
    offset: int
    told: LetterTold
    key: bytes | None
    value: bytes | None
    headers: Headers
    mark: Mark | None = None

    @property
    def name(self) -> str:
        """What people call it by."""
        return f"{self.partition}:{self.offset}"

    @property
    def own_headers(self) -> Headers:
        """The headers that the record had before it was refused."""
        return tuple((name, value) for name, value in self.headers if not name.startswith(PREFIX))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which letters are meant. What is left out does not narrow. `scope` is meant with all below it.

    `since` and `until` are texts of ids.utc_text, compared with the origin's append time; `until` is excluded.
    `names` are places in the topic of dead letters. `done` takes in those that were retried or dropped.
    """

    reason: str | None = None
    scope: str | None = None
    since: str | None = None
    until: str | None = None
    names: frozenset[tuple[int, int]] = field(default_factory=frozenset)
    done: bool = False

    def takes(self, letter: Filed) -> bool:
        """Whether this letter is meant."""
        told = letter.told
        return (
            (self.done or letter.mark is None)
            and (not self.names or (letter.partition, letter.offset) in self.names)
            and self.reason in {None, told.reason}
            and (self.scope is None or (told.scope is not None and is_within(told.scope, self.scope)))
            and (self.since is None or told.time >= self.since)
            and (self.until is None or told.time < self.until)
        )


async def read_marks(settings: Settings) -> dict[Place, Mark]:
    """Every decision, by the place of the letter's origin. None where nobody has decided anything yet."""
    topic = settings.topic(Topic.DEAD_LETTER_DONE)
    marks: dict[Place, Mark] = {}
    try:
        async for record in read_to_end(settings, topic):
            mark = read_mark(record.key, record.value)
            if mark is not None:
                marks[mark.place] = mark
    except TopicMismatch:  # a lineage from before there were marks
        return {}
    return marks


async def read_letters(settings: Settings, wanted: Wanted) -> AsyncIterator[Filed]:
    """The letters that are meant, each once however often its origin was refused, partition by partition.

    Raises BrokerUnavailable, and TopicMismatch where there is no topic of dead letters, or no such partition of it.
    """
    marks = await read_marks(settings)
    keys = open_keys(settings)
    seen: set[Place] = set()
    topic = settings.topic(Topic.DEAD_LETTER)
    partitions = sorted({partition for partition, _ in wanted.names}) or None
    try:
        async for record in read_to_end(settings, topic, partitions):
            letter = filed(record, marks, keys)
            if letter.told.place not in seen and wanted.takes(letter):
                seen.add(letter.told.place)
                yield letter
    finally:
        if keys is not None:
            keys.close()


def filed(record: Any, marks: dict[Place, Mark], keys: KeyStore | None = None) -> Filed:
    """The letter of a record of the topic of dead letters, opened where it was sealed for this topic."""
    told = read_letter(record.headers, record.value, record.key)
    headers = tuple((name, value or b"") for name, value in record.headers)
    mark = marks.get(told.place)
    told, value, headers = opened_letter(keys, told, record.value, headers)
    return Filed(record.partition, record.offset, told, record.key, value, headers, mark)


def counted(letters: Iterable[LetterTold]) -> dict[str, int]:
    """How many there are of each reason, the most first."""
    counts: dict[str, int] = {}
    for told in letters:
        counts[told.reason] = counts.get(told.reason, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
