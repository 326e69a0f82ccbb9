"""What goes into the sink and what comes out of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson
from pydantic import ValidationError

from memstream.schemas.errors import InvalidPatch
from memstream.schemas.patch import REFUSED_GENERATION, AssertionRow, EdgeRow, NodeRow, Origin, Patch, Verdict
from memstream.schemas.topics import record_key
from memstream.sealing import KeyMissing, KeyStore, SealBroken
from memstream.sealing.patches import is_sealed_patch, open_patch

_MIN_INT, _MAX_INT = -(2**63), 2**63 - 1
_PLAIN = frozenset({str, bool, float, type(None)})

_Row = NodeRow | EdgeRow | AssertionRow
Identity = tuple[str, str]
"""The scope of an event and its key, which is the id of its node."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A partition of the patches topic, and who writes it."""

    topic: str
    partition: int
    worker: str


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
    """What became of a batch: events applied, dropped as known or erased, and replaced by a better patch.

    `changes` are what became true. `erasing`: an erasure has work left, for GraphSink.erase_on. `unreadable` patches
    are sealed by a key that is destroyed; of `cut` ones a part is, since it was read with the help of somebody who is
    erased.
    """

    applied: int = 0
    dropped: int = 0
    replaced: int = 0
    last_offset: int = -1
    changes: list[Change] = field(default_factory=list)
    erasing: bool = False
    unreadable: int = 0
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Written:
    """A transaction: what became of each partition's batch, the rows of patches, and the nodes and edges written."""

    parts: dict[Place, Applied]
    rows: int = 0
    nodes: int = 0
    edges: int = 0


@dataclass(frozen=True, slots=True, order=True)
class Rank:
    """Which patch of an event counts: the least. A higher generation, then what came first in the log, then digest.

    A patch that only says that its event was refused is of the lowest generation, whoever refused it (see
    Incoming.generation): the event put back rightly, under the same id, wins in any order.
    """

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
    """A decoded record: the patch, its offset in the patches topic, and the digest of what it says.

    `cut`: sealed parts of it can't be read any more. The digest is of the record as it lies in the log, sealed or not:
    so it stays the same when a key is destroyed. `lost` are the entities that the patch named by the help of events
    which are erased, and names no more.
    """

    offset: int
    patch: Patch
    digest: str
    cut: bool = False
    lost: frozenset[str] = frozenset()

    @cached_property
    def scope(self) -> str:
        """The scope of its event."""
        return self.patch.origin.scope

    @cached_property
    def key(self) -> str:
        """The identity of its event."""
        return self.patch.origin.key

    @cached_property
    def payloads(self) -> frozenset[str]:
        """The handles of the payloads that the patch names."""
        return frozenset(payload for row in self.patch.nodes if (payload := row.props.get("offload")) is not None)

    @cached_property
    def identity(self) -> Identity:
        """Its event, in the graph."""
        return self.scope, self.key

    @property
    def generation(self) -> int:
        """Its extractor's generation; the lowest of all where the event was refused."""
        return REFUSED_GENERATION if self.patch.verdict is Verdict.DEAD_LETTERED else self.patch.generation

    @cached_property
    def rank(self) -> Rank:
        """Its rank among patches of the same event."""
        origin = self.patch.origin
        place = (origin.recorded_at, origin.topic, origin.partition, origin.offset)
        return Rank.of(self.generation, place, self.digest)


def decode(record: PatchRecord, keys: KeyStore | None = None) -> Incoming:
    """The patch of a record, opened with `keys` as far as they are there.

    Raises InvalidPatch: its form, its key, or what a graph can't hold; KeyMissing where it is sealed for others.
    """
    value, cut = _opened(record.value, keys)
    patch = Patch.decode(value)
    _check_key(record, patch.origin.scope)
    _check_generation(patch)
    rows: tuple[_Row, ...] = (*patch.nodes, *patch.edges, *patch.assertions)
    for row in rows:
        if not _is_plain(row.props):
            _check_props(row, row.props)
    return Incoming(record.offset, patch, digest_of(record.value or b""), cut)


