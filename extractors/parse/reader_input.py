"""What the parser made of a text: the part of reading that depends on the text alone, and may be remembered."""

from __future__ import annotations

from dataclasses import dataclass

from memstream.extractors.parse.candidates import Candidate
from memstream.extractors.parse.tree import Tree


@dataclass(frozen=True, slots=True)
class Piece:
    """One parsed window with its candidate names and their types ("" for none) and probabilities."""

    tree: Tree
    candidates: tuple[Candidate, ...]
    types: tuple[tuple[str, float], ...]
    quoted: list[bool]


@dataclass(frozen=True, slots=True)
class Parsed:
    """The windows of a text, and what was cut."""

    pieces: tuple[Piece, ...]
    cut: tuple[str, ...]
