"""The jars of Kafka and Neo4j, copied by Maven from pinned coordinates into a folder, once for each version of them."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from memstream.deploy.java import JavaTools
from memstream.schemas.errors import StackError

_HERE = Path(__file__).parent
_TIMEOUT = 1800


def pom_of(part: str) -> Path:
    """The file with the part's coordinates."""
    return _HERE / f"{part}-pom.xml"


def jar_folder(jars: Path, part: str) -> Path:
    """Where the part's jars are or will be: its name holds the hash of the coordinates."""
    digest = hashlib.sha256(pom_of(part).read_bytes()).hexdigest()[:12]
    return jars / f"{part}-{digest}"


def have_jars(jars: Path, part: str) -> bool:
    """Whether the part's jars were copied whole."""
    return jar_folder(jars, part).is_dir()


def resolve_jars(jars: Path, part: str, tools: JavaTools, report: Callable[[str], None]) -> Path:
    """The folder with the part's jars; Maven fetches what is missing. Raises StackError with Maven's own words."""
    folder = jar_folder(jars, part)
    if folder.is_dir():
        return folder
    if tools.mvn is None:
        raise StackError(f"Maven is needed to fetch the jars of {part}, and `mvn` is not on PATH.")
    report("fetching jars by Maven (once)")
    jars.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{part}-", dir=jars))
    try:
        _run_maven(tools.mvn, part, draft)
        draft.replace(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _run_maven(mvn: str, part: str, target: Path) -> None:
    command = [mvn, "-B", "-q", "-f", str(pom_of(part)), "dependency:copy-dependencies"]
    command += [f"-DoutputDirectory={target}", "-DincludeScope=runtime"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise StackError(f"Maven did not fetch the jars of {part} within {_TIMEOUT // 60} minutes.") from error
    if told.returncode != 0:
        tail = "\n".join((told.stdout + told.stderr).strip().splitlines()[-15:])
        raise StackError(f"Maven could not fetch the jars of {part} (is there a way to a Maven repository?):\n{tail}")
