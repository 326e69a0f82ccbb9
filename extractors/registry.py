"""Extractors by name: plug-ins of the entry-point group `memstream.extractors`, one or several that read together."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from memstream.extractors.merge.united import United
from memstream.extractors.options import Options, parts_of
from memstream.schemas.errors import SettingsError
from memstream.schemas.extraction import Extractor
from memstream.schemas.patch import REFUSED_GENERATION

GROUP = "memstream.extractors"


def extractor_names() -> list[str]:
    """The names of the installed extractors, sorted."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def create_extractor(name: str = "spacy", options: Options | None = None, **settings: Any) -> Extractor:
    """A new extractor by its name, made by its entry point's `create(**settings)`.

    Of several, such as `spacy+openai`, it is one that unites what they say (see memstream.extractors.merge.merging).
    `options` are what the extractors of these names are given as the first argument; others read the settings of the
    process where they need any. All are plain values, so that a process pool's child makes its own. Raises
    SettingsError for a name that no installed package offers, where its module can't be imported, and for a
    generation below 1.
    """
    found = {point.name: point for point in entry_points(group=GROUP)}
    parts = parts_of(name)
    for part in parts:
        if part not in found:
            known = ", ".join(sorted(found)) or "none"
            raise SettingsError(
                f"unknown extractor {part!r}; installed are: {known}. Check the setting or install its package"
            )
    given = options or {}
    made = [_create(found[part], *([given[part]] if part in given else []), **settings) for part in parts]
    return made[0] if len(made) == 1 else United(made, parts)


def _create(point: EntryPoint, *options: Any, **settings: Any) -> Extractor:
    try:
        create = point.load()
    except ImportError as error:
        raise SettingsError(
            f"extractor {point.name!r} ({point.value}) can't be imported: {error};"
            " install what it needs, for the default one: pip install 'memstream[streams]'"
        ) from error
    extractor: Extractor = create(*options, **settings)
    if extractor.generation <= REFUSED_GENERATION:
        raise SettingsError(
            f"extractor {point.name!r} has generation {extractor.generation}: begin with {REFUSED_GENERATION + 1}, "
            "what was refused ranks below"
        )
    return extractor
