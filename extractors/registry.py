"""Extractors by name: plug-ins of the entry-point group `memstream.extractors`."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from memstream.schemas.errors import SettingsError
from memstream.schemas.extraction import Extractor
from memstream.schemas.patch import REFUSED_GENERATION

GROUP = "memstream.extractors"


def extractor_names() -> list[str]:
    """The names of the installed extractors, sorted."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def create_extractor(name: str = "spacy", **settings: Any) -> Extractor:
    """A new extractor by its name, made by its entry point's `create(**settings)`.

    Names and settings are plain values, so that a process pool's child makes its own. Raises SettingsError for a name
    that no installed package offers, where its module can't be imported, and for a generation below 1.
    """
    found = {point.name: point for point in entry_points(group=GROUP)}
    if name not in found:
        known = ", ".join(sorted(found)) or "none"
        raise SettingsError(
            f"unknown extractor {name!r}; installed are: {known}. Check the setting or install its package"
        )
    try:
        create = found[name].load()
    except ImportError as error:
        raise SettingsError(
            f"extractor {name!r} ({found[name].value}) can't be imported: {error};"
            " install what it needs, for the default one: pip install 'memstream[streams]'"
        ) from error
    extractor: Extractor = create(**settings)
    if extractor.generation <= REFUSED_GENERATION:
        raise SettingsError(
            f"extractor {name!r} has generation {extractor.generation}: begin with {REFUSED_GENERATION + 1}, what was "
            "refused ranks below"
        )
    return extractor
