"""Processes that tests start end with their test, also where it fails half way."""

from __future__ import annotations

import contextlib

import psutil

_PATIENCE = 20.0
_started: list[psutil.Process] = []


def ends_with_test(pid: int) -> None:
    """A process just started, and all that it will start, end with the test at the latest."""
    with contextlib.suppress(psutil.NoSuchProcess):  # it has ended already
        _started.append(psutil.Process(pid))


def end() -> list[int]:
    """Kill -9 what still runs of them (also what is stopped), with all below it. Returns the pids of that."""
    family: list[psutil.Process] = []
    for leader in _started:
        with contextlib.suppress(psutil.NoSuchProcess):  # psutil knows a pid that was given to another since
            if leader.is_running() and leader.status() != psutil.STATUS_ZOMBIE:
                family += [leader, *leader.children(recursive=True)]
    _started.clear()
    for process in family:  # leaders first: a supervisor must not start again what ends
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(family, timeout=_PATIENCE)
    return [process.pid for process in family]
