"""The spaCy pipelines of other languages than English: one for each that the settings name, loaded once per process."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language

from memstream.extractors.parse.candidates import Candidate
from memstream.extractors.parse.frames import quoted_tokens
from memstream.extractors.parse.reader_input import Piece
from memstream.extractors.parse.tree import tree_of
from memstream.extractors.text.identifiers import is_identifier_token
from memstream.extractors.text.textprep import Window
from memstream.schemas.errors import SettingsError

TYPES = {
    "PER": "Person", "PERSON": "Person", "persName": "Person", "LOC": "Location", "GPE": "Location", "FAC": "Location",
    "GPE_LOC": "Location", "placeName": "Location", "geogName": "Location", "ORG": "Organization",
    "GPE_ORG": "Organization", "orgName": "Organization", "EVT": "Event", "EVENT": "Event", "PROD": "Object",
    "PRODUCT": "Object", "WORK_OF_ART": "Object",
}  # fmt: skip


@functools.cache
def language_model(name: str) -> Language:
    """The pipeline of a package, or of a folder. Raises SettingsError where there is none that works."""
    try:
        nlp = spacy.load(Path(name) if "/" in name else name)
    except (OSError, ImportError, ValueError) as error:
        why = " ".join(str(error).split())[:300]
        raise SettingsError(
            f"the spaCy model {name!r} can't be loaded ({why}); install its package, or name its folder"
        ) from error
    tokenizer: Any = nlp.tokenizer
    tokenizer.token_match = is_identifier_token
    if not _cuts_sentences(nlp):
        nlp.add_pipe("sentencizer", first=True)
    return nlp


def _cuts_sentences(nlp: Language) -> bool:
    """Whether the pipeline tells where sentences begin."""
    return any({"token.is_sent_start", "doc.sents"} & set(nlp.get_pipe_meta(pipe).assigns) for pipe in nlp.pipe_names)


def read_piece(name: str, window: Window) -> Piece:
    """One window as the model reads it, alone, so that no neighbour has an influence. Names have no probability."""
    doc = language_model(name)(window.text)
    tree = tree_of(doc, window.start)
    found = [(e, TYPES[e.label]) for e in tree.ents if e.label in TYPES]
    spans = tuple(Candidate(e.start, e.end, "ner", e.label) for e, _ in found)
    return Piece(tree, spans, tuple((kind, 1.0) for _, kind in found), quoted_tokens(tree))
