"""Workers for the pool's tests; children import them through PYTHONPATH. What a record's bytes say decides."""

from __future__ import annotations

import os
import time

from memstream.schemas.errors import Reason, TransientError
from memstream.streams.records import Output, Record, Refusal, SessionResult, SessionWork


class Workers:
    """Appends every value to the session's state; fails as a value says."""

    def process(self, works: list[SessionWork]) -> list[SessionResult]:
        """One result for each session."""
        return [self._session(work) for work in works]

    def _session(self, work: SessionWork) -> SessionResult:
        state, outputs = work.state, []
        for record in work.records:
            value = record.value or b""
            self._fail(value)
            state += value
            outputs.append(Output(record, record.key, value.upper()))
        return SessionResult(work.key, state, outputs)

    def _fail(self, value: bytes) -> None:
        if value == b"die":
            os._exit(9)
        if value == b"hang":
            time.sleep(3_600)
        if value == b"bug":
            raise RuntimeError("a bug")
        if value.startswith(b"once:"):  # dies at the first try only
            marker = value[5:].decode()
            if not os.path.exists(marker):  # noqa: PTH110 - a plain path from the test
                os.close(os.open(marker, os.O_CREAT))
                os._exit(9)
        if value.startswith(b"away:"):  # what it needs is away at the first try
            marker = value[5:].decode()
            if not os.path.exists(marker):  # noqa: PTH110
                os.close(os.open(marker, os.O_CREAT))
                raise TransientError("the endpoint does not answer")
        if value.startswith(b"slow"):
            deadline = time.monotonic() + 0.3
            while time.monotonic() < deadline:
                pass


class Unloadable:
    """Can't be made."""

    def __init__(self) -> None:
        raise RuntimeError("no model here")

    def process(self, works: list[SessionWork]) -> list[SessionResult]:
        """Never called."""
        raise NotImplementedError


def refuse(record: Record, refusal: Refusal) -> Output:
    """A refusal without a patch."""
    assert refusal.reason is Reason.EXTRACTION_FAILED
    return Output(record, refusal=refusal)
