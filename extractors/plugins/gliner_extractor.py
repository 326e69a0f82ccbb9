"""Names by a GLiNER model that lies in a folder: more kinds of names than the default knows, and no facts.

The package is an extra (`memstream[gliner]`), and nothing is ever downloaded. Texts are read one by one, so that what
is found in one does not depend on its neighbours.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from memstream.extractors.options import GLINER, GlinerOptions
from memstream.extractors.text.textprep import UNKNOWN, parse_json, prepare
from memstream.schemas.errors import SettingsError
from memstream.schemas.extraction import (
    EntityName,
    EntityType,
    Extraction,
    Mention,
    SessionExtraction,
    SessionTurns,
    Turn,
)
from memstream.settings import load

GENERATION = 1
STEP = 1_000_000  # above what the default one counts to, below the model's steps
CONFIG = "gliner_config.json"
LABELS = {
    "person": EntityType.PERSON,
    "organization": EntityType.ORGANIZATION,
    "team": EntityType.ORGANIZATION,
    "location": EntityType.LOCATION,
    "event": EntityType.EVENT,
    "product": EntityType.OBJECT,
    "software service": EntityType.OBJECT,
    "document": EntityType.OBJECT,
}
"""What the model is asked for, and the types that the answers become."""

_PRONOUNS = frozenset(
    {"i", "you", "he", "she", "it", "we", "they", "me", "him", "her", "us", "them", "my", "your", "his", "its", "our"}
    | {"their", "this", "that"}
)
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}


def create(options: GlinerOptions | None = None) -> GlinerExtractor:
    """A new extractor, by its options or by the settings of this process. Raises SettingsError, see GlinerExtractor."""
    return GlinerExtractor(options or GlinerOptions.of(load()))


class GlinerExtractor:
    """See the module. Raises SettingsError where the package is not installed or the folder holds no model."""

    name = GLINER

    def __init__(self, options: GlinerOptions) -> None:
        self.generation = STEP * (GENERATION + options.generation - 1)
        self._threshold = options.threshold
        self._model = _model_in(options.folder)

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """One SessionExtraction for each, in order: mentions alone, and no state."""
        return [SessionExtraction(b"", [self._read(turn) for turn in session.turns]) for session in sessions]

    def _read(self, turn: Turn) -> Extraction:
        if turn.silent or parse_json(turn.text) is not None:
            return Extraction()
        mentions = []
        for window in prepare(turn.text).windows:
            if not window.text.strip():
                continue
            found = self._model.predict_entities(window.text, list(LABELS), flat_ner=True, threshold=self._threshold)
            mentions += [one for row in found if (one := _mention(turn, row, window.start)) is not None]
        return Extraction(mentions=tuple(sorted(mentions, key=lambda one: (one.start, one.end))))


def _mention(turn: Turn, row: dict[str, Any], offset: int) -> Mention | None:
    """A span of the model's as a mention; None for pronouns and for what is no name."""
    start, end = int(row["start"]) + offset, int(row["end"]) + offset
    text = turn.text[start:end]
    name = " ".join(text.split())
    if UNKNOWN in row["text"] or name.casefold() in _PRONOUNS or not any(char.isalnum() for char in name):
        return None
    return Mention(EntityName(LABELS[row["label"]], name), text, start, end)


def _model_in(folder: Path) -> Any:
    if not (folder / CONFIG).is_file():
        raise SettingsError(
            f"MEMSTREAM_GLINER_DIR: {folder} holds no {CONFIG}. Name the folder of a GLiNER model: none is downloaded"
        )
    os.environ.update(_OFFLINE)  # read when the libraries are imported
    try:
        import torch  # noqa: PLC0415 - seconds, and only who wants it has it
        from gliner import GLiNER  # noqa: PLC0415
    except ImportError as error:
        raise SettingsError(
            f"The extractor gliner needs {error.name}, which is not installed: pip install 'memstream[gliner]'"
        ) from error
    torch.set_num_threads(1)  # a core is one child's
    try:
        return GLiNER.from_pretrained(str(folder), local_files_only=True, map_location="cpu").eval()
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise SettingsError(
            f"MEMSTREAM_GLINER_DIR: the model in {folder} can't be loaded ({why}). The folder must hold all of it: "
            "configuration, weights, and the tokenizer"
        ) from error
