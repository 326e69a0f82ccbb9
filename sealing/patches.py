"""A patch, sealed in sections: each under the keys of all whose events its rows were read with.

In clear stay what says whose patch it is (origin, generation, extractor, verdict) and what it erases. The first section
is the event's own; where its key is destroyed nothing of the patch can be read. The others hold rows that were read
with the help of others' events: each goes with any of the keys, and the rest of the patch is what
`folds.erasure.without` leaves of it. The name of an entity lies in every section that refers to it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from memstream.schemas.errors import InvalidPatch
from memstream.schemas.limits import MAX_PATCH_BYTES
from memstream.schemas.patch import Verdict
from memstream.sealing.box import key_ids, open_sealed, place, seal
from memstream.sealing.errors import SealBroken
from memstream.sealing.keys import Key, KeyStore

KEY_DESTROYED = "key_destroyed: what it said was sealed, and its key is destroyed"
ROWS = ("nodes", "edges", "assertions", "retractions", "links")
OWN = ("reason", "cut")
_BEGINS = b'{"seal":1,'


@dataclass(frozen=True, slots=True)
class Section:
    """Rows by their kind, each with its place in the patch, under these keys."""

    keys: tuple[Key, ...]
    rows: dict[str, list[tuple[int, Any]]]


@dataclass(frozen=True, slots=True)
class OpenedPatch:
    """The bytes of a patch as far as it can be read, how many sections can't, and whether its own is among these."""

    value: bytes
    dropped: int = 0
    unreadable: bool = False


def is_sealed_patch(value: bytes | None) -> bool:
    """Whether a record's value is a sealed patch."""
    return value is not None and value.startswith(_BEGINS)


def seal_patch(patch: dict[str, Any], sections: Sequence[Section]) -> bytes:
    """The record's value of a patch (as JSON has it), its rows in sections, the event's own first.

    Raises InvalidPatch where it would be larger than the limit.
    """
    where = _place(patch)
    clear = {name: told for name, told in patch.items() if name not in (*ROWS, *OWN)}
    sealed = []
    for number, section in enumerate(sections):
        body: dict[str, Any] = {kind: [row for _, row in rows] for kind, rows in section.rows.items() if rows}
        if len(sections) > 1:
            body["at"] = {kind: [at for at, _ in rows] for kind, rows in section.rows.items() if rows}
        if number == 0:
            body |= {name: patch[name] for name in OWN if name in patch}
        sealed.append(base64.b64encode(seal(section.keys, where, orjson.dumps(body))).decode())
    value = orjson.dumps({"seal": 1, **clear, "sealed": sealed})
    if len(value) > MAX_PATCH_BYTES:
        raise InvalidPatch(
            f"sealed, the patch of event {patch['origin']['id']!r} has {len(value):,} bytes, more than "
            f"{MAX_PATCH_BYTES:,}"
        )
    return value


def open_patch(store: KeyStore, value: bytes) -> OpenedPatch:
    """A sealed patch as far as its keys are there. Raises InvalidPatch, SealBroken, KeyMissing."""
    told = _parsed(value)
    where = _place(told)
    clear = {name: one for name, one in told.items() if name not in {"seal", "sealed"}}
    bodies = [_body(store, where, text) for text in told["sealed"]]
    if bodies[0] is None:
        return OpenedPatch(_unreadable(clear), bodies.count(None), unreadable=True)
    rows: dict[str, dict[int, Any]] = {kind: {} for kind in ROWS}
    for body in bodies:
        for kind in ROWS if body is not None else ():
            found = (body or {}).get(kind, [])
            places = (body or {}).get("at", {}).get(kind, range(len(found)))
            rows[kind].update(zip(places, found, strict=True))
    whole = clear | {name: bodies[0][name] for name in OWN if name in bodies[0]}
    whole |= {kind: [row for _, row in sorted(at.items())] for kind, at in rows.items() if at}
    return OpenedPatch(orjson.dumps(whole), bodies.count(None))


def readable_part(value: bytes) -> bytes:
    """What anybody can read of a sealed patch, as the bytes of one. Raises InvalidPatch."""
    return orjson.dumps({name: one for name, one in _parsed(value).items() if name not in {"seal", "sealed"}})


def _body(store: KeyStore, where: bytes, text: str) -> dict[str, Any] | None:
    sealed = _bytes(text)
    keys = store.get(key_ids(sealed))
    if keys is None:
        return None
    body: dict[str, Any] = orjson.loads(open_sealed(keys, where, sealed))
    return body


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise SealBroken(f"a section of a sealed patch is no base64: {error}") from error


def _unreadable(clear: dict[str, Any]) -> bytes:
    return orjson.dumps(clear | {"verdict": Verdict.UNREADABLE.value, "reason": KEY_DESTROYED})


def _parsed(value: bytes) -> dict[str, Any]:
    try:
        told = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise InvalidPatch(f"a sealed patch is no JSON: {error}") from error
    if not isinstance(told, dict) or not isinstance(told.get("sealed"), list) or not told["sealed"]:
        raise InvalidPatch("a sealed patch has no sections")
    return told


def _place(patch: dict[str, Any]) -> bytes:
    try:
        return place("patch", patch["origin"]["scope"], patch["origin"]["key"])
    except (KeyError, TypeError) as error:
        raise InvalidPatch("a sealed patch does not say of which event it is") from error
