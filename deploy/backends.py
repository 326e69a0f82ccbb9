"""The two ways to run Kafka and Neo4j here: by Docker compose, or as child processes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from memstream.deploy import kafka, neo4j
from memstream.deploy.compose import PARTS, Compose, find_compose
from memstream.deploy.jars import have_jars, resolve_jars
from memstream.deploy.java import need_java
from memstream.deploy.places import BOLT, CONTROLLER, HTTP, KAFKA, Places
from memstream.deploy.processes import HealthCheck, ProcessTable
from memstream.deploy.waiting import Say
from memstream.schemas.errors import StackError
from memstream.settings import Settings


class Backend(Protocol):
    """Runs the infrastructure. `failure` says why a part that was started does not run, with the end of its log."""

    mode: str

    def runs(self, part: str) -> bool: ...  # noqa: D102
    def start(self, parts: list[str], places: Places, password: str, health: Mapping[str, HealthCheck]) -> None: ...  # noqa: D102
    def failure(self, part: str) -> str | None: ...  # noqa: D102
    def stop(self, wipe: bool) -> list[str]: ...  # noqa: D102


class ProcessBackend:
    """Child processes on a Java of this machine."""

    mode = "processes"

    def __init__(self, settings: Settings, table: ProcessTable, say: Say) -> None:
        self._settings = settings
        self._table = table
        self._say = say

    def runs(self, part: str) -> bool:
        """Whether the process lives."""
        return self._table.process(part) is not None

    def start(self, parts: list[str], places: Places, password: str, health: Mapping[str, HealthCheck]) -> None:
        """Start those that don't run: jars, configuration, process. Raises StackError if something is missing."""
        missing = [part for part in parts if not self.runs(part)]
        if not missing:
            return
        jars = self._settings.jars_dir
        with_maven = not all(have_jars(jars, part) for part in missing)
        tools = need_java(lambda text: self._say("java", text), with_maven)
        for part in missing:
            if self._table.record(part) is not None:
                self._say(part, f"had died and is started again; what it said last: {self._table.log_of(part)}.1")
            folder = resolve_jars(jars, part, tools, lambda text, part=part: self._say(part, text))  # type: ignore[misc]
            home, ports = self._settings.data_dir / part, places.ports
            if part == kafka.NAME:
                broker = kafka.KafkaPlan(home, folder, tools.java, ports[KAFKA], ports[CONTROLLER])
                kafka.prepare(broker)
                self._table.start(kafka.part(broker, health[part]))
            else:
                database = neo4j.Neo4jPlan(home, folder, tools.java, ports[BOLT], ports[HTTP])
                neo4j.prepare(database, password)
                self._table.start(neo4j.part(database, health[part]))

    def failure(self, part: str) -> str | None:
        """None while the process lives."""
        return died(self._table, part)

    def stop(self, wipe: bool) -> list[str]:
        """Stop both, Neo4j first; with `wipe` remove their data (not the jars)."""
        stopped = [part for part in reversed(PARTS) if self._table.stop(part)]
        for part in PARTS if wipe else ():
            shutil.rmtree(self._settings.data_dir / part, ignore_errors=True)
        return stopped


class ComposeBackend:
    """Containers of a compose project named after the data directory."""

    mode = "docker"

    def __init__(self, command: list[str], data_dir: Path, known: Callable[[], Mapping[str, str]]) -> None:
        self._command = command
        self._project = f"memstream-{data_dir.parent.name}".lower().replace("_", "-").replace(".", "-").strip("-")
        self._known = known

    def compose(self, **more: str) -> Compose:
        """The project with the variables of stack.env, which the file asks for at every command."""
        known = self._known()
        variables = {name: value for name, value in known.items() if name.endswith("_PORT")}
        variables["MEMSTREAM_NEO4J_PASSWORD"] = known.get("MEMSTREAM_NEO4J_PASSWORD", "not-started-yet")
        return Compose(self._command, self._project, {**variables, **more})

    def runs(self, part: str) -> bool:
        """Whether the container runs."""
        return self.compose().states().get(part) == "running"

    def start(self, parts: list[str], places: Places, password: str, health: Mapping[str, HealthCheck]) -> None:  # noqa: ARG002
        """Let compose start the parts; it leaves running ones alone."""
        ports = {name: str(port) for part in parts for name, port in places.of(part).items()}
        self.compose(MEMSTREAM_NEO4J_PASSWORD=password, **ports).up(parts)

    def failure(self, part: str) -> str | None:
        """None while the container is not at an end."""
        compose = self.compose()
        state = compose.states().get(part, "missing")
        if state in ("running", "created", "restarting"):
            return None
        return f"has stopped (its container is {state}). The end of its log:\n{compose.tail(part)}"

    def stop(self, wipe: bool) -> list[str]:
        """Remove the containers; with `wipe` their volumes too."""
        compose = self.compose()
        running = [part for part in reversed(PARTS) if part in compose.states()]
        compose.down(wipe)
        return running


def choose_backend(
    settings: Settings, table: ProcessTable, known: Callable[[], Mapping[str, str]], mode: str | None, say: Say
) -> Backend:
    """Docker where its engine answers, else processes; the mode that a stack already has is kept.

    Raises StackError if the stack is in Docker and Docker does not answer any more.
    """
    processes = ProcessBackend(settings, table, say)
    if mode == processes.mode:
        return processes
    command = find_compose()
    if command is not None:
        return ComposeBackend(command, settings.data_dir, known)
    if mode == ComposeBackend.mode:
        raise StackError(
            "This stack was started in Docker, and Docker does not answer now. Start Docker, then try again."
        )
    return processes


def died(table: ProcessTable, part: str) -> str | None:
    """Why a part that was started does not run, with the end of its log; None if it runs."""
    if table.process(part) is not None:
        return None
    code = table.exit_code(part)
    ending = f" with exit code {code}" if code is not None else ""
    tail = table.tail(part)
    return f"has stopped{ending}. The end of its log, {table.log_of(part)}:\n{tail or '(it said nothing)'}"
