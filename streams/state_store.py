"""The state of every session whose partition we hold: in memory, and in the compacted topic it is read back from."""

from __future__ import annotations

from collections.abc import Iterable

from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams import metrics
from memstream.streams.log_reader import read_to_end
from memstream.streams.session_state import SessionState


class SessionStates:
    """State by partition and key, as bytes. A partition is loaded before the first of its records is worked on."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._held: dict[int, dict[bytes, bytes]] = {}

    def holds(self, partition: int) -> bool:
        """Whether the partition was loaded."""
        return partition in self._held

    def get(self, partition: int, key: bytes | None) -> bytes:
        """The session's state; b"" at its start."""
        return self._held[partition].get(key, b"") if key is not None else b""

    def put(self, partition: int, key: bytes, state: bytes) -> None:
        """Keep the state that a session has now."""
        before = self._held[partition].get(key)
        self._held[partition][key] = state
        metrics.SESSIONS.inc(before is None)
        metrics.SESSION_BYTES.inc(len(state) - len(before or b""))

    def latest(self, partition: int) -> tuple[bytes, int] | None:
        """The key of the session whose state covers the greatest offset of a partition, and that offset."""
        covered = {key: SessionState.decode(state).covered for key, state in self._held.get(partition, {}).items()}
        key = max(covered, key=lambda key: covered[key], default=None)
        return None if key is None else (key, covered[key])

    def forget(self, partition: int) -> None:
        """Drop a partition: another process has it, or it will be loaded again."""
        self._held.pop(partition, None)
        self._count()

    async def load(self, partitions: Iterable[int]) -> None:
        """Read the partitions of the state topic to their end. Whoever wrote them must have been fenced before.

        Raises BrokerUnavailable.
        """
        wanted = sorted(set(partitions) - self._held.keys())
        if wanted:
            read: dict[int, dict[bytes, bytes]] = {partition: {} for partition in wanted}
            topic = Topic.SESSION_STATE.named(self._settings.topic_prefix)
            async for record in read_to_end(self._settings, topic, wanted):
                if record.value is None:
                    read[record.partition].pop(record.key, None)
                else:
                    read[record.partition][record.key] = record.value
            self._held.update(read)
            self._count()

    def _count(self) -> None:
        metrics.SESSIONS.set(sum(len(held) for held in self._held.values()))
        metrics.SESSION_BYTES.set(sum(len(state) for held in self._held.values() for state in held.values()))
