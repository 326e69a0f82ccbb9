"""`memstream up | down | status | logs` with a Kafka and a Neo4j of their own, as a person uses them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from neo4j import AsyncGraphDatabase

from memstream.settings import Settings, load


@dataclass(frozen=True)
class Told:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Bench:
    """A data directory of its own, and the command line run on it."""

    folder: Path
    env: dict[str, str]

    def run(self, *words: str, **more: str) -> Told:
        """Run `memstream` to its end."""
        done = subprocess.run(
            [sys.executable, "-m", "memstream.cli", *words],
            env={**self.env, **more},
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        return Told(done.returncode, done.stdout, done.stderr)

    def status(self) -> dict[str, dict[str, Any]]:
        """The parts by name, as `status --json` tells."""
        return {part["name"]: part for part in json.loads(self.run("status", "--json").out)}

    def settings(self) -> Settings:
        """The settings that a later command would have."""
        return load(data_dir=self.folder)

    def processes(self) -> list[psutil.Process]:
        """All that runs on this data directory."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            if any(str(self.folder) in word for word in process.info["cmdline"] or ()):
                found.append(process)
        return found


def _bench(folder: Path, jars: Path) -> Bench:
    env = {name: value for name, value in os.environ.items() if not name.startswith("MEMSTREAM_")}
    return Bench(folder, {**env, "MEMSTREAM_DATA_DIR": str(folder), "MEMSTREAM_JARS_DIR": str(jars)})


