"""The local stack as a whole: up, down, status. What listens where stands in stack.env."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial

from memstream.deploy import apps, neo4j, stackfile
from memstream.deploy.backends import Backend, ComposeBackend, ProcessBackend, choose_backend, died
from memstream.deploy.compose import PARTS
from memstream.deploy.health import kafka_health, neo4j_health
from memstream.deploy.lock import held
from memstream.deploy.places import Places, place
from memstream.deploy.ports import choose
from memstream.deploy.processes import HealthCheck, ProcessTable
from memstream.deploy.waiting import Say, until_healthy
from memstream.schemas.errors import StackError
from memstream.settings import Settings, load

_MODE = "MEMSTREAM_STACK_MODE"
_PASSWORD = "MEMSTREAM_NEO4J_PASSWORD"  # noqa: S105 - the name of a variable
_ADDRESS_OF = {"kafka": "MEMSTREAM_KAFKA_BOOTSTRAP", "neo4j": "MEMSTREAM_NEO4J_URI"}
_TIMEOUTS = {"kafka": 120.0, "neo4j": 300.0}
_WIPED = ("offload", "logs", "run")


@dataclass(frozen=True, slots=True)
class PartStatus:
    """How a part is. `state`: running, died, stopped, or external where the environment names a service."""

    name: str
    state: str
    healthy: bool
    address: str
    pid: int | None = None
    ports: Mapping[str, int] = field(default_factory=dict)
    memory_mb: int = 0
    reason: str = ""
    log: str = ""


class Stack:
    """The stack of one data directory. `say` tells a person how it goes."""

    def __init__(self, settings: Settings, say: Say) -> None:
        self._settings = settings
        self._say = say
        self.table = ProcessTable(settings.data_dir / "run", settings.data_dir / "logs")

    def up(self, wanted_ports: Mapping[str, int], workers: bool = False) -> Settings:
        """Bring up what is not up, and wait until all answers. The settings that name it are returned.

        Raises StackError if something is missing, can't be started, dies or does not answer in time.
        """
        with self._lock():
            local = [part for part in PARTS if not self._is_external(part)]
            if local:
                self._start(local, wanted_ports)
            settings = load(data_dir=self._settings.data_dir)
            asyncio.run(self._wait(settings, local))
            if workers:
                settings = self._start_apps()
            return settings

    def down(self, wipe: bool = False) -> list[str]:
        """Stop all that `up` started, the latest first, and say what ran; `wipe` removes the data too, not the jars."""
        with self._lock():
            stopped = [part for part in reversed(apps.APP_PARTS) if self.table.stop(part)]
            if self._mode() is not None:
                stopped += self._backend().stop(wipe)
            if wipe:
                for name in _WIPED:
                    shutil.rmtree(self._settings.data_dir / name, ignore_errors=True)
                self._settings.stack_file.unlink(missing_ok=True)
            return stopped

    def status(self) -> list[PartStatus]:
        """Every part with its state; the app parts only where they were started."""
        return asyncio.run(self._statuses())

    def compose(self) -> ComposeBackend | None:
        """The compose project, where the stack runs in Docker."""
        backend = self._backend() if self._mode() == ComposeBackend.mode else None
        return backend if isinstance(backend, ComposeBackend) else None

    def _lock(self) -> AbstractContextManager[None]:
        return held(self._settings.data_dir / "lock", lambda text: self._say("stack", text))

    def _known(self) -> dict[str, str]:
        return stackfile.read(self._settings.stack_file)

    def _mode(self) -> str | None:
        return self._known().get(_MODE)

    def _backend(self) -> Backend:
        return choose_backend(self._settings, self.table, self._known, self._mode(), self._say)

    @staticmethod
    def _is_external(part: str) -> bool:
        return bool(os.environ.get(_ADDRESS_OF[part]))

    def _start(self, parts: list[str], wanted: Mapping[str, int]) -> None:
        known, backend = self._known(), self._backend()
        places = place(parts, backend.runs, known, wanted)
        password = self._password(backend)
        # Before the start, so that neither password nor ports are lost with a command that is interrupted.
        self._remember(backend.mode, parts, places, password)
        settings = load(data_dir=self._settings.data_dir)
        backend.start(parts, places, password, _health(settings))

    def _password(self, backend: Backend) -> str:
        if self._settings.neo4j_password is not None:
            return self._settings.neo4j_password.get_secret_value()
        home = self._settings.data_dir / neo4j.NAME
        if isinstance(backend, ProcessBackend) and neo4j.has_store(home):
            raise StackError(
                f"There is a graph in {home}, but {self._settings.stack_file}, which held its password, is gone. "
                f"Set {_PASSWORD}, or begin anew with `memstream down --wipe`."
            )
        return secrets.token_hex(16)

    def _remember(self, mode: str, parts: list[str], places: Places, password: str) -> None:
        known = self._known()
        for part in parts:
            known.update(places.variables(part))
        stackfile.write(self._settings.stack_file, {**known, _PASSWORD: password, _MODE: mode})

    async def _wait(self, settings: Settings, local: list[str]) -> None:
        health = _health(settings)
        waits = []
        for part in PARTS:
            if part in local:
                failure = partial(self._backend().failure, part)
                waits.append(until_healthy(part, health[part], failure, _TIMEOUTS[part], self._say))
            else:
                waits.append(self._check_external(part, health[part]))
        await asyncio.gather(*waits)

    async def _check_external(self, part: str, health: HealthCheck) -> None:
        reason = await health()
        if reason is not None:
            raise StackError(f"{_ADDRESS_OF[part]} is set, so that {part} is used, but {reason}.")
        self._say(part, f"ready, as named by {_ADDRESS_OF[part]}")

    def _start_apps(self) -> Settings:
        ports = self._app_ports()
        known = self._known()
        known.update({apps.PORT_VARIABLES[part]: str(port) for part, port in ports.items()})
        stackfile.write(self._settings.stack_file, known)
        settings = load(data_dir=self._settings.data_dir)
        specs = apps.app_parts(settings, ports)
        for spec in specs:
            if self.table.process(spec.name) is None:
                self.table.start(spec)

        async def wait() -> None:
            await asyncio.gather(
                *(
                    until_healthy(
                        spec.name, spec.health, partial(died, self.table, spec.name), spec.start_timeout, self._say
                    )
                    for spec in specs
                )
            )

        asyncio.run(wait())
        return settings

    def _app_ports(self) -> dict[str, int]:
        chosen: dict[str, int] = {}
        for part in apps.APP_PARTS:
            record = self.table.record(part) if self.table.process(part) is not None else None
            if record is not None:
                chosen[part] = record.ports["http"]
                continue
            usual = apps.usual_port(part, self._settings)
            wanted = usual if os.environ.get(apps.PORT_VARIABLES[part]) else None
            chosen[part] = choose(part, wanted, usual, taken=frozenset(chosen.values()))
        return chosen

    async def _statuses(self) -> list[PartStatus]:
        settings, health = self._settings, _health(self._settings)
        addresses = {"kafka": settings.kafka_bootstrap, "neo4j": settings.neo4j_uri}
        backend = self._backend() if self._mode() is not None else None
        found = []
        for part in PARTS:
            if self._is_external(part):
                found.append(await self._judge(part, "external", addresses[part], health[part]))
            elif isinstance(backend, ComposeBackend):
                state = "running" if backend.runs(part) else "stopped"
                found.append(await self._judge(part, state, addresses[part], health[part]))
            else:
                found.append(await self._judge(part, self._state(part), addresses[part], health[part]))
        started = {part: record.ports["http"] for part in apps.APP_PARTS if (record := self.table.record(part))}
        ports = {part: started.get(part, apps.usual_port(part, settings)) for part in apps.APP_PARTS}
        for spec in apps.app_parts(settings, ports):
            if spec.name in started:
                address = f"http://127.0.0.1:{ports[spec.name]}"
                found.append(await self._judge(spec.name, self._state(spec.name), address, spec.health))
        return found

    def _state(self, part: str) -> str:
        if self.table.record(part) is None:
            return "stopped"
        return "died" if self.table.process(part) is None else "running"

    async def _judge(self, part: str, state: str, address: str, health: HealthCheck) -> PartStatus:
        reason: str | None = "it does not run"
        if state in ("running", "external"):
            try:
                reason = await health()
            except StackError as error:
                reason = str(error)
        elif state == "died":
            reason = died(self.table, part)
        record, process = self.table.record(part), self.table.process(part)
        return PartStatus(
            name=part,
            state=state,
            healthy=reason is None,
            address=address,
            pid=process.pid if process is not None else None,
            ports=record.ports if record is not None else {},
            memory_mb=self.table.memory(part) // 2**20,
            reason=reason or "",
            log=str(self.table.log_of(part)) if record is not None else "",
        )


def _health(settings: Settings) -> dict[str, HealthCheck]:
    return {"kafka": partial(kafka_health, settings), "neo4j": partial(neo4j_health, settings)}
