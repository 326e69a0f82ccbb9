"""From ranked candidates to an answer: what fits the budget, one block of text, and citations that resolve."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from memstream.query.models import Source, SourceKind
from memstream.query.recall_rank import SERVED_CHARS, Candidate, Kind
from memstream.query.sources import quoted

CHARS_PER_TOKEN: Final = 4
MAX_SOURCES: Final = 3

_BRACKETED = re.compile(r"\[(\d+)\]")
_HEADINGS: Final = (
    ("What is known", (Kind.FACT, Kind.PREFERENCE)),
    ("What was said", (Kind.MESSAGE, Kind.BOARD_ITEM)),
    ("From documents", (Kind.PASSAGE,)),
)


@dataclass(frozen=True, slots=True)
class Line:
    """One candidate as it would be served: its sources and its text without citation numbers."""

    candidate: Candidate
    text: str
    sources: tuple[Source, ...]
    differs_from: str | None = None


@dataclass(slots=True)
class Block:
    """What is served. `numbers` are the citation numbers by (scope, source id), in the order of the text."""

    text: str = ""
    lines: list[Line] = field(default_factory=list)
    cited: list[tuple[str, Source]] = field(default_factory=list)
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    def numbers_of(self, line: Line) -> list[int]:
        """The citation numbers of a line."""
        return [self.numbers[line.candidate.scope, source.id] for source in line.sources]


def tokens_of(text: str) -> int:
    """About how many tokens a text has: four characters each, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


def compose(lines: list[Line], budget: int, limit: int) -> Block:
    """The best lines (they come in order of rank) that fit the budget, as one block with numbered citations."""
    shown = _chosen(lines, budget, limit)
    block = Block(lines=shown)
    parts: list[str] = []
    for heading, kinds in _HEADINGS:
        under = [line for line in shown if line.candidate.kind in kinds]
        if under:
            parts.append("\n".join([f"{heading}:", *(_numbered(line, block) for line in under)]))
    block.text = "\n\n".join(parts)
    return block


def line_of(candidate: Candidate, sources: list[Source], *, several_scopes: bool, differs_from: str | None) -> Line:
    """A candidate as a line of text."""
    row, body = candidate.row, _harmless(candidate.row.get("text") or "")
    if candidate.kind in (Kind.FACT, Kind.PREFERENCE):
        text = f"{body}{_span(candidate)}"
    elif candidate.kind is Kind.PASSAGE:
        text = _harmless(titled(row.get("title"), row["text"]))
    else:
        nobody = "on the board" if candidate.kind is Kind.BOARD_ITEM else "unknown"
        said = f"{_minute(row.get('time'))}, {_harmless(row.get('speaker') or nobody, 80)}"
        text = f"{said}: “{body}”"
    if differs_from is not None:
        text += " (another scope says otherwise)"
    if several_scopes:
        text += f" (in {candidate.scope})"
    return Line(candidate, text, tuple(sources[:MAX_SOURCES]), differs_from)


def titled(title: str | None, text: str) -> str:
    """A passage after its document's title, unless it begins with the title itself."""
    return text if not title or text.lstrip().startswith(title) else f"{title}: {text}"


def own_source(candidate: Candidate) -> Source:
    """The source that a message or a board item is by itself."""
    row = candidate.row
    return Source(
        kind=SourceKind.BOARD_ITEM if candidate.kind is Kind.BOARD_ITEM else SourceKind.MESSAGE,
        id=candidate.id,
        event_id=row.get("event_id"),
        session_id=row.get("session_id"),
        speaker=row.get("speaker"),
        time=row.get("time"),
        quote=quoted(row.get("text") or ""),
    )


def _chosen(lines: list[Line], budget: int, limit: int) -> list[Line]:
    shown: list[Line] = []
    left = budget * CHARS_PER_TOKEN
    headings: set[str] = set()
    for line in lines:
        heading = next(heading for heading, kinds in _HEADINGS if line.candidate.kind in kinds)
        # two characters of bullet, five for each number, the line's end, and its heading where it is the first
        cost = len(line.text) + 3 + 5 * len(line.sources) + (0 if heading in headings else len(heading) + 4)
        if cost <= left and len(shown) < limit:
            left -= cost
            headings.add(heading)
            shown.append(line)
    return shown


def _numbered(line: Line, block: Block) -> str:
    for source in line.sources:
        key = (line.candidate.scope, source.id)
        if key not in block.numbers:
            block.numbers[key] = len(block.cited) + 1
            block.cited.append((line.candidate.scope, source))
    marks = "".join(f"[{number}]" for number in block.numbers_of(line))
    return f"- {line.text} {marks}".rstrip()


def _span(candidate: Candidate) -> str:
    row = candidate.row
    if candidate.kind is Kind.PREFERENCE:
        return "" if row.get("holds", True) else " (no longer)"
    start, end = _day(row.get("valid_from")), _day(row.get("valid_to"))
    words = [f"since {start}" if start and row.get("start_known") else "", f"until {end}" if end else ""]
    if not row.get("holds", True):
        words.append("no longer holds")
    told = ", ".join(word for word in words if word)
    return f" ({told})" if told else ""


def _harmless(text: str, limit: int = SERVED_CHARS) -> str:
    """A text on one line, in which nothing looks like a citation of ours."""
    return _BRACKETED.sub(r"(\1)", quoted(text, limit))


def _minute(time: str | None) -> str:
    return (time or "")[:16].replace("T", " ") or "undated"


def _day(time: str | None) -> str:
    return (time or "")[:10]
