"""Cuts a document into passages: whole paragraphs up to a size, long ones at the end of a sentence or of a word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SIZE = 800

_BETWEEN = re.compile(r"\n[ \t\r]*\n\s*")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s|\n")


@dataclass(frozen=True, slots=True)
class Passage:
    """`text` stands at `start` of the document; `number` counts from 0."""

    number: int
    start: int
    text: str


def passages(text: str) -> list[Passage]:
    """The passages of a text, in order. White space between them belongs to none."""
    cut: list[Passage] = []
    for start, end in _merged(_blocks(text)):
        piece = text[start:end]
        bare = piece.strip()
        if bare:
            lead = len(piece) - len(piece.lstrip())
            cut.append(Passage(len(cut), start + lead, bare))
    return cut


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in _BETWEEN.finditer(text):
        yield from _pieces(text, start, gap.start())
        start = gap.end()
    yield from _pieces(text, start, len(text))


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > SIZE:
        cut = _cut(text, start)
        yield start, cut
        start = cut
    if end > start:
        yield start, end


def _cut(text: str, start: int) -> int:
    """Where to end a passage: after the last sentence, else the last word, in its second half."""
    half, limit = start + SIZE // 2, start + SIZE
    ends = [match.end() for match in _SENTENCE_END.finditer(text, half, limit)]
    if ends:
        return ends[-1]
    space = text.rfind(" ", half, limit)
    return space + 1 if space >= 0 else limit


def _merged(blocks: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    current: tuple[int, int] | None = None
    for start, end in blocks:
        if current is not None and end - current[0] <= SIZE:
            current = (current[0], end)
            continue
        if current is not None:
            yield current
        current = (start, end)
    if current is not None:
        yield current
