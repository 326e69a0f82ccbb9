"""Which rows of a patch are sealed together: those that an erasure of the same people would take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from memstream.folds.erasure import entities_of
from memstream.schemas.patch import AssertionRow, EdgeRow, Label, LinkRow, Patch
from memstream.sealing import Key
from memstream.sealing.patches import ROWS, Section, seal_patch

KeysOf = Callable[[str], Iterable[Key]]
"""The keys of the event that a row used, by the event's key."""


def sealed(patch: Patch, own: Key, keys_of: KeysOf) -> bytes:
    """The bytes of a patch, sealed. Raises InvalidPatch where they would be more than the limit."""
    dumped = patch.model_dump(mode="json", exclude_defaults=True) | {"version": patch.version}
    return seal_patch(dumped, sections(patch, own, keys_of, dumped))


def sections(patch: Patch, own: Key, keys_of: KeysOf, dumped: dict[str, Any]) -> list[Section]:
    """The rows by the keys that they take, the event's own first."""
    made: dict[tuple[Key, ...], Section] = {}

    def put(keys: tuple[Key, ...], kind: str, at: int) -> None:
        section = made.setdefault(keys, Section(keys, {name: [] for name in ROWS}))
        section.rows[kind].append((at, dumped[kind][at]))

    put_own = (own,)
    made[put_own] = Section(put_own, {name: [] for name in ROWS})
    referring: dict[str, dict[tuple[Key, ...], None]] = {}
    helped: dict[str, tuple[EdgeRow | AssertionRow | LinkRow, ...]] = {
        "edges": patch.edges,
        "assertions": patch.assertions,
        "links": patch.links,
    }
    for kind, rows in helped.items():
        for at, row in enumerate(rows):
            keys = _together(own, row, keys_of)
            put(keys, kind, at)
            for entity in entities_of((row,)):
                referring.setdefault(entity, {})[keys] = None
    for at in range(len(patch.retractions)):
        put(put_own, "retractions", at)
    for at, node in enumerate(patch.nodes):
        bound = not node.owned and node.label is Label.ENTITY and node.id in referring
        of = referring[node.id] if bound else {put_own: None}
        for keys in {put_own: None} if put_own in of else of:
            put(keys, "nodes", at)
    return list(made.values())


def _together(own: Key, row: EdgeRow | AssertionRow | LinkRow, keys_of: KeysOf) -> tuple[Key, ...]:
    others = {key.id: key for used in row.used for key in keys_of(used) if key.id != own.id}
    return (own, *(others[one] for one in sorted(others)))
