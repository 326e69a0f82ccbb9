"""A wheel built from the tree, in an environment that has nothing else: whole, and light."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import orjson
import pytest
from aiokafka import AIOKafkaConsumer

from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.streams.topics_admin import create_topics

_ROOT = Path(__file__).parents[2]
_NOT_ROOMS = {"tests", "benchmarks", "docs", "build", "dist"}
_NOT_SHIPPED = {".sh", ""}  # scripts of the source tree, the Dockerfile


def _rooms() -> list[Path]:
    return [path.parent for path in _ROOT.glob("*/__init__.py") if path.parent.name not in _NOT_ROOMS]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the tree, so that nothing left over from another build gets into it."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for room in _rooms():
        shutil.copytree(room, source / room.name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(_ROOT / name, source / name)
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder / "dist"), str(source)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    assert "is absent from the `packages` configuration" not in built.stdout + built.stderr
    return next((folder / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a clean environment with the wheel's base install, no extra."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(folder, with_pip=True)
    scripts = folder / ("Scripts" if sys.platform == "win32" else "bin")
    command = [str(scripts / "python"), "-m", "pip", "install", "--quiet", str(wheel)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert told.returncode == 0, told.stderr
    return scripts


def _run(base: Path, *words: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSTREAM_", "PYTHON"))}
    return subprocess.run(
        [str(base / words[0]), *words[1:]],
        env={**env, **more},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_wheel_has_every_module_and_every_data_file(wheel: Path) -> None:
    """Nothing of the rooms is missing, and nothing of tests or benchmarks is in it."""
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("memstream/")}
    wanted = {
        f"memstream/{path.relative_to(_ROOT).as_posix()}"
        for room in _rooms()
        for path in room.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in _NOT_SHIPPED
    }
    assert packed == wanted


def test_the_wheel_puts_nothing_else_into_site_packages(wheel: Path) -> None:
    """One namespace: nobody's environment gets a top-level `schemas`."""
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"memstream"}


def test_the_base_install_shows_help_and_settings(base: Path, tmp_path: Path) -> None:
    """`memstream --help` and `memstream settings` need no extra."""
    told = _run(base, "memstream", "--help", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "publish" in told.stdout
    assert _run(base, "memstream", "settings", cwd=tmp_path).returncode == 0


def test_the_base_install_has_no_heavy_package(base: Path, tmp_path: Path) -> None:
    """No spaCy, no Neo4j driver, no web server, no numpy."""
    told = _run(base, "python", "-m", "pip", "list", "--format", "freeze", cwd=tmp_path)
    names = {line.partition("==")[0].lower() for line in told.stdout.splitlines()}
    assert not names & {"spacy", "neo4j", "numpy", "fastapi", "uvicorn", "onnxruntime", "faust-streaming", "psutil"}


def test_a_command_that_needs_an_extra_says_which(base: Path, tmp_path: Path) -> None:
    """`memstream up` on the base install tells what to install, without a traceback."""
    told = _run(base, "memstream", "up", cwd=tmp_path)
    assert told.returncode == 1
    assert "pip install 'memstream[streams]'" in told.stderr
    assert "Traceback" not in told.stderr


async def test_the_base_install_publishes_an_event(
    base: Path, own_settings: Settings, scope: str, tmp_path: Path
) -> None:
    """`memstream publish` from the base install alone: the broker has the event, with the id that was printed."""
    await create_topics(own_settings)
    told = _run(
        base,
        "memstream",
        *("publish", "--message", "Ana moved to Oslo.", "--scope", scope, "--json"),
        cwd=tmp_path,
        MEMSTREAM_KAFKA_BOOTSTRAP=own_settings.kafka_bootstrap,
        MEMSTREAM_TOPIC_PREFIX=own_settings.topic_prefix,
    )
    assert told.returncode == 0, told.stderr
    (receipt,) = orjson.loads(told.stdout)["last"]
    topic = f"{own_settings.topic_prefix}.conversation"
    assert receipt["topic"] == topic
    async with (
        asyncio.timeout(30),
        AIOKafkaConsumer(topic, auto_offset_reset="earliest", **kafka_options(own_settings)) as consumer,
    ):
        record = await consumer.getone()
    assert dict(record.headers)["ce_id"].decode() == receipt["event_id"]
    assert orjson.loads(record.value)["content"] == "Ana moved to Oslo."
