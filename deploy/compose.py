"""The local stack by Docker: the same docker-compose.yml that runs everything, asked for Kafka and Neo4j only."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from memstream.schemas.errors import StackError

PARTS = ("kafka", "neo4j")
_TIMEOUT = 1800


def compose_file() -> Path:
    """The file at the top of a source tree, else the copy that the package carries."""
    here = Path(__file__).parent
    top = here.parent / "docker-compose.yml"
    return top if top.is_file() else here / "docker-compose.yml"


def find_compose() -> list[str] | None:
    """The command that runs compose here. None without a client, without an engine that answers, or without compose."""
    docker = shutil.which("docker")
    if docker is None or not _works([docker, "info"]):
        return None
    if _works([docker, "compose", "version"]):
        return [docker, "compose"]
    old = shutil.which("docker-compose")
    return [old] if old and _works([old, "version"]) else None


class Compose:
    """The services of one project, told apart by the project's name."""

    def __init__(self, command: list[str], project: str, variables: Mapping[str, str]) -> None:
        self._command = [*command, "-f", str(compose_file()), "-p", project]
        self._env = {**os.environ, **variables}

    def up(self, parts: list[str]) -> None:
        """Start these services, or leave them as they are. Raises StackError with compose's own words."""
        self._run("up", "-d", *parts)

    def down(self, wipe: bool) -> None:
        """Stop and remove the containers; with `wipe` their volumes too."""
        self._run("down", "--remove-orphans", *(["--volumes"] if wipe else []))

    def states(self) -> dict[str, str]:
        """The state of each service that has a container, such as running or exited."""
        told = self._run("ps", "--all", "--format", "json")
        # One object a line, or (older) one list.
        rows = json.loads(told) if told.startswith("[") else [json.loads(line) for line in told.splitlines() if line]
        return {str(row["Service"]): str(row["State"]) for row in rows}

    def tail(self, part: str, lines: int = 25) -> str:
        """The last lines that a service said."""
        return self._run("logs", "--no-color", "--no-log-prefix", "--tail", str(lines), part)

    def logs(self, parts: list[str], lines: int, follow: bool) -> int:
        """Show logs on our own output; the exit code of compose."""
        command = [*self._command, "logs", "--tail", str(lines), *(["--follow"] if follow else []), *parts]
        return subprocess.run(command, env=self._env, check=False).returncode  # noqa: S603

    def _run(self, *words: str) -> str:
        command = [*self._command, *words]
        told = subprocess.run(  # noqa: S603
            command, env=self._env, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
        if told.returncode != 0:
            tail = "\n".join(told.stderr.strip().splitlines()[-15:])
            raise StackError(f"`docker compose {' '.join(words)}` failed:\n{tail}")
        return told.stdout.strip()


def _works(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=30, check=False).returncode == 0  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