def _opened(value: bytes | None, keys: KeyStore | None) -> tuple[bytes | None, bool]:
    if value is None or not is_sealed_patch(value):
        return value, False
    if keys is None:
        raise KeyMissing(
            "the patches are sealed, and MEMSTREAM_KEYS is not set here: set it to the store of keys that the "
            "extraction stage uses"
        )
    try:
        opened = open_patch(keys, value)
    except SealBroken as error:
        raise InvalidPatch(str(error)) from error
    return opened.value, opened.dropped > 0 and not opened.unreadable


def refused(record: PatchRecord, reason: str) -> Incoming | None:
    """A patch without rows that says why the record's was refused; None where its origin can't be read either."""
    origin = _origin(record)
    if origin is None:
        return None
    patch = Patch(
        generation=REFUSED_GENERATION,
        extractor="",
        origin=origin,
        verdict=Verdict.DEAD_LETTERED,
        reason=reason,
    )
    return Incoming(record.offset, patch, digest_of(record.value or b""))


def key_of(record: PatchRecord) -> str | None:
    """The key of the event that a patch is of, sealed or not; None for a record that does not tell."""
    origin = _origin(record)
    return origin.key if origin is not None else None


def _origin(record: PatchRecord) -> Origin | None:
    try:
        raw = orjson.loads(record.value or b"")
        origin = Origin.model_validate(raw["origin"])
        _check_key(record, origin.scope)
    except (orjson.JSONDecodeError, ValidationError, InvalidPatch, KeyError, TypeError, AttributeError):
        return None
    return origin


def _check_key(record: PatchRecord, scope: str) -> None:
    if record.key is not None and record.key != record_key(scope):
        raise InvalidPatch(f"the key of the record at offset {record.offset} is not its scope {scope!r}")


def _check_generation(patch: Patch) -> None:
    rowless = patch.verdict in {Verdict.DEAD_LETTERED, Verdict.UNREADABLE}
    if patch.generation <= REFUSED_GENERATION and not rowless:
        raise InvalidPatch(
            f"the patch of event {patch.origin.id!r} has generation {patch.generation}: extractors begin with "
            f"{REFUSED_GENERATION + 1}, below are events that were refused"
        )


def _is_plain(props: dict[str, Any]) -> bool:
    """Whether all that is to be checked is sound at a glance, as nearly always."""
    return _PLAIN.issuperset(map(type, props.values())) and all(map(str.isidentifier, props))


def _check_props(row: _Row, props: dict[str, Any]) -> None:
    what = _named(row)
    for name, value in props.items():
        if not name or "\0" in name:
            raise InvalidPatch(f"{what} has a property {name!r}, which is no name that Neo4j takes")
        if not _storable(value):
            raise InvalidPatch(
                f"property {name!r} of {what} is no text, number, truth value or list of one kind of them: "
                "write it as JSON text"
            )


def _named(row: _Row) -> str:
    match row:
        case NodeRow():
            return f"node {row.label} {row.id}"
        case EdgeRow():
            return f"edge {row.type} from {row.from_id}"
        case AssertionRow():
            return f"assertion {row.id}"


def _storable(value: Any) -> bool:
    if isinstance(value, list):
        return len({type(one) for one in value}) <= 1 and all(_is_scalar(one) for one in value)
    return value is None or _is_scalar(value)


def _is_scalar(value: Any) -> bool:
    if type(value) is int:
        return _MIN_INT <= value <= _MAX_INT
    return isinstance(value, str | bool | float)


def digest_of(value: bytes) -> str:
    """The hash of a patch without its place in the log: what it says, wherever and in whichever version it was written.

    A field that came later is in no older patch, so what says the same has the hash that it had in the first version.
    """
    raw = orjson.loads(value)
    if "version" in raw:
        raw["version"] = 1
    for name in ("topic", "partition", "offset", "recorded_at"):
        raw["origin"].pop(name, None)
    return hashlib.sha256(orjson.dumps(raw, option=orjson.OPT_SORT_KEYS)).hexdigest()
