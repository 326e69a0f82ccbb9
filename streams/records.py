"""What moves through the extraction stage: records in, grouped by session, and what each of them became.

All of it crosses a process border, so it is plain and picklable.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from memstream.schemas.errors import Reason


@dataclass(frozen=True, slots=True)
class Record:
    """One record of an event topic. `topic` is without its prefix; `appended_ms` is the broker's append time."""

    topic: str
    partition: int
    offset: int
    appended_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(slots=True)
class SessionWork:
    """The records of one key of one partition in log order, and its state before them (b"" where it has none)."""

    key: bytes | None
    state: bytes
    records: list[Record] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a record is dead-lettered."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Output:
    """What one record became: a patch for its scope, a dead letter, both (the patch is then the verdict), or neither.

    Neither: its patch was already sent before a crash, as the session's state tells. A `copy` goes to every partition.
    `unreadable`: its key is destroyed, and the patch says so. `missing` and `outcomes` are as of an Extraction.
    """

    record: Record
    patch_key: bytes | None = None
    patch: bytes | None = None
    copy: bytes | None = None
    refusal: Refusal | None = None
    mentions: int = 0
    assertions: int = 0
    unreadable: bool = False
    missing: tuple[str, ...] = ()
    outcomes: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class SessionResult:
    """One output for each record, in order, and the state after them (None: unchanged)."""

    key: bytes | None
    state: bytes | None
    outputs: list[Output] = field(default_factory=list)
