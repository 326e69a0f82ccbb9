"""The predicate catalogue: what relations there are, and which of them hold one value at a time.

The data stand in catalogue.toml beside this module; a file of a person's own, named by MEMSTREAM_PREDICATES, adds to
them. The fold of facts and the extractors both read them here.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from types import MappingProxyType

import orjson

from memstream.schemas.errors import SettingsError
from memstream.schemas.predicate_file import Predicate, PredicateFile, Problem, parse, read, read_predicates

__all__ = [
    "OWN_FILE",
    "Catalogue",
    "Predicate",
    "catalogue",
    "own_path",
    "own_predicates",
    "own_problems",
    "shipped_file",
    "told",
]

OWN_FILE = "MEMSTREAM_PREDICATES"
SHIPPED = "catalogue.toml"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All predicates by name. `version` rises with a change of meaning: facts must then be folded again.

    `own` tells what a file of one's own adds: its digest, "" where it adds no predicate. Whoever reads or writes one
    graph must have the same.
    """

    version: int
    predicates: Mapping[str, Predicate]
    own: str = ""

    def __contains__(self, name: str) -> bool:
        """Whether `name` is a predicate of the catalogue (all others are open)."""
        return name in self.predicates

    def is_single(self, name: str) -> bool:
        """Whether a new value of this predicate ends the one before. Open predicates hold many."""
        predicate = self.predicates.get(name)
        return predicate is not None and predicate.single

    def is_symmetric(self, name: str) -> bool:
        """Whether subject and object may be exchanged."""
        predicate = self.predicates.get(name)
        return predicate is not None and predicate.symmetric

    def inverse_of(self, name: str) -> str | None:
        """How the other direction is called: of a symmetric predicate itself, None where it has no name."""
        if self.is_symmetric(name):
            return name
        own = self.predicates[name].inverse if name in self.predicates else None
        return own or next((each.name for each in self.predicates.values() if each.inverse == name), None)


def catalogue() -> Catalogue:
    """The catalogue of this process: what ships, and what the file named by MEMSTREAM_PREDICATES adds.

    Each file is read once. Raises SettingsError that names line and reason where that file is not valid.
    """
    return _united(own_path())


def own_path() -> str:
    """Where the file of one's own lies, "" where there is none."""
    return os.environ.get(OWN_FILE, "")


@contextmanager
def own_predicates(path: Path | None) -> Iterator[None]:
    """Until it ends, `path` is the file of one's own in this process (None: there is none)."""
    before = os.environ.get(OWN_FILE)
    os.environ[OWN_FILE] = str(path) if path is not None else ""
    try:
        yield
    finally:
        if before is None:
            del os.environ[OWN_FILE]
        else:
            os.environ[OWN_FILE] = before


@functools.cache
def shipped_file() -> PredicateFile:
    """The file that ships with Memstream."""
    return parse(SHIPPED, (resources.files("memstream.schemas") / SHIPPED).read_text(encoding="utf-8"))


def own_problems(path: str) -> list[Problem]:
    """What is wrong with the predicates of a person's own file."""
    return read_predicates(read(path), _united("").predicates)[1]


@functools.cache
def _united(path: str) -> Catalogue:
    shipped = shipped_file()
    predicates, problems = read_predicates(shipped, {})
    own = ""
    if path:
        added, wrong = read_predicates(read(path), {each.name: each for each in predicates})
        predicates, problems = [*predicates, *added], [*problems, *wrong]
        own = _digest(added)
    if problems:
        raise SettingsError(told(problems))
    return Catalogue(shipped.version, MappingProxyType({each.name: each for each in predicates}), own)


def told(problems: list[Problem]) -> str:
    """Problems as one message."""
    listed = "\n  ".join(str(problem) for problem in problems)
    return f"The predicates are not valid.\n  {listed}\n`memstream predicates check FILE` looks at a file as a whole."


def _digest(added: list[Predicate]) -> str:
    """Of what the folds and the graph depend on: not of meanings and examples."""
    if not added:
        return ""
    kept = ("name", "single", "subject", "object", "value", "inverse", "symmetric")
    rows = [{key: asdict(each)[key] for key in kept} for each in sorted(added, key=lambda p: p.name)]
    return hashlib.sha256(orjson.dumps(rows)).hexdigest()[:12]
