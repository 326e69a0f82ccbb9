"""What the tree promises to packaging: every room is shipped, and the light rooms need only the base install."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
_PROJECT: dict[str, Any] = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
_NOT_ROOMS = {"tests", "benchmarks", "docs", "build", "dist"}
# Where a package's import name is not its name on the index.
_IMPORTED_AS = {"pydantic-settings": "pydantic_settings"}


def _rooms() -> dict[str, Path]:
    """Each folder with modules, by its dotted name in the namespace."""
    tops = [path.parent for path in _ROOT.glob("*/__init__.py") if path.parent.name not in _NOT_ROOMS]
    folders = {path.parent for top in tops for path in top.rglob("*.py")}
    return {".".join(("memstream", *folder.relative_to(_ROOT).parts)): folder for folder in folders}


def _imports(folder: Path, everywhere: bool) -> set[str]:
    """The modules imported by a room: at import time alone, or in function bodies too."""
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = list(ast.walk(tree)) if everywhere else _at_import(tree)
        for node in nodes:
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
    return found


def _at_import(tree: ast.Module) -> list[ast.stmt]:
    return [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]


def _foreign(imports: set[str]) -> set[str]:
    tops = {name.split(".")[0] for name in imports}
    return tops - set(sys.stdlib_module_names) - {"memstream"}


def _base() -> set[str]:
    names = [re.split(r"[^A-Za-z0-9_.-]", line)[0] for line in _PROJECT["project"]["dependencies"]]
    return {_IMPORTED_AS.get(name, name) for name in names}


def test_every_room_is_listed_for_packaging() -> None:
    """A folder with modules that pyproject.toml does not list would be missing from the wheel."""
    listed = set(_PROJECT["tool"]["setuptools"]["packages"])
    assert set(_rooms()) <= listed
    places = _PROJECT["tool"]["setuptools"]["package-dir"]
    assert set(places) == listed
    assert all((_ROOT / place).is_dir() for place in places.values())


@pytest.mark.parametrize(
    ("room", "may"),
    [("schemas", {"pydantic", "orjson"}), ("folds", {"pydantic", "orjson", "anyascii", "rapidfuzz"})],
)
def test_the_contract_needs_nothing_else(room: str, may: set[str]) -> None:
    """Whoever reads our events with Python needs pydantic and orjson, and nothing of ours but schemas.

    Folds compare names, too, with two small libraries that do no I/O.
    """
    imports = _imports(_ROOT / room, everywhere=True)
    assert _foreign(imports) <= may
    ours = {".".join(name.split(".")[:2]) for name in imports if name.startswith("memstream")}
    assert ours <= {"memstream.schemas", f"memstream.{room}"}


@pytest.mark.parametrize("room", ["schemas", "settings", "sealing", "client"])
def test_what_an_agent_installs_runs_on_the_base_install(room: str) -> None:
    """These rooms import at import time only what the base install brings."""
    assert _foreign(_imports(_ROOT / room, everywhere=False)) <= _base()


def test_the_base_install_is_light() -> None:
    """What every agent carries is this and no more."""
    assert _base() == {
        "aiokafka",
        "cramjam",
        "httpx",
        "orjson",
        "pydantic",
        "pydantic_settings",
        "rich",
        "structlog",
        "typer",
    }


def test_dependencies_are_pinned_from_above() -> None:
    """A new major version of a dependency is met on purpose; date-versioned and stub packages are the exception."""
    extras = _PROJECT["project"]["optional-dependencies"]
    lines = _PROJECT["project"]["dependencies"] + [
        line for name in ("streams", "query", "dev") for line in extras[name]
    ]
    loose = {re.split(r"[^A-Za-z0-9_.-]", line)[0] for line in lines if "<" not in line and "==" not in line}
    assert loose <= {"memstream", "fsspec", "types-PyYAML", "types-psutil"}
