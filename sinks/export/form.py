"""The canonical form of a graph: a line of JSON for each node and each edge, in the order of their keys.

Two graphs of the same patches have the same lines, whatever the order in which the patches arrived. Left out is what
follows from arrival and not from what was said: positions, closed versions, internal ids, stubs, locks, offsets, the
outbox, and hashes over any of these; and what is derived from all the rest at a time of its own (sinks.sames). A
version of a fact is named by its claim and by its first source, since its own id has a position in it. Ends of edges
are named by label, scope and id; an end may be a stub.
"""

from __future__ import annotations

import base64
import hashlib
import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from memstream.schemas.catalogue import catalogue
from memstream.schemas.errors import InvalidInput
from memstream.schemas.patch import Label

FORMAT = 1
DIGITS = 9  # of a float, in decimal: what differs behind them is the same

VERSIONS = ("Fact", "Preference")
SERVICE = ("Event", "Erasure", "Assertion", "Retraction")
LABELS = (*(label.value for label in Label), *VERSIONS, *SERVICE)
"""What is in the form: each node has one of these, and may have further labels."""

_KNOWN = frozenset(LABELS)
_ARRIVAL = frozenset({"scope", "id", "at", "changed", "lock", "stok"})
_OF_VERSION = _ARRIVAL | {"content", "current", "ended_at"}
_LEFT_OUT = {
    "Event": _ARRIVAL | {"made", "lost"},
    "Assertion": _ARRIVAL | {"fact"},
    "Fact": _OF_VERSION,
    "Preference": _OF_VERSION,
}
_LEFT_OUT_OF_EDGES = frozenset({"at", "fact", "status"})
_TELLS_APART = ("event", "assertion", "part", "claim")  # what two edges of one type between the same ends differ in

_NODES, _EDGES = "1", "2"

Key = tuple[str, ...]


class End(NamedTuple):
    """A node as an edge names it."""

    label: str
    scope: str
    id: str


class Line(NamedTuple):
    """One node or edge: its place in the order, and its JSON."""

    key: Key
    text: bytes

    @property
    def is_node(self) -> bool:
        """Whether it is a node; else it is an edge."""
        return self.key[0] == _NODES


@dataclass(frozen=True, slots=True)
class Basis:
    """What a digest rests on beside the lines: another format or another catalogue gives another one.

    `own` is the digest of what a file of one's own adds to the catalogue, "" for nothing.
    """

    format: int = FORMAT
    catalogue: int = 0
    own: str = ""

    @classmethod
    def here(cls) -> Basis:
        """That of this Memstream."""
        return cls(FORMAT, catalogue().version, catalogue().own)


class Digest:
    """The hash over a canonical form, with its counts; lines are given in their order."""

    def __init__(self, basis: Basis | None = None) -> None:
        basis = basis or Basis.here()
        own = f" {basis.own}" if basis.own else ""
        self._hash = hashlib.sha256(f"memstream {basis.format} {basis.catalogue}{own}\n".encode())
        self.nodes = 0
        self.edges = 0

    def add(self, line: Line) -> None:
        """The next line."""
        self._hash.update(line.text)
        self._hash.update(b"\n")
        if line.is_node:
            self.nodes += 1
        else:
            self.edges += 1

    @property
    def hex(self) -> str:
        """The hash as text."""
        return self._hash.hexdigest()


def digest(lines: Iterable[Line]) -> Digest:
    """The digest of all these lines."""
    made = Digest()
    for line in lines:
        made.add(line)
    return made


def primary(labels: Iterable[str]) -> str | None:
    """The label that names a node; None where it is none of ours."""
    return next((label for label in labels if label in _KNOWN), None)


def version_id(claim: str, name: str) -> str:
    """The name of a version of a fact, without the position that is in its own id. It sorts like (claim, name)."""
    return f"{claim}.{name}"


def node_line(label: str, scope: str, node: str, labels: Iterable[str], props: Mapping[str, Any]) -> Line:
    """The line of a node; `props` are all its properties."""
    left_out = _LEFT_OUT.get(label, _ARRIVAL)
    row = {
        "node": label,
        "scope": scope,
        "id": node,
        "labels": sorted(one for one in labels if one != label),
        "props": {name: _written(name, value) for name, value in props.items() if name not in left_out},
    }
    return Line((_NODES, label, scope, node), _json(row))


def edge_line(kind: str, start: End, end: End, props: Mapping[str, Any]) -> Line:
    """The line of an edge; `props` are all its properties."""
    kept = {name: _written(name, value) for name, value in props.items() if name not in _LEFT_OUT_OF_EDGES}
    return Line(_edge_key(kind, start, end, props), _json({"edge": kind, "from": start, "to": end, "props": kept}))


def read_line(text: bytes) -> Line:
    """A line as it was written. Raises InvalidInput where it is none."""
    return Line(key_of(row_of(text)), text)


def row_of(text: bytes) -> dict[str, Any]:
    """What a line says. Raises InvalidInput where it is no JSON object."""
    try:
        row = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"no JSON: {text[:80]!r} ({error})") from error
    if not isinstance(row, dict):
        raise InvalidInput(f"no node and no edge: {text[:80]!r}")
    return row


def key_of(row: Mapping[str, Any]) -> Key:
    """The place of what a line says. Raises InvalidInput where it is no node and no edge."""
    try:
        if "node" in row:
            return (_NODES, row["node"], row["scope"], row["id"])
        return _edge_key(row["edge"], End(*row["from"]), End(*row["to"]), row["props"])
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"no node and no edge: {str(row)[:80]}") from error


def read_value(value: Any) -> Any:
    """A property's value as the graph has it. Raises InvalidInput for a kind that Memstream never writes."""
    if isinstance(value, list):
        return [read_value(one) for one in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"f16": str(packed)}:
            return unpacked(packed)
        case {"packed": str(packed)}:
            return packed
        case {"float": str(text)}:
            return float(text)
    raise InvalidInput(f"the value {str(value)[:80]} is of a kind that Memstream never writes: it can't be loaded")


def unpacked(packed: str) -> list[float]:
    """The numbers of a packed vector."""
    raw = base64.b64decode(packed)
    return list(struct.unpack(f"<{len(raw) // 2}e", raw))


def _edge_key(kind: str, start: End, end: End, props: Mapping[str, Any]) -> Key:
    apart = next((str(props[name]) for name in _TELLS_APART if name in props), "")
    return (_EDGES, *start, kind, *end, apart)


def _written(name: str, value: Any) -> Any:
    """A value as JSON has it, with what JSON has no form for as an object of one member."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, list):
        packed = _packed(value) if name == "embedding" else None
        return [_written("", one) for one in value] if packed is None else {"f16": packed}
    return {"packed": value} if name == "vector" and isinstance(value, str) else value


def _packed(values: list[Any]) -> str | None:
    """A vector in 16 bits a number, as it came from its patch; None where that would lose something."""
    try:
        raw = struct.pack(f"<{len(values)}e", *values)
    except (struct.error, OverflowError):
        return None
    return base64.b64encode(raw).decode() if struct.unpack(f"<{len(values)}e", raw) == tuple(values) else None


def _json(row: Mapping[str, Any]) -> bytes:
    return orjson.dumps(row, default=_stranger, option=orjson.OPT_SORT_KEYS)


def _stranger(value: Any) -> Any:
    """Dates, points and bytes: Memstream writes none, somebody else may have."""
    return list(value) if isinstance(value, tuple) else {"other": str(value)}
