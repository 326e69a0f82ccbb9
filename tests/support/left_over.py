"""Processes that tests start end with their test, also where it fails half way."""

from __future__ import annotations

import contextlib
from asyncio.subprocess import Process
from typing import Any, cast

import psutil

_PATIENCE = 20.0
_started: list[tuple[psutil.Process, Process]] = []


def ends_with_test(process: Process) -> None:
    """A process just started, and all that it will start, end with the test at the latest."""
    with contextlib.suppress(psutil.NoSuchProcess):  # it has ended already
        _started.append((psutil.Process(process.pid), process))


def end() -> list[int]:
    """Kill -9 what still runs of them (also what is stopped), with all below it. Returns the pids of that."""
    left = [(leader, process) for leader, process in _started if process.returncode is None]
    family: list[psutil.Process] = []
    for leader, _ in left:
        with contextlib.suppress(psutil.NoSuchProcess):  # psutil knows a pid that was given to another since
            if leader.is_running() and leader.status() != psutil.STATUS_ZOMBIE:
                family += [leader, *leader.children(recursive=True)]
    _started.clear()
    for one in family:  # leaders first: a supervisor must not start again what ends
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    psutil.wait_procs(family, timeout=_PATIENCE)
    for _, process in left:
        _let_go(process)
    return [one.pid for one in family]


def _let_go(process: Process) -> None:
    """Its loop is closed and never hears of its end: without this the next test would be blamed for it."""
    with contextlib.suppress(RuntimeError):  # of pipes that want the loop once more
        cast(Any, process)._transport.close()
