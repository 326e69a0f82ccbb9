"""The way through Docker: a recorder stands for the `docker` program, the Kafka and Neo4j behind it are real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memstream.deploy import stackfile
from memstream.settings import Settings

_DOCKER = """#!/bin/sh
echo "$* / password given: ${MEMSTREAM_NEO4J_PASSWORD:+yes}" >> "SAID"
case "$*" in
  info|*version) exit STATE_OF_ENGINE ;;
  *" ps "*) printf '%s\\n' '{"Service":"kafka","State":"running"}' '{"Service":"neo4j","State":"STATE_OF_NEO4J"}' ;;
  *" logs "*) echo "the end of its log" ;;
esac
"""


class Machine:
    """A data directory of its own, and a `docker` that records what it is told."""

    def __init__(self, folder: Path, stack: Settings) -> None:
        self._folder = folder
        self._said = folder / "said"
        (folder / "bin").mkdir()
        known = stackfile.read(stack.stack_file)
        stackfile.write(folder / "data" / "stack.env", {**known, "MEMSTREAM_STACK_MODE": "docker"})
        self.set(neo4j="running", engine=0)

    def set(self, neo4j: str, engine: int) -> None:
        """Say how the containers and the engine are."""
        text = _DOCKER.replace("SAID", str(self._said)).replace("STATE_OF_NEO4J", neo4j)
        program = self._folder / "bin" / "docker"
        program.write_text(text.replace("STATE_OF_ENGINE", str(engine)))
        program.chmod(0o755)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `memstream` to its end."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("MEMSTREAM_")}
        env |= {"MEMSTREAM_DATA_DIR": str(self._folder / "data"), "PATH": f"{self._folder / 'bin'}:{env['PATH']}"}
        command = [sys.executable, "-m", "memstream.cli", *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)

    def said(self, word: str) -> list[str]:
        """What docker was told, with this word in it."""
        return [line for line in self._said.read_text().splitlines() if f" {word} " in line]


@pytest.fixture
def machine(tmp_path: Path, stack: Settings) -> Machine:
    """A machine whose Docker runs the stack."""
    return Machine(tmp_path, stack)


def test_up_asks_compose_and_waits_for_the_services(machine: Machine) -> None:
    """Compose is asked for both services with the password in its environment; the address is checked for real."""
    told = machine.run("up")
    assert told.returncode == 0, told.stderr
    assert "neo4j   ready" in told.stderr
    up = machine.said("up")
    assert len(up) == 1
    assert "up -d kafka neo4j / password given: yes" in up[0]
    assert "docker-compose.yml -p memstream-" in up[0]


def test_status_and_logs_come_from_compose(machine: Machine) -> None:
    """Parts are running as compose says and healthy as they answer; logs are those of the containers."""
    parts = json.loads(machine.run("status", "--json").stdout)
    assert [(part["name"], part["state"], part["healthy"]) for part in parts] == [
        ("kafka", "running", True),
        ("neo4j", "running", True),
    ]
    assert "the end of its log" in machine.run("logs", "kafka").stdout


def test_a_container_that_ended_is_reported_with_the_end_of_its_log(machine: Machine) -> None:
    """`up` does not wait for what has stopped."""
    machine.set(neo4j="exited", engine=0)
    told = machine.run("up")
    assert told.returncode == 1
    assert "neo4j has stopped (its container is exited)" in told.stderr
    assert "the end of its log" in told.stderr


def test_down_removes_the_containers_and_with_wipe_their_volumes(machine: Machine) -> None:
    """`down` keeps the volumes, `down --wipe` does not."""
    assert "Stopped: neo4j, kafka." in machine.run("down").stdout
    assert machine.run("down", "--wipe").returncode == 0
    plain, wiped = machine.said("down")
    assert "--volumes" not in plain
    assert "--volumes" in wiped


def test_a_docker_that_does_not_answer_any_more_is_said(machine: Machine) -> None:
    """A stack in Docker is not started a second time as processes while the engine is away."""
    machine.set(neo4j="running", engine=1)
    told = machine.run("up")
    assert told.returncode == 1
    assert "Start Docker, then try again" in told.stderr
