"""The sink: a batch of patches becomes one transaction, and is sealed in a second, tiny one.

Small batches of several partitions share a transaction. Its ordered steps: lock the partitions' offsets, then the heads
of the batch's scopes; drop what lies at or below the offset; of several patches of one event let the best one count;
take back what it replaces or what an erasure reaches; write nodes, edges, links, facts, chains; sweep stubs that
nothing refers to; keep what became true in the outbox; move the offsets. After the commit the batch is sealed: now it
can be read, all of it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from neo4j import Driver, ManagedTransaction, unit_of_work

from memstream.schemas.patch import Verdict
from memstream.sealing import KeyStore
from memstream.sinks import batch, lock, outbox, payloads, repeats
from memstream.sinks.failures import told_as_ours
from memstream.sinks.records import Applied, Change, PatchRecord, Place, Resume, Written, decode, refused

T = TypeVar("T")

# A worker that sleeps, or whose machine is gone, in the middle of a transaction holds its locks no longer than this.
MOST_SECONDS = 300.0


class GraphSink:
    """Applies the patches of partitions to one store. One instance may serve many partitions, one batch at a time.

    `worker` names this process in locks. A replay tells no watcher (`announce` is False) and names its run in
    `replay`: graphs that are marked as filled with a part of the log are for it alone. `keys` open sealed
    patches.
    """

    def __init__(
        self,
        driver: Driver,
        database: str,
        worker: str,
        *,
        announce: bool = True,
        replay: str | None = None,
        keys: KeyStore | None = None,
    ) -> None:
        self._replay = replay
        self.keys = keys
        self._driver = driver
        self._database = database
        self._worker = worker
        self._announce = announce

    def resume(self, topic: str, partition: int, partitions: int) -> Resume:
        """Where the partition stands; what was committed and not sealed is sealed.

        Raises TopicMismatch where the graph was built from a topic with another count of partitions, LogMismatch where
        a replay has marked it as not for this sink.
        """
        place = self._place(topic, partition)
        return self._write(lambda tx: lock.begin(tx, place, partitions, self._replay))

    def apply(self, topic: str, partition: int, batch_of: Sequence[PatchRecord]) -> Applied:
        """Apply the records of one partition, in the order of their offsets, and seal them; raises as `together`."""
        if not batch_of:
            return Applied()
        return self.together(topic, {partition: batch_of}).parts[self._place(topic, partition)]

    def together(self, topic: str, batches: Mapping[int, Sequence[PatchRecord]]) -> Written:
        """Apply records of several partitions in one transaction, and seal them: all of them are applied, or none.

        Raises InvalidPatch or PoisonError where a record can't be applied, and TransientError or GraphUnavailable where
        Neo4j does not take it now: the same batches may be given again.
        """
        at = {self._place(topic, partition): records for partition, records in batches.items() if records}
        if len(at) == 1 and (known := self._all_known(*next(iter(at.items())))) is not None:
            return known
        incoming = {place: [decode(record, self.keys) for record in records] for place, records in at.items()}
        written = self._write(lambda tx: batch.apply(tx, incoming, announce=self._announce))
        reached = {place: applied.last_offset for place, applied in written.parts.items()}
        self._write(lambda tx: lock.seal(tx, reached))
        parts = {
            place: replace(
                applied,
                unreadable=sum(one.patch.verdict is Verdict.UNREADABLE for one in incoming[place]),
                cut=sum(one.cut for one in incoming[place]),
            )
            for place, applied in written.parts.items()
        }
        return replace(written, parts=parts)

    def _all_known(self, place: Place, records: Sequence[PatchRecord]) -> Written | None:
        """Pass over a batch of nothing but repeats; None where it is something else."""
        if len(records) < repeats.LEAST or not self._write(lambda tx: repeats.all_known(tx, place, records)):
            return None
        last = max(records, key=lambda record: record.offset)
        self.pass_over(place.topic, place.partition, last.offset, repeats.key_of(last))
        return Written({place: Applied(dropped=len(records), last_offset=last.offset)})

    def erase_on(self, topic: str, partition: int) -> bool:
        """One step of the erasures that are not done in the partition. Returns whether there may be more to do."""
        place = self._place(topic, partition)
        return self._write(lambda tx: batch.step(tx, place)).erasing

    def loose_payloads(self, topic: str, partition: int, most: int) -> list[str]:
        """Handles of the offload store that no event keeps any more, to be deleted there."""
        place = self._place(topic, partition)
        return self._write(lambda tx: payloads.loose(tx, place, most))

    def let_go(self, handles: Sequence[str]) -> None:
        """These payloads are deleted in the offload store."""
        if handles:
            self._write(lambda tx: payloads.let_go(tx, handles))

    def refuse(self, topic: str, partition: int, record: PatchRecord, reason: str) -> None:
        """Go past a record that can never be applied: its Event says so where its origin can be read."""
        place = self._place(topic, partition)
        one = refused(record, reason)

        def write(tx: ManagedTransaction) -> int:
            if one is not None:
                return batch.apply(tx, {place: [one]}, announce=False).parts[place].last_offset
            return batch.skip(tx, place, record.offset)

        last = self._write(write)
        self._write(lambda tx: lock.seal(tx, {place: last}))

    def pass_over(self, topic: str, partition: int, offset: int, event: str | None) -> None:
        """Go past records that are not wanted, up to the one at `offset`, which is of this event."""
        place = self._place(topic, partition)
        last = self._write(lambda tx: batch.skip(tx, place, offset, event))
        self._write(lambda tx: lock.seal(tx, {place: last}))

    def pending_changes(self, topic: str, partition: int) -> list[Change]:
        """What became true and may not have been sent yet, in order."""
        return self._write(lambda tx: outbox.pending(tx, topic, partition))

    def forget_changes(self, ids: Sequence[str]) -> None:
        """These changes (by Change.id) were sent. All changes of one batch share an id: forget it once all are sent."""
        if ids:
            self._write(lambda tx: outbox.forget(tx, ids))

    def _place(self, topic: str, partition: int) -> Place:
        return Place(topic, partition, self._worker)

    def _write(self, work: Callable[[ManagedTransaction], T]) -> T:
        # the driver tries transient errors again, with growing pauses and jitter, for max_transaction_retry_time
        with told_as_ours(), self._driver.session(database=self._database) as session:
            return session.execute_write(unit_of_work(timeout=MOST_SECONDS)(work))
