"""The process at the other end of the pool: reads work from standard input, writes results to standard output.

It is started with `python -m`, loads its worker once, and ends when its input does: so it never outlives its parent,
however that died. A frame is eight bytes of length and a pickle; both ends are of the same installation.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import threading
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO, Protocol

from memstream.schemas.errors import MemstreamError, PoisonError, TransientError
from memstream.streams.collector import search_seldom
from memstream.streams.records import SessionResult, SessionWork

LENGTH_BYTES = 8
READY, DONE, TRANSIENT, POISON, BROKEN = "ready", "done", "transient", "poison", "broken"
_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class Worker(Protocol):
    """What a child does: sessions in, results out, in the same order."""

    def process(self, works: list[SessionWork]) -> list[SessionResult]:
        """Work off one chunk. A PoisonError or TransientError is told to the parent as such."""


def frame(value: Any) -> bytes:
    """A value as it goes through the pipe."""
    body = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def main() -> None:
    """Load the worker that the first frame names, then answer each frame with one. Never returns."""
    for name in _ONE_THREAD:  # before anything imports numpy: a core is one child's
        os.environ[name] = "1"
    for sign in (signal.SIGINT, signal.SIGTERM):  # the parent decides when to end
        signal.signal(sign, signal.SIG_IGN)
    outbox = _outbox()
    frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(frames,), daemon=True).start()
    worker = _load(frames.get(), outbox)
    search_seldom()  # the models are no garbage
    _write(outbox, (READY, None))
    while True:
        works: list[SessionWork] = pickle.loads(frames.get())  # noqa: S301 - from our parent
        _write(outbox, _answer(worker, works))


def _load(body: bytes, outbox: BinaryIO) -> Worker:
    try:
        factory: Callable[[], Worker] = pickle.loads(body)  # noqa: S301 - from our parent
        return factory()
    except MemstreamError as error:
        _write(outbox, (BROKEN, str(error)))
    except Exception:  # noqa: BLE001 - told to the parent, which stops for it
        _write(outbox, (BROKEN, traceback.format_exc()))
    os._exit(1)


def _answer(worker: Worker, works: list[SessionWork]) -> tuple[str, Any]:
    try:
        return DONE, worker.process(works)
    except TransientError as error:
        return TRANSIENT, str(error)
    except PoisonError as error:
        return POISON, str(error)
    except MemoryError:
        os._exit(1)  # the parent finds out at which record
    except MemstreamError as error:
        return BROKEN, str(error)
    except Exception:  # noqa: BLE001 - told to the parent, which stops for it
        return BROKEN, traceback.format_exc()


def _outbox() -> BinaryIO:
    """Standard output, moved out of the way of whatever prints."""
    outbox = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return outbox


def _read(frames: queue.SimpleQueue[bytes]) -> None:
    inbox = os.fdopen(os.dup(0), "rb")  # not sys.stdin, whose lock would be held while the interpreter ends
    while True:
        head = inbox.read(LENGTH_BYTES)
        body = inbox.read(int.from_bytes(head, "big")) if len(head) == LENGTH_BYTES else b""
        if not body:
            os._exit(0)  # the parent is gone or has closed the pipe, whatever the worker is busy with
        frames.put(body)


def _write(outbox: BinaryIO, value: Any) -> None:
    outbox.write(frame(value))
    outbox.flush()


if __name__ == "__main__":
    main()
