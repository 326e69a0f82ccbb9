"""Compares two canonical forms line by line, as a merge of what is in order: pure, holding a line of each at a time.

A number is the same within PRECISION of its size (of 1, where it is smaller); a vector within VECTORS of its length,
since other processors may round an embedding differently. All else is the same or it is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from memstream.schemas.errors import InvalidInput
from memstream.sinks.export.form import Line, read_value, row_of, unpacked

PRECISION: Final = 1e-8
VECTORS: Final = 0.01

_PACKED = ("f16", "packed")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far numbers and vectors may lie apart, each in parts of its size."""

    numbers: float = PRECISION
    vectors: float = VECTORS


EXACT: Final = Tolerance()


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which two graphs differ.

    `where` names the node or edge. `property` is None where all of it is in one graph only: then `a` or `b` is None,
    and the other one has its properties. A property that is missing has None too.
    """

    what: str
    where: str
    property: str | None
    a: Any
    b: Any

    def __str__(self) -> str:
        """It in words."""
        if self.property is not None:
            return f"{self.what} {self.where}: {self.property} is {_short(self.a)} in A, {_short(self.b)} in B"
        return f"{self.what} {self.where} is only in {'A' if self.b is None else 'B'}"


def compare(a: Iterable[Line], b: Iterable[Line], tolerance: Tolerance = EXACT) -> Iterator[Difference]:
    """All differences of two canonical forms, in their order; nothing where they are the same.

    Raises InvalidInput where one of them is not in order, and what reading them raises.
    """
    left, right = _Groups(a, "A"), _Groups(b, "B")
    while left.lines or right.lines:
        if not right.lines or (left.lines and left.lines[0].key < right.lines[0].key):
            yield from (_whole(line, in_a=True) for line in left.lines)
            left.step()
        elif not left.lines or right.lines[0].key < left.lines[0].key:
            yield from (_whole(line, in_a=False) for line in right.lines)
            right.step()
        else:
            if left.lines != right.lines:
                yield from _of_group(left.lines, right.lines, tolerance)
            left.step()
            right.step()


class _Groups:
    """The lines of one side by their key: nearly always one, as only edges that nobody tells apart share one."""

    def __init__(self, lines: Iterable[Line], side: str) -> None:
        self._rest = iter(lines)
        self._next = next(self._rest, None)
        self._side = side
        self.lines: list[Line] = []
        self.step()

    def step(self) -> None:
        """Go to the next group."""
        self.lines = []
        while self._next is not None and (not self.lines or self._next.key == self.lines[0].key):
            self.lines.append(self._next)
            following = next(self._rest, None)
            if following is not None and following.key < self._next.key:
                raise InvalidInput(
                    f"{self._side} is not in order: {where(following)} comes behind {where(self._next)}. "
                    "Write the export again"
                )
            self._next = following


def where(line: Line) -> str:
    """A node or an edge by its name, for a person."""
    if line.is_node:
        _, label, scope, node = line.key
        return f"{label} {node} of {scope}"
    _, label, scope, node, kind, to_label, to_scope, to_node, *_ = line.key
    place = f"of {scope}" if scope == to_scope else f"from {scope} to {to_scope}"
    return f"{label} {node} -{kind}-> {to_label} {to_node} {place}"


def _of_group(a: list[Line], b: list[Line], tolerance: Tolerance) -> Iterator[Difference]:
    both = {line.text for line in a} & {line.text for line in b}
    mine, theirs = (sorted(one for one in lines if one.text not in both) for lines in (a, b))
    for one, other in zip(mine, theirs, strict=False):
        yield from _of_line(one, other, tolerance)
    for line in mine[len(theirs) :]:
        yield _whole(line, in_a=True)
    for line in theirs[len(mine) :]:
        yield _whole(line, in_a=False)


def _of_line(a: Line, b: Line, tolerance: Tolerance) -> Iterator[Difference]:
    mine, theirs = row_of(a.text), row_of(b.text)
    what, place = ("node" if a.is_node else "edge"), where(a)
    if mine.get("labels") != theirs.get("labels"):
        yield Difference(what, place, "labels", mine["labels"], theirs["labels"])
    for name in sorted(mine["props"].keys() | theirs["props"].keys()):
        one, other = mine["props"].get(name), theirs["props"].get(name)
        if not same(one, other, tolerance):
            yield Difference(what, place, name, _plain(one), _plain(other))


def _whole(line: Line, *, in_a: bool) -> Difference:
    props = {name: _plain(value) for name, value in row_of(line.text)["props"].items()}
    what = "node" if line.is_node else "edge"
    return Difference(what, where(line), None, props if in_a else None, None if in_a else props)


def same(a: Any, b: Any, tolerance: Tolerance = EXACT) -> bool:
    """Whether two values of a canonical form are the same."""
    if a == b and type(a) is type(b):
        return True
    one, other = _vector(a), _vector(b)
    if one is not None and other is not None:
        return _near(one, other, tolerance.vectors)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(one, other, tolerance) for one, other in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=tolerance.numbers, abs_tol=tolerance.numbers)
    return False


def _vector(value: Any) -> list[float] | None:
    if isinstance(value, dict):
        return next((unpacked(value[name]) for name in _PACKED if name in value), None)
    return value if isinstance(value, list) and value and all(isinstance(one, float) for one in value) else None


def _near(a: list[float], b: list[float], tolerance: float) -> bool:
    return len(a) == len(b) and math.dist(a, b) <= tolerance * max(math.hypot(*a), math.hypot(*b))


def _plain(value: Any) -> Any:
    """A value for a person: a packed vector as its numbers, and what Memstream never writes as its text."""
    if isinstance(value, dict) and "packed" in value:
        return unpacked(value["packed"])
    return value["other"] if isinstance(value, dict) and "other" in value else read_value(value)


def _short(value: Any) -> str:
    if value is None:
        return "not there"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:160]} … ({len(text):,} characters)"
