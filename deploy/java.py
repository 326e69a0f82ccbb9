"""Java and Maven: found, or installed where that is ours to do, or else told how to install."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memstream.schemas.errors import StackError

LEAST_JAVA = 17
_APT_JAVAS = ("openjdk-17-jre-headless", "openjdk-21-jre-headless", "default-jre-headless")
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')

HOW_TO_INSTALL = """\
Neither a running Docker nor Java 17+ with Maven was found ({missing}). Install one of the two:
  Docker    https://docs.docker.com/get-docker/ (Docker Desktop on macOS and Windows), and start it
  Java      Debian, Ubuntu:  sudo apt-get install openjdk-17-jre-headless maven
            Fedora:          sudo dnf install java-21-openjdk-headless maven
            Arch:            sudo pacman -S jre-openjdk-headless maven
            macOS:           brew install openjdk@21 maven
            Windows:         winget install EclipseAdoptium.Temurin.21.JDK
                             and Maven from https://maven.apache.org/download.cgi, its bin folder on PATH
Or use a Kafka and a Neo4j that run already: set MEMSTREAM_KAFKA_BOOTSTRAP and MEMSTREAM_NEO4J_URI
(with MEMSTREAM_NEO4J_USER and MEMSTREAM_NEO4J_PASSWORD)."""


@dataclass(frozen=True, slots=True)
class JavaTools:
    """The commands to run; `mvn` is None where only Java is there (enough once the jars are)."""

    java: str
    mvn: str | None


def find_java() -> str | None:
    """A `java` of version 17 or newer: from JAVA_HOME, else from PATH."""
    name = "java.exe" if sys.platform == "win32" else "java"
    home = os.environ.get("JAVA_HOME")
    candidates = [str(Path(home) / "bin" / name)] if home else []
    candidates += [found] if (found := shutil.which("java")) else []
    return next((java for java in candidates if (java_version(java) or 0) >= LEAST_JAVA), None)


def java_version(java: str) -> int | None:
    """The major version of a `java` command; None if it can't be run (a bare macOS has one that only says so)."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(told.stderr + told.stdout)
    return int(match.group(1)) if told.returncode == 0 and match else None


def need_java(report: Callable[[str], None], with_maven: bool) -> JavaTools:
    """Java, and Maven if asked; installed by apt-get where root on a Debian-like system, which is said.

    Raises StackError that says what to install on each system.
    """
    missing = _missing(with_maven)
    if missing and _may_use_apt():
        _apt_install(missing, report)
        missing = _missing(with_maven)
    java = find_java()
    if java is None or missing:
        raise StackError(HOW_TO_INSTALL.format(missing=f"missing: Docker, {', '.join(missing)}"))
    return JavaTools(java, shutil.which("mvn"))


def _missing(with_maven: bool) -> list[str]:
    missing = [] if find_java() else ["Java"]
    return missing + (["Maven"] if with_maven and not shutil.which("mvn") else [])


def _may_use_apt() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get") is not None


def _apt_install(missing: list[str], report: Callable[[str], None]) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    _apt(["apt-get", "update", "-qq"], env)
    packages = ["maven"] if "Maven" in missing else []
    if "Java" in missing:
        known = [name for name in _APT_JAVAS if _apt_knows(name)]
        packages = known[:1] + packages
    report(f"installing {' and '.join(packages)} by apt-get (running as root on a Debian-like system)")
    _apt(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], env)


def _apt_knows(package: str) -> bool:
    told = subprocess.run(["apt-cache", "show", package], capture_output=True, check=False)  # noqa: S603, S607
    return told.returncode == 0


def _apt(command: list[str], env: dict[str, str]) -> None:
    told = subprocess.run(command, env=env, capture_output=True, text=True, check=False)  # noqa: S603
    if told.returncode != 0:
        tail = "\n".join((told.stdout + told.stderr).strip().splitlines()[-10:])
        raise StackError(f"`{' '.join(command)}` failed:\n{tail}\n\n{HOW_TO_INSTALL.format(missing='apt-get failed')}")
