"""What goes into the sink and what comes out of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from memstream.schemas.errors import InvalidPatch
from memstream.schemas.patch import Patch
from memstream.schemas.topics import record_key


@dataclass(frozen=True, slots=True)
class PatchRecord:
    """One record of the patches topic."""

    offset: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Resume:
    """Where a partition stands: the offset applied last and its event's key; both None before the first."""

    offset: int | None
    event: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """Something that became true. `id` names the outbox entry that holds it; one entry holds the changes of a batch."""

    id: str
    scope: str
    partition: int
    offset: int
    ordinal: int
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a batch: events applied, dropped as known or erased, and replaced by a better patch."""

    applied: int = 0
    dropped: int = 0
    replaced: int = 0
    rows: int = 0
    nodes: int = 0
    edges: int = 0
    last_offset: int = -1
    changes: list[Change] = field(default_factory=list)


@dataclass(frozen=True, slots=True, order=True)
class Rank:
    """Which patch of an event counts: the least. A higher generation, then what came first in the log, then digest."""

    generation: int
    recorded_at: str
    topic: str
    partition: int
    offset: int
    digest: str

    @classmethod
    def of(cls, generation: int, place: tuple[str, str, int, int], digest: str) -> Rank:
        """Rank of a patch by its origin's place (recorded at, topic, partition, offset)."""
        return cls(-generation, *place, digest)


@dataclass(frozen=True)
class Incoming:
    """A decoded record: the patch, its offset in the patches topic, and the digest of what it says."""

    offset: int
    patch: Patch
    digest: str

    @cached_property
    def scope(self) -> str:
        """The scope of its event."""
        return self.patch.origin.scope

    @cached_property
    def key(self) -> str:
        """The identity of its event."""
        return self.patch.origin.key

    @cached_property
    def rank(self) -> Rank:
        """Its rank among patches of the same event."""
        origin = self.patch.origin
        place = (origin.recorded_at, origin.topic, origin.partition, origin.offset)
        return Rank.of(self.patch.generation, place, self.digest)


def decode(record: PatchRecord) -> Incoming:
    """The patch of a record. Raises InvalidPatch with what is wrong."""
    patch = Patch.decode(record.value)
    if record.key is not None and record.key != record_key(patch.origin.scope):
        raise InvalidPatch(
            f"the record at offset {record.offset} has a key that is not its scope {patch.origin.scope!r}"
        )
    return Incoming(record.offset, patch, digest_of(record.value or b""))


def digest_of(value: bytes) -> str:
    """The hash of a patch without its place in the log: what it says, wherever it was published."""
    raw = orjson.loads(value)
    for name in ("topic", "partition", "offset", "recorded_at"):
        raw["origin"].pop(name, None)
    return hashlib.sha256(orjson.dumps(raw, option=orjson.OPT_SORT_KEYS)).hexdigest()
