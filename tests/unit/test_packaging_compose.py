"""docker-compose.yml, read by compose itself (it needs no engine for that), says what the local stack says."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memstream.deploy.compose import compose_file
from memstream.settings import Settings
from memstream.settings.model import ENV_PREFIX

_ROOT = Path(__file__).parents[2]
_COMPOSE = Path(sys.executable).parent / "docker-compose"


def _config(**variables: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(ENV_PREFIX)}
    command = [str(_COMPOSE), "-f", str(compose_file()), "config", "--format", "json"]
    return subprocess.run(command, env={**env, **variables}, capture_output=True, text=True, timeout=60, check=False)


@functools.cache
def _services() -> dict[str, Any]:
    told = _config(MEMSTREAM_NEO4J_PASSWORD="of-the-test")
    assert told.returncode == 0, told.stderr
    services: dict[str, Any] = json.loads(told.stdout)["services"]
    return services


def test_it_is_the_file_at_the_top_and_the_package_carries_a_copy() -> None:
    """A source tree uses its own file; what is packaged is the same."""
    assert compose_file() == _ROOT / "docker-compose.yml"
    assert (_ROOT / "deploy" / "docker-compose.yml").read_text() == compose_file().read_text()


def test_every_part_is_there_with_a_health_check() -> None:
    """Kafka, Neo4j, both workers and the query service, each of which tells how it is."""
    assert set(_services()) == {"kafka", "neo4j", "extract", "sink", "query"}
    assert all(service["healthcheck"]["test"] for service in _services().values())
    assert all(service["restart"] == "unless-stopped" for service in _services().values())


def test_the_password_must_be_given() -> None:
    """Without the variable compose refuses and names it; no value stands in the file."""
    told = _config()
    assert told.returncode != 0
    assert "MEMSTREAM_NEO4J_PASSWORD" in told.stderr
    values = re.findall(r"PASSWORD: *(.*)|NEO4J_AUTH: *neo4j/(.*)", compose_file().read_text())
    assert len(values) == 2
    assert all("".join(value).startswith("${MEMSTREAM_NEO4J_PASSWORD:?") for value in values)


def test_data_lies_in_volumes() -> None:
    """What must outlive a container does."""
    kept = {name: [volume["target"] for volume in service["volumes"]] for name, service in _services().items()}
    assert kept["kafka"] == ["/var/lib/kafka/data"]
    assert _services()["kafka"]["environment"]["KAFKA_LOG_DIRS"] == "/var/lib/kafka/data"
    assert kept["neo4j"] == ["/data"]
    for app in ("extract", "sink", "query"):
        assert kept[app] == [_services()[app]["environment"]["MEMSTREAM_DATA_DIR"]]


def test_ports_are_of_loopback_alone() -> None:
    """Nothing is opened to the network by starting it."""
    ports = [port for service in _services().values() for port in service.get("ports", [])]
    assert len(ports) == 4
    assert {port["host_ip"] for port in ports} == {"127.0.0.1"}


def test_the_apps_wait_for_healthy_services() -> None:
    """Workers and the query service start after Kafka and Neo4j answer."""
    for app in ("extract", "sink", "query"):
        waits = {name: on["condition"] for name, on in _services()[app]["depends_on"].items()}
        assert waits == {"kafka": "service_healthy", "neo4j": "service_healthy"}


@pytest.mark.parametrize("app", ["extract", "sink", "query"])
def test_every_variable_of_an_app_is_a_setting(app: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file sets nothing that nobody reads, and what it sets is valid."""
    given = _services()[app]["environment"]
    known = {ENV_PREFIX + name.upper() for name in Settings.model_fields}
    assert set(given) <= known
    for name in known:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    settings = Settings()
    assert settings.neo4j_auth == ("neo4j", "of-the-test")
    assert settings.kafka_bootstrap == "kafka:19092"


def test_kafka_is_set_as_the_local_one() -> None:
    """What the broker allows is the same in Docker and without."""
    from memstream.deploy.kafka import _PROPERTIES  # noqa: PLC0415

    local = dict(line.split("=", 1) for line in _PROPERTIES.splitlines())
    there = _services()["kafka"]["environment"]
    same = (
        "auto.create.topics.enable",
        "message.max.bytes",
        "replica.fetch.max.bytes",
        "transaction.state.log.min.isr",
    )
    for name in same:
        assert there["KAFKA_" + name.upper().replace(".", "_")] == local[name]


def test_the_image_is_built_from_files_that_are_there() -> None:
    """The Dockerfile exists where compose looks, and .dockerignore lets every room in."""
    build = _services()["query"]["build"]
    assert (Path(build["context"]) / build["dockerfile"]).is_file()
    let_in = {line[1:] for line in (_ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    rooms = {path.parent.name for path in _ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert rooms <= let_in
    assert all((_ROOT / name).exists() for name in let_in)
