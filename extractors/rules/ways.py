"""The patterns of this process: those that ship, and those of the file that MEMSTREAM_PREDICATES names."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import replace
from itertools import chain

from memstream.extractors.rules.pattern_file import Pattern, Surface, Ways, by_verb, read_ways, shipped_ways_file
from memstream.schemas.catalogue import catalogue, own_path, told
from memstream.schemas.errors import SettingsError
from memstream.schemas.predicate_file import read


def patterns() -> dict[str, tuple[Pattern, ...]]:
    """The verb patterns by verb, particle included. Raises SettingsError where a file names what does not exist."""
    return _patterns(own_path())


def surfaces() -> tuple[Surface, ...]:
    """The surface patterns of all languages. Raises SettingsError where a file names what does not exist."""
    return _surfaces(own_path())


def own_version() -> int:
    """The version that a person's own file gives itself; 0 where there is none."""
    path = own_path()
    return read(path).version if path else 0


def own_digest() -> str:
    """Of the whole of a person's own file: other words, another digest. "" where there is none."""
    path = own_path()
    return hashlib.sha256(read(path).text.encode()).hexdigest()[:8] if path else ""


@functools.cache
def _all(path: str) -> tuple[Ways, ...]:
    files = (shipped_ways_file(), *((read(path),) if path else ()))
    ways = tuple(read_ways(file, catalogue()) for file in files)
    problems = [problem for each in ways for problem in each.problems]
    if problems:
        raise SettingsError(told(problems))
    return ways


@functools.cache
def _patterns(path: str) -> dict[str, tuple[Pattern, ...]]:
    shipped, *own = _all(path)
    mine = (replace(pattern, own=True) for ways in own for pattern in ways.patterns)
    return by_verb(chain(shipped.patterns, mine))


@functools.cache
def _surfaces(path: str) -> tuple[Surface, ...]:
    shipped, *own = _all(path)
    return (*shipped.surfaces, *(replace(surface, own=True) for ways in own for surface in ways.surfaces))
