"""Detached child processes that outlive the command which started them: start, find again, stop, read the log's end.

Each part has a record in `<folder>/NAME.json` with its pid, its start time and a random token that all its
descendants carry in their environment: so a recycled pid is never taken for ours, and nothing of ours is left behind.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from memstream.schemas.errors import StackError

TOKEN_VARIABLE = "MEMSTREAM_PART_TOKEN"  # noqa: S105 - the name of a variable, no secret
_START_TIME_SLACK = 2.0  # seconds; the boot time that start times are counted from moves with the clock
_ORPHAN_TIMEOUT = 5.0  # seconds for what a part left behind to end by itself
_TAIL_BYTES = 64 * 1024
if sys.platform == "win32":
    _DETACHED = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
else:
    _DETACHED = 0

HealthCheck = Callable[[], Awaitable[str | None]]
"""Says None if the part does its work, else in a few words why not."""


@dataclass(frozen=True, slots=True)
class PartSpec:
    """What is needed to run a part: its command, what it is told, and how to see that it works."""

    name: str
    argv: tuple[str, ...]
    health: HealthCheck
    env: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)
    start_timeout: float = 60.0
    stop_timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class PartRecord:
    """What a pid file says. `pid` is 0 between the writing of the record and the start of the process."""

    name: str
    pid: int
    started: float
    token: str
    log: str
    ports: dict[str, int]
    stop_timeout: float


class _Part(subprocess.Popen[bytes]):
    """A process that is meant to go on without us: that it is forgotten before it ends is no fault to warn of."""

    def __del__(self, *_: object, **__: object) -> None:
        pass


class ProcessTable:
    """The parts that were started from one data directory."""

    def __init__(self, run_folder: Path, log_folder: Path) -> None:
        self._run = run_folder
        self._logs = log_folder
        self._children: dict[str, subprocess.Popen[bytes]] = {}  # those that this very process started

    def log_of(self, name: str) -> Path:
        """Where the part's output goes."""
        return self._logs / f"{name}.log"

    def logged(self) -> list[str]:
        """The parts that have a log, whether they run or were stopped, by name."""
        return sorted(path.stem for path in self._logs.glob("*.log"))

    def start(self, spec: PartSpec) -> PartRecord:
        """Start a part in a session of its own, its output going to its log. Raises StackError if it can't be run."""
        self._run.mkdir(parents=True, exist_ok=True)
        self._logs.mkdir(parents=True, exist_ok=True)
        token, log = secrets.token_hex(16), self.log_of(spec.name)
        record = PartRecord(spec.name, 0, 0.0, token, str(log), dict(spec.ports), spec.stop_timeout)
        self._write(record)  # before the start: were we killed in between, the token still finds the process
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        try:
            with log.open("wb") as output:
                child = _Part(  # the command is our own
                    spec.argv,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **spec.env, TOKEN_VARIABLE: token},
                    start_new_session=True,  # ignored on Windows, where the flags do it
                    creationflags=_DETACHED,
                )
        except OSError as error:
            self.forget(spec.name)
            raise StackError(f"{spec.name} can't be started: {error}. The command was: {spec.argv[0]}") from error
        self._children[spec.name] = child
        started = psutil.Process(child.pid).create_time()
        record = PartRecord(spec.name, child.pid, started, token, str(log), dict(spec.ports), spec.stop_timeout)
        self._write(record)
        return record

    def record(self, name: str) -> PartRecord | None:
        """What is known of a part that was started, living or dead; None if it was not, or was stopped."""
        path = self._run / f"{name}.json"
        try:
            return PartRecord(**json.loads(path.read_bytes()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise StackError(f"{path} can't be read ({error}). Stop {name} by hand, then delete the file.") from error

    def records(self) -> list[PartRecord]:
        """Every part that was started and not stopped, the oldest first."""
        names = sorted(path.stem for path in self._run.glob("*.json"))
        found = [record for name in names if (record := self.record(name)) is not None]
        return sorted(found, key=lambda record: record.started)

    def process(self, name: str) -> psutil.Process | None:
        """The living process of a part, never a stranger with its pid."""
        record = self.record(name)
        return _living(record) if record is not None else None

    def exit_code(self, name: str) -> int | None:
        """The exit code of a part that this very process started and that ended; else None."""
        child = self._children.get(name)
        return child.poll() if child is not None else None

    def memory(self, name: str) -> int:
        """Resident bytes of a part with its descendants; 0 if it doesn't run."""
        process = self.process(name)
        if process is None:
            return 0
        total = 0
        for member in [process, *process.children(recursive=True)]:
            try:
                total += member.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        return total

    def tail(self, name: str, lines: int = 25) -> str:
        """The last lines of a part's log; empty if it has none."""
        path = self.log_of(name)
        if not path.exists():
            return ""
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            text = file.read().decode("utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def stop(self, name: str) -> bool:
        """End a part and all its descendants: TERM, wait, KILL. True if anything ran. The record is removed."""
        record = self.record(name)
        if record is None:
            return False
        leader = _living(record)
        members = _descendants(leader, record.token)
        if leader is not None:
            _end([leader], record.stop_timeout)  # it ends its own children
        _end([*members, *_carriers(record.token)], min(record.stop_timeout, _ORPHAN_TIMEOUT))
        child = self._children.pop(name, None)
        if child is not None:
            child.wait()
        self.forget(name)
        return leader is not None or bool(members)

    def forget(self, name: str) -> None:
        """Remove a part's record."""
        (self._run / f"{name}.json").unlink(missing_ok=True)

    def _write(self, record: PartRecord) -> None:
        path = self._run / f"{record.name}.json"
        draft = path.with_suffix(".tmp")
        draft.write_text(json.dumps(asdict(record)), encoding="utf-8")
        draft.replace(path)


def _living(record: PartRecord) -> psutil.Process | None:
    if record.pid == 0:
        return next(iter(_carriers(record.token)), None)
    try:
        process = psutil.Process(record.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        token = _token_of(process)
        same = (
            token == record.token
            if token is not None
            else abs(process.create_time() - record.started) < _START_TIME_SLACK
        )
    except psutil.NoSuchProcess:
        return None
    return process if same else None


def _token_of(process: psutil.Process) -> str | None:
    """The token, empty if it has none, None if that can't be seen."""
    try:
        environ = process.environ()
    except (psutil.AccessDenied, OSError):
        return None  # another user's process, or a system that doesn't tell
    # for a moment after its start a process shows no variable at all: Linux fills them in late in execve
    return environ.get(TOKEN_VARIABLE, "") if environ else None


def _carriers(token: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if _token_of(process) == token and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def _descendants(leader: psutil.Process | None, token: str) -> list[psutil.Process]:
    """The processes under the leader, and those whose parent is gone but who carry the token."""
    under: Iterable[psutil.Process] = ()
    if leader is not None:
        try:
            under = leader.children(recursive=True)
        except psutil.NoSuchProcess:
            under = ()
    found = {process.pid: process for process in [*under, *_carriers(token)]}
    if leader is not None:
        found.pop(leader.pid, None)
    return list(found.values())


def _end(processes: list[psutil.Process], patience: float) -> None:
    """TERM, wait, KILL. Raises StackError if a process survives even that."""
    for process in processes:
        _signal(process, psutil.Process.terminate)
    _, alive = psutil.wait_procs(processes, timeout=patience)
    for process in alive:
        _signal(process, psutil.Process.kill)
    _, alive = psutil.wait_procs(alive, timeout=10)
    if alive:
        raise StackError(f"Process {alive[0].pid} does not end, not even by SIGKILL.")


def _signal(process: psutil.Process, action: Callable[[psutil.Process], None]) -> None:
    try:
        action(process)
    except psutil.NoSuchProcess:
        return  # it ended meanwhile, which is what was wanted