@pytest.fixture(scope="module")
def bench(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A second stack beside the one that the tests use, brought up once for this module."""
    made = _bench(tmp_path_factory.mktemp("stack") / "data", stack.jars_dir)
    try:
        told = made.run("up")
        assert told.code == 0, told.err
        yield made
    finally:
        made.run("down", "--wipe")


def _until_ended(pid: int) -> None:
    deadline, pause = time.monotonic() + 20, threading.Event()
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, f"process {pid} does not end"
        pause.wait(0.05)


async def _leave_data(settings: Settings) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.kafka_bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic("kept", 1, 1)])
    await admin.close()
    async with AIOKafkaProducer(bootstrap_servers=settings.kafka_bootstrap, acks="all") as producer:
        await producer.send_and_wait("kept", b"event")
    async with AsyncGraphDatabase.driver(settings.neo4j_uri, auth=settings.neo4j_auth) as driver:
        await driver.execute_query("CREATE (:Kept)", database_="neo4j")


async def _data(settings: Settings) -> tuple[bytes | None, int]:
    async with AIOKafkaConsumer(
        "kept", bootstrap_servers=settings.kafka_bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        record = await consumer.getone()
    async with AsyncGraphDatabase.driver(settings.neo4j_uri, auth=settings.neo4j_auth) as driver:
        found = await driver.execute_query("MATCH (n:Kept) RETURN count(n) AS n", database_="neo4j")
    return record.value, found.records[0]["n"]


def test_up_picks_free_ports_and_tells_all_later_commands(bench: Bench, stack: Settings) -> None:
    """Beside another stack it listens elsewhere; stack.env says where, with a password that only its owner reads."""
    settings = bench.settings()
    assert settings.kafka_bootstrap != stack.kafka_bootstrap
    assert settings.neo4j_uri != stack.neo4j_uri
    assert settings.stack_file.stat().st_mode & 0o777 == 0o600
    assert settings.neo4j_password is not None
    assert len(settings.neo4j_password.get_secret_value()) >= 32
    assert settings.neo4j_password != stack.neo4j_password
    parts = bench.status()
    assert {(part["state"], part["healthy"]) for part in parts.values()} == {("running", True)}
    assert all(part["memory_mb"] > 50 for part in parts.values())
    assert bench.run("status").code == 0


def test_everything_listens_on_loopback_only(bench: Bench) -> None:
    """No port of the stack is reached from outside."""
    for part in bench.status().values():
        listening = {c.laddr.ip for c in psutil.Process(part["pid"]).net_connections("tcp") if c.status == "LISTEN"}
        assert listening
        assert listening <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}


def test_up_again_changes_nothing(bench: Bench) -> None:
    """What runs is left alone."""
    before = {name: part["pid"] for name, part in bench.status().items()}
    assert bench.run("up").code == 0
    assert {name: part["pid"] for name, part in bench.status().items()} == before


def test_another_port_for_a_running_part_is_refused(bench: Bench) -> None:
    """A part that runs is not moved in silence."""
    told = bench.run("up", "--kafka-port", "19999")
    assert told.code == 1
    assert "runs already on port" in told.err


def test_a_crash_is_reported_and_mended_and_data_is_kept(bench: Bench) -> None:
    """A killed part shows as died with its log's end; `up` starts it alone; neither topics nor graph lose anything."""
    asyncio.run(_leave_data(bench.settings()))
    before = {name: part["pid"] for name, part in bench.status().items()}
    os.kill(before["kafka"], signal.SIGKILL)
    _until_ended(before["kafka"])
    told = bench.run("status")
    assert told.code == 3
    assert "Kafka Server started" in told.err  # the end of its log
    assert bench.status()["kafka"]["state"] == "died"
    assert bench.run("up").code == 0
    after = {name: part["pid"] for name, part in bench.status().items()}
    assert after["kafka"] != before["kafka"]
    assert after["neo4j"] == before["neo4j"]
    assert asyncio.run(_data(bench.settings())) == (b"event", 1)


def test_logs_show_the_end_of_each_part(bench: Bench) -> None:
    """`logs PART` prints its last lines; an unknown part is a clear error."""
    assert bench.run("logs", "kafka", "-n", "1").out.count("\n") == 1
    assert "neo4j" in bench.run("logs").out
    told = bench.run("logs", "zebra")
    assert told.code == 1
    assert "There is no log of zebra" in told.err


def test_down_leaves_nothing_running_and_up_finds_the_data_again(bench: Bench) -> None:
    """After down no process is left; ports, password and data are the same after the next up."""
    before = bench.settings()
    assert len(bench.processes()) == 2
    assert "neo4j, kafka" in bench.run("down").out
    assert bench.processes() == []
    assert bench.run("status").code == 3
    assert "Nothing was running" in bench.run("down").out
    assert bench.run("up").code == 0
    assert bench.settings() == before
    assert asyncio.run(_data(bench.settings())) == (b"event", 1)


def test_services_named_by_the_environment_are_used_and_none_is_started(stack: Settings, tmp_path: Path) -> None:
    """With both addresses set, `up` checks them and starts nothing; `down` leaves them alone."""
    assert stack.neo4j_password is not None
    there = {
        "MEMSTREAM_KAFKA_BOOTSTRAP": stack.kafka_bootstrap,
        "MEMSTREAM_NEO4J_URI": stack.neo4j_uri,
        "MEMSTREAM_NEO4J_PASSWORD": stack.neo4j_password.get_secret_value(),
    }
    own = _bench(tmp_path / "data", stack.jars_dir)
    told = own.run("up", **there)
    assert told.code == 0, told.err
    assert own.processes() == []
    assert own.run("status", **there).code == 0
    assert "Nothing was running" in own.run("down", **there).out
    wrong = own.run("up", **{**there, "MEMSTREAM_NEO4J_PASSWORD": "not-the-password"})
    assert wrong.code == 1
    assert "refuses user 'neo4j'" in wrong.err
    nobody = own.run("up", **{**there, "MEMSTREAM_KAFKA_BOOTSTRAP": "127.0.0.1:1"})
    assert nobody.code == 1
    assert "nothing listens at 127.0.0.1:1" in nobody.err
    assert "Traceback" not in wrong.err + nobody.err


def test_a_part_that_dies_while_starting_is_reported_with_its_last_words(stack: Settings, tmp_path: Path) -> None:
    """A Kafka with a broken data folder ends at once: `up` says so, with the end of its log, and does not wait."""
    own = _bench(tmp_path / "data", stack.jars_dir)
    assert stack.neo4j_password is not None
    neo4j = {
        "MEMSTREAM_NEO4J_URI": stack.neo4j_uri,
        "MEMSTREAM_NEO4J_PASSWORD": stack.neo4j_password.get_secret_value(),
    }
    broken = own.folder / "kafka" / "data" / "meta.properties"
    broken.parent.mkdir(parents=True)
    broken.write_text("version=99\n")
    begun = time.monotonic()
    told = own.run("up", **neo4j)
    assert told.code == 1
    assert time.monotonic() - begun < 60
    assert re.search(r"kafka has stopped with exit code \d+\. The end of its log", told.err)
    assert "version" in told.err
    own.run("down", "--wipe", **neo4j)


def test_a_wanted_port_that_is_taken_is_refused(stack: Settings, tmp_path: Path) -> None:
    """Asked for exactly one port, `up` does not take another in silence."""
    own = _bench(tmp_path / "data", stack.jars_dir)
    port = stack.kafka_bootstrap.rpartition(":")[2]
    told = own.run("up", "--kafka-port", port)
    assert told.code == 1
    assert f"Port {port} for Kafka is taken" in told.err


def test_wipe_removes_data_and_password_but_not_the_jars(stack: Settings, tmp_path: Path) -> None:
    """After `down --wipe` the next `up` would begin anew."""
    own = _bench(tmp_path / "data", tmp_path / "data" / "jars")
    for name in ("kafka", "neo4j", "jars", "logs", "run", "offload"):
        (own.folder / name).mkdir(parents=True)
    (own.folder / "stack.env").write_text("MEMSTREAM_STACK_MODE=processes\n")
    assert own.run("down", "--wipe").code == 0
    assert sorted(path.name for path in own.folder.iterdir()) == ["jars", "lock"]
