"""Which way the stack is started, what is installed or told, and which ports it takes."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memstream.deploy import java, lock, stackfile
from memstream.deploy.compose import Compose, find_compose
from memstream.deploy.jars import have_jars, jar_folder, resolve_jars
from memstream.deploy.places import BOLT, CONTROLLER, HTTP, KAFKA, place
from memstream.deploy.ports import any_free, choose, is_free
from memstream.schemas.errors import StackError


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH of one folder, empty but for a shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    shell = shutil.which("sh")
    assert shell is not None
    (folder / "sh").symlink_to(shell)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return folder


def _program(folder: Path, name: str, body: str) -> Path:
    file = folder / name
    file.write_text(f'#!/bin/sh\necho "{name} $*" >> "{folder.parent}/said"\n{body}\n')
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def _said(path: Path) -> list[str]:
    said = path.parent / "said"
    return said.read_text().splitlines() if said.exists() else []


def _java(folder: Path, version: str) -> None:
    _program(folder, "java", f"""echo 'openjdk version "{version}" 2025-04-15' >&2""")


# Docker


def test_no_client_is_no_docker(path: Path) -> None:
    """Without `docker` there is no compose."""
    assert find_compose() is None


def test_a_client_without_an_engine_is_no_docker(path: Path) -> None:
    """`docker info` fails where no engine answers."""
    _program(path, "docker", '[ "$1" = info ] && exit 1; exit 0')
    assert find_compose() is None


def test_an_engine_with_the_plugin_is_docker(path: Path) -> None:
    """The plugin is preferred."""
    docker = _program(path, "docker", "exit 0")
    assert find_compose() == [str(docker), "compose"]


def test_the_older_program_serves_where_the_plugin_is_missing(path: Path) -> None:
    """`docker-compose` beside an engine is enough; an engine alone is not."""
    _program(path, "docker", '[ "$1" = compose ] && exit 1; exit 0')
    assert find_compose() is None
    old = _program(path, "docker-compose", "exit 0")
    assert find_compose() == [str(old)]


@pytest.mark.parametrize(
    "answer",
    [
        '[{"Service":"kafka","State":"running"}]',
        '{"Service":"kafka","State":"running"}\n{"Service":"neo4j","State":"exited"}',
    ],
)
def test_compose_tells_states_in_both_of_its_forms(answer: str, path: Path) -> None:
    """Older versions print a list, newer ones an object a line."""
    docker = _program(path, "docker", f"printf '%s' '{answer}'")
    assert Compose([str(docker), "compose"], "p", {}).states()["kafka"] == "running"


def test_compose_is_asked_for_kafka_and_neo4j_alone(path: Path) -> None:
    """The workers in the same file are not started by `memstream up`."""
    docker = _program(path, "docker", "exit 0")
    Compose([str(docker), "compose"], "mine", {}).up(["kafka", "neo4j"])
    assert _said(path)[0].endswith("-p mine up -d kafka neo4j")


def test_a_failure_of_compose_is_told_in_its_own_words(path: Path) -> None:
    """What compose said on standard error is in our error."""
    docker = _program(path, "docker", "echo 'no space left' >&2; exit 1")
    with pytest.raises(StackError, match="no space left"):
        Compose([str(docker), "compose"], "mine", {}).up(["kafka"])


# Java and Maven


def _need(with_maven: bool = True) -> tuple[java.JavaTools, list[str]]:
    reports: list[str] = []
    return java.need_java(reports.append, with_maven), reports


@pytest.mark.parametrize("version", ["17.0.15", "21", "25.0.1"])
def test_java_17_and_newer_is_enough(version: str, path: Path) -> None:
    """What is there is used, and nothing is installed."""
    _java(path, version)
    _program(path, "mvn", "exit 0")
    tools, reports = _need()
    assert tools == java.JavaTools(str(path / "java"), str(path / "mvn"))
    assert reports == []


def test_java_home_comes_first(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAVA_HOME wins over PATH, as with other programs on Java."""
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    _java(home / "bin", "21.0.1")
    _java(path, "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.find_java() == str(home / "bin" / "java")


@pytest.mark.parametrize(
    "body", ["exit 1", """echo 'java version "1.8.0_292"' >&2""", """echo 'openjdk version "11.0.2"' >&2"""]
)
def test_an_old_java_is_none(body: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java 8, 11, or a `java` that only says to install one: told what to install on each system."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    _program(path, "java", body)
    with pytest.raises(StackError) as caught:
        _need()
    for word in (
        "Docker, Java, Maven",
        "apt-get install",
        "brew install",
        "winget install",
        "MEMSTREAM_KAFKA_BOOTSTRAP",
    ):
        assert word in str(caught.value)


def test_maven_is_needed_only_for_jars_that_are_missing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the jars there, Java alone is enough."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    _java(path, "17.0.1")
    assert _need(with_maven=False)[0].mvn is None
    with pytest.raises(StackError, match="Docker, Maven"):
        _need()


def test_root_on_debian_installs_what_is_missing_and_says_so(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """apt-get is run after an update, for the first Java that this release has."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    _program(path, "apt-cache", '[ "$2" != openjdk-17-jre-headless ]')
    new = tmp_path / "new"
    new.mkdir()
    _java(new, "21.0.1")
    _program(new, "mvn", "exit 0")
    _program(path, "apt-get", f"[ $1 = update ] || /bin/cp {new}/* {path}")
    tools, reports = _need()
    assert tools.java == str(path / "java")
    assert reports == [
        "installing openjdk-21-jre-headless and maven by apt-get (running as root on a Debian-like system)"
    ]
    apt = [line for line in _said(path) if line.startswith("apt-get")]
    assert apt[0].startswith("apt-get update")
    assert apt[1].endswith("openjdk-21-jre-headless maven")


def test_a_failed_installation_is_told_with_the_words_of_apt(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of what apt-get said, and how to install by hand."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    _program(path, "apt-get", "echo 'E: no network'; exit 100")
    with pytest.raises(StackError, match=r"(?s)E: no network.*brew install"):
        _need()


# Jars


def test_jars_are_fetched_once_and_whole_or_not_at_all(path: Path, tmp_path: Path) -> None:
    """A Maven that fails leaves nothing behind; one that works is not asked again."""
    jars = tmp_path / "jars"
    mvn = _program(path, "mvn", "echo 'Could not transfer artifact'; exit 1")
    tools = java.JavaTools("java", str(mvn))
    with pytest.raises(StackError, match="Could not transfer artifact"):
        resolve_jars(jars, "kafka", tools, lambda _text: None)
    assert list(jars.iterdir()) == []
    _program(path, "mvn", "exit 0")
    folder = resolve_jars(jars, "kafka", tools, lambda _text: None)
    assert folder == jar_folder(jars, "kafka")
    assert have_jars(jars, "kafka")
    asked = len(_said(path))
    resolve_jars(jars, "kafka", java.JavaTools("java", None), lambda _text: None)
    assert len(_said(path)) == asked


# Ports


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_the_port_of_before_comes_first_then_the_usual_then_any(taken: int) -> None:
    """A stack comes back where it was; beside another one it takes a free port."""
    before, usual = any_free(), any_free()
    assert choose("it", None, usual, before) == before
    assert choose("it", None, usual, taken) == usual
    found = choose("it", None, taken)
    assert found != taken
    assert is_free(found)


def test_no_port_is_named_twice() -> None:
    """What is told to be free may not be listened on yet: the next one asked for is another one, all the same."""
    named = [any_free() for _ in range(500)]
    assert len(set(named)) == 500
    assert all(is_free(port) for port in named)


def test_a_wanted_port_is_taken_or_refused(taken: int) -> None:
    """A port asked for is that port or an error."""
    wanted = any_free()
    assert choose("it", wanted, 1) == wanted
    with pytest.raises(StackError, match=f"Port {taken} for it is taken"):
        choose("it", taken, 1)


def test_the_ports_of_a_running_part_stay(taken: int) -> None:
    """What listens there is the part itself; only a stopped part may move."""
    known = {KAFKA: str(taken), CONTROLLER: "9", BOLT: str(taken)}
    places = place(["kafka", "neo4j"], lambda part: part == "kafka", known, {})
    assert (places.ports[KAFKA], places.ports[CONTROLLER]) == (taken, 9)
    assert places.ports[BOLT] != taken
    assert len(set(places.ports.values())) == 4
    assert places.variables("kafka")["MEMSTREAM_KAFKA_BOOTSTRAP"] == f"127.0.0.1:{taken}"
    assert places.variables("neo4j")["MEMSTREAM_HTTP_PORT"] == str(places.ports[HTTP])
    with pytest.raises(StackError, match="runs already"):
        place(["kafka"], lambda _part: True, known, {KAFKA: 1})


# Files


def test_the_stack_file_is_private_and_read_back(tmp_path: Path) -> None:
    """What is written is read; only its owner can, even where a wider file stood before."""
    path = tmp_path / "data" / "stack.env"
    path.parent.mkdir()
    path.write_text("OLD=1\n")
    stackfile.write(path, {"A": "1", "B": "x=y"})
    assert stackfile.read(path) == {"A": "1", "B": "x=y"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert stackfile.read(tmp_path / "none.env") == {}


def test_one_command_at_a_time(tmp_path: Path) -> None:
    """A second one says that it waits, and goes on when the first is done."""
    path, said, entered = tmp_path / "lock", threading.Event(), threading.Event()

    def second() -> None:
        with lock.held(path, lambda _text: said.set()):
            entered.set()

    with lock.held(path, lambda _text: None):
        thread = threading.Thread(target=second)
        thread.start()
        assert said.wait(10)
        assert not entered.is_set()
    assert entered.wait(10)
    thread.join()


def test_a_lock_that_is_never_freed_is_an_error(tmp_path: Path) -> None:
    """After its time the second one gives up, and says who may be stuck."""
    with (
        lock.held(tmp_path / "lock", lambda _text: None),
        pytest.raises(StackError, match="Is it stuck"),
        lock.held(tmp_path / "lock", lambda _text: None, timeout=0.1),
    ):
        pass
