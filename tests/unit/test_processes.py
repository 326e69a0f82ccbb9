"""Detached processes: found again, ended whole, and never mistaken for a stranger's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from memstream.deploy.processes import PartSpec, ProcessTable
from memstream.schemas.errors import StackError

_PARENT = """
import signal, subprocess, sys, time
{first}
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("started", flush=True)
time.sleep(600)
"""


async def _well() -> str | None:
    return None


def _spec(code: str, stop_timeout: float = 10.0) -> PartSpec:
    return PartSpec("part", (sys.executable, "-c", code), _well, ports={"http": 1}, stop_timeout=stop_timeout)


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline, pause = time.monotonic() + 20, threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"not within 20 s: {what}"
        pause.wait(0.05)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[ProcessTable]:
    """An empty table whose parts are ended afterwards."""
    made = ProcessTable(tmp_path / "run", tmp_path / "logs")
    yield made
    for record in made.records():
        made.stop(record.name)


def _started_family(table: ProcessTable, first: str = "", stop_timeout: float = 10.0) -> list[psutil.Process]:
    table.start(_spec(_PARENT.format(first=first), stop_timeout))
    _until(lambda: "started" in table.tail("part"), "the part starts")
    leader = table.process("part")
    assert leader is not None
    return [leader, *leader.children(recursive=True)]


def _gone(processes: list[psutil.Process]) -> bool:
    return all(not process.is_running() or process.status() == psutil.STATUS_ZOMBIE for process in processes)


def test_another_table_of_the_same_folder_finds_and_stops_the_part(table: ProcessTable, tmp_path: Path) -> None:
    """What one command starts the next one finds, with ports and memory, and ends with its descendants."""
    family = _started_family(table)
    other = ProcessTable(tmp_path / "run", tmp_path / "logs")
    found = other.process("part")
    assert found is not None
    assert found.pid == family[0].pid
    assert other.memory("part") > 1_000_000
    assert [record.ports for record in other.records()] == [{"http": 1}]
    assert other.stop("part") is True
    assert len(family) == 2
    assert _gone(family)
    assert other.records() == []


def test_the_part_lives_in_a_session_of_its_own(table: ProcessTable) -> None:
    """A Ctrl-C in the terminal does not reach it."""
    family = _started_family(table)
    assert os.getsid(family[0].pid) != os.getsid(0)


def test_a_part_is_living_from_the_moment_of_its_start(table: ProcessTable) -> None:
    """Looked for at once, while the system may not show its environment yet, a part that was started is found."""
    spec = PartSpec("part", ("sleep", "600"), _well, stop_timeout=10.0)
    for _ in range(100):
        table.start(spec)
        process = table.process("part")
        assert process is not None
        process.kill()
        table.stop("part")


def test_a_part_that_ignores_term_is_killed(table: ProcessTable) -> None:
    """After the grace KILL ends leader and descendants."""
    family = _started_family(table, "signal.signal(signal.SIGTERM, signal.SIG_IGN)", stop_timeout=0.5)
    assert table.stop("part") is True
    assert _gone(family)


def test_orphans_of_a_killed_part_are_ended(table: ProcessTable) -> None:
    """If the leader was killed, stop still finds its children by the token they carry."""
    leader, child = _started_family(table)
    leader.kill()
    _until(lambda: table.process("part") is None, "the leader is gone")
    assert child.is_running()
    assert table.stop("part") is True
    assert _gone([child])


@pytest.mark.parametrize("token", ["another", None])
def test_a_recycled_pid_is_a_stranger(token: str | None, table: ProcessTable, tmp_path: Path) -> None:
    """A record whose pid now belongs to another process, with another token or none, neither shows nor ends it."""
    env = {**os.environ, "MEMSTREAM_PART_TOKEN": token} if token else None
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=env)
    try:
        _started_family(table)
        path = tmp_path / "run" / "part.json"
        record = json.loads(path.read_text())
        table.stop("part")
        path.write_text(json.dumps({**record, "pid": stranger.pid}))
        assert table.process("part") is None
        assert table.stop("part") is False
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_record_without_pid_still_leads_to_the_process(table: ProcessTable, tmp_path: Path) -> None:
    """Were `up` killed between start and record, the token finds what it had started."""
    family = _started_family(table)
    path = tmp_path / "run" / "part.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "pid": 0, "started": 0.0}))
    assert table.stop("part") is True
    assert _gone(family)


def test_an_end_is_seen_with_exit_code_and_last_words(table: ProcessTable) -> None:
    """A part that ends by itself is not running any more, and its log tells why."""
    table.start(_spec("import sys; print('one'); print('no disk'); sys.exit(7)"))
    _until(lambda: table.exit_code("part") is not None, "the part ends")
    assert table.process("part") is None
    assert table.exit_code("part") == 7
    assert table.tail("part", 1) == "no disk"


def test_a_restart_keeps_the_last_log(table: ProcessTable) -> None:
    """The words of the run before stay beside the new log."""
    for word in ("first", "second"):
        table.start(_spec(f"print('{word}')"))
        _until(lambda word=word: table.tail("part") == word, f"it says {word}")  # type: ignore[misc]
    assert table.log_of("part").with_suffix(".log.1").read_text() == "first\n"


def test_a_command_that_is_not_there_is_our_error(table: ProcessTable) -> None:
    """A missing program is named, and no record is left."""
    with pytest.raises(StackError, match="/no/such/program"):
        table.start(PartSpec("part", ("/no/such/program",), _well))
    assert table.records() == []


def test_a_broken_record_is_our_error(table: ProcessTable, tmp_path: Path) -> None:
    """A record that can't be read is named with its path."""
    (tmp_path / "run").mkdir()
    path = tmp_path / "run" / "part.json"
    path.write_text("{")
    with pytest.raises(StackError, match=r"part\.json"):
        table.record("part")
    path.unlink()
