"""The predicate catalogue: what relations there are, and which of them hold one value at a time.

The data stand in catalogue.toml beside this module. The fold of facts and the extractors both read them here.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Predicate:
    """One relation of the catalogue. `subject` and `object` are names of entity types."""

    name: str
    meaning: str
    single: bool
    subject: tuple[str, ...]
    object: tuple[str, ...]
    value: bool = False
    inverse: str | None = None
    symmetric: bool = False
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All predicates by name. `version` rises with a change of meaning: facts must then be folded again."""

    version: int
    predicates: Mapping[str, Predicate]

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


@functools.cache
def catalogue() -> Catalogue:
    """The catalogue that ships with Memstream, read once."""
    raw = tomllib.loads((resources.files("memstream.schemas") / "catalogue.toml").read_text(encoding="utf-8"))
    predicates = {
        name: Predicate(
            name=name,
            meaning=row["meaning"],
            single=row["cardinality"] == "single",
            subject=tuple(row["subject"]),
            object=tuple(row["object"]),
            value=row.get("value", False),
            inverse=row.get("inverse"),
            symmetric=row.get("symmetric", False),
            examples=tuple(row["examples"]),
        )
        for name, row in raw["predicate"].items()
    }
    return Catalogue(version=raw["version"], predicates=MappingProxyType(predicates))
