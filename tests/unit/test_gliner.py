"""Names by a GLiNER model in a folder. What needs the package is skipped where the extra `gliner` is not installed."""

from __future__ import annotations

import importlib.util
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memstream.extractors.options import GlinerOptions, options_of
from memstream.extractors.plugins.gliner_extractor import LABELS, GlinerExtractor
from memstream.extractors.registry import create_extractor
from memstream.schemas.errors import SettingsError
from memstream.schemas.extraction import EntityType, SessionTurns, Turn
from memstream.settings import load

INSTALLED = importlib.util.find_spec("gliner") is not None
needs_gliner = pytest.mark.skipif(not INSTALLED, reason="the extra is not installed: pip install 'memstream[gliner]'")
NOW = datetime(2026, 3, 6, tzinfo=UTC)
TEXTS = (
    "Ana met Tom Hale in Porto.",
    "```\ncode(Kestrel)\n```\nWe saw Nimbus at https://example.org/Nimbus today",
    "{}",
)


def test_labels_cover_the_five_types() -> None:
    """Whatever it finds is of a type that the graph knows."""
    assert set(LABELS.values()) == set(EntityType)


def test_a_folder_must_be_named_and_hold_a_model(tmp_path: Path) -> None:
    """Nothing is downloaded, and each lack is told with the setting."""
    with pytest.raises(SettingsError, match="MEMSTREAM_GLINER_DIR"):
        options_of(load(extractor="spacy+gliner"))
    with pytest.raises(SettingsError, match=r"MEMSTREAM_GLINER_DIR: .* holds no gliner_config.json"):
        create_extractor("gliner", {"gliner": GlinerOptions(tmp_path / "none")})


@pytest.mark.skipif(INSTALLED, reason="the extra is installed here")
def test_a_package_that_is_not_installed_is_named(tmp_path: Path) -> None:
    """With the command that installs it."""
    (tmp_path / "gliner_config.json").write_text("{}")
    with pytest.raises(SettingsError, match=r"not installed: pip install 'memstream\[gliner\]'"):
        GlinerExtractor(GlinerOptions(tmp_path))


@needs_gliner
@pytest.mark.filterwarnings("ignore")
def test_the_real_package_reads_a_model_from_its_folder(tmp_path: Path) -> None:
    """Spans stand in the text and outside of code, types are ours, and no text has an influence on another."""
    from tiny_gliner import make  # noqa: PLC0415 - imports the package

    extractor = GlinerExtractor(GlinerOptions(make(tmp_path), generation=2, threshold=0.0))
    assert (extractor.name, extractor.generation) == ("gliner", 2_000_000)
    turns = [Turn(f"e{number}", "user", "Ana", text, NOW) for number, text in enumerate(TEXTS)]
    [found] = extractor.extract([SessionTurns(b"", turns)])
    for text, said in zip(TEXTS, found.extractions, strict=True):
        assert all(one.text == text[one.start : one.end] for one in said.mentions)
        assert all(one.entity.type in EntityType and "Kestrel" not in one.text for one in said.mentions)
        assert not said.assertions
    assert found.extractions[0].mentions
    assert not found.extractions[2].mentions
    for turn, said in zip(turns, found.extractions, strict=True):
        assert extractor.extract([SessionTurns(b"", [turn])])[0].extractions == [said]


@needs_gliner
@pytest.mark.filterwarnings("ignore")
def test_a_model_that_is_not_whole_is_told(tmp_path: Path) -> None:
    """Without its tokenizer or its weights it is not fetched from anywhere."""
    (tmp_path / "gliner_config.json").write_text('{"model_name": "nobody/nothing"}')
    with pytest.raises(SettingsError, match=r"can't be loaded .* must hold all of it"):
        GlinerExtractor(GlinerOptions(tmp_path))
