"""`memstream up --workers`: the workers and the query service beside a Kafka and a Neo4j that run already."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from memstream.deploy.processes import TOKEN_VARIABLE
from memstream.settings import Settings, load

_APPS = ("extract", "sink", "query")


class Apps:
    """A data directory of its own, told to use the services of the test session."""

    def __init__(self, folder: Path, own: Settings) -> None:
        assert own.neo4j_password is not None
        env = {name: value for name, value in os.environ.items() if not name.startswith("MEMSTREAM_")}
        self.folder = folder
        self._env = {
            **env,
            "MEMSTREAM_DATA_DIR": str(folder),
            "MEMSTREAM_KAFKA_BOOTSTRAP": own.kafka_bootstrap,
            "MEMSTREAM_NEO4J_URI": own.neo4j_uri,
            "MEMSTREAM_NEO4J_PASSWORD": own.neo4j_password.get_secret_value(),
            "MEMSTREAM_TOPIC_PREFIX": own.topic_prefix,
            "MEMSTREAM_GROUP_PREFIX": own.group_prefix,
            "MEMSTREAM_PARTITIONS": str(own.partitions),
            "MEMSTREAM_EXTRACT_PROCESSES": "1",
        }

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `memstream` to its end."""
        command = [sys.executable, "-m", "memstream.cli", *words]
        return subprocess.run(command, env=self._env, capture_output=True, text=True, timeout=300, check=False)

    def status(self) -> dict[str, dict[str, Any]]:
        """The parts by name, as `status --json` tells."""
        return {part["name"]: part for part in json.loads(self.run("status", "--json").stdout)}

    def tokens(self) -> set[str]:
        """What the processes of these apps carry."""
        return {json.loads(path.read_text())["token"] for path in (self.folder / "run").glob("*.json")}


@pytest.fixture
def beside(own_settings: Settings, tmp_path: Path) -> Iterator[Apps]:
    """Apps that are stopped afterwards, whatever happened."""
    made = Apps(tmp_path / "data", own_settings)
    yield made
    made.run("down")


def _carriers(tokens: set[str]) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(TOKEN_VARIABLE) in tokens:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def _until_ended(pid: int) -> None:
    deadline, pause = time.monotonic() + 20, threading.Event()
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, f"process {pid} does not end"
        pause.wait(0.05)


def test_workers_come_up_die_come_back_and_go(beside: Apps) -> None:
    """All three are ready and found by address; a killed one is reported and started again; down leaves nothing."""
    told = beside.run("up", "--workers")
    assert told.returncode == 0, told.stderr
    before = beside.status()
    assert [before[name]["state"] for name in ("kafka", "neo4j")] == ["external", "external"]
    assert [(before[name]["state"], before[name]["healthy"]) for name in _APPS] == [("running", True)] * 3
    address = load(data_dir=beside.folder).query_url
    assert httpx.get(f"{address}/ready").status_code == 200

    os.kill(before["sink"]["pid"], signal.SIGKILL)
    _until_ended(before["sink"]["pid"])
    assert beside.status()["sink"]["state"] == "died"
    told = beside.run("up", "--workers")
    assert told.returncode == 0, told.stderr
    after = beside.status()
    assert after["sink"]["pid"] != before["sink"]["pid"]
    assert [after[name]["pid"] for name in ("extract", "query")] == [
        before[name]["pid"] for name in ("extract", "query")
    ]

    tokens = beside.tokens()
    assert len(_carriers(tokens)) >= 3
    assert beside.run("down").returncode == 0
    assert _carriers(tokens) == []
