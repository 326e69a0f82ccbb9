"""Why a message says what it says to the extractor, and why not more: for people, and as data for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from memstream.extractors.context.trace import WHY, Attempt, Miss
from memstream.extractors.parse.frames import Frame, frames
from memstream.extractors.parse.reader_input import Piece
from memstream.extractors.parse.tree import Tree
from memstream.extractors.rules.ways import patterns
from memstream.extractors.spacy_extractor import SpacyExtractor, Traced
from memstream.extractors.text.language import ENGLISH
from memstream.extractors.text.textprep import parse_json
from memstream.schemas.extraction import (
    EntityName,
    ExtractedAssertion,
    ExtractedPreference,
    ExtractedRetraction,
    SessionTurns,
    Turn,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word with its place in the message, and in the tree: `head` is the number of the word above it."""

    text: str
    start: int
    lemma: str
    pos: str
    dep: str
    head: int


@dataclass(frozen=True, slots=True)
class Name:
    """Words that may name something: what they were taken for, "" for nothing, and how surely."""

    text: str
    start: int
    end: int
    type: str
    sure: float


@dataclass(frozen=True, slots=True)
class Clause:
    """Who does what: `unsure` is a key of WHY where the clause is not asserted, `patterns` how many its verb has."""

    verb: str
    subject: str
    object: str
    negated: bool
    unsure: str
    patterns: int

    @property
    def reason(self) -> str:
        """Why it is not asserted, in words."""
        return WHY.get(self.unsure, self.unsure)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the message that was parsed by itself."""

    text: str
    start: int
    tokens: tuple[Token, ...]
    names: tuple[Name, ...]
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """A fact that was put down, with the rule and, for patterns of a file, the place that gave it."""

    subject: str
    predicate: str
    object: str
    negated: bool
    valid_from: str | None
    valid_to: str | None
    rule: str
    pattern: str
    used: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mentioned:
    """A name as the message mentions it, and what it refers to."""

    text: str
    start: int
    end: int
    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything about one message. `notes` say what holds for all of it."""

    text: str
    language: str
    parts: tuple[Part, ...]
    mentions: tuple[Mentioned, ...]
    facts: tuple[Said, ...]
    preferences: tuple[ExtractedPreference, ...]
    retractions: tuple[ExtractedRetraction, ...]
    refused: tuple[Attempt, ...]
    missed: tuple[Miss, ...]
    notes: tuple[str, ...]


def explain(extractor: SpacyExtractor, turns: Sequence[Turn]) -> Explanation:
    """The last turn, read after those before it."""
    *before, turn = turns
    state = extractor.extract([SessionTurns(b"", before)])[0].state
    return _explained(turn, extractor.traced(state, turn))


def _explained(turn: Turn, found: Traced) -> Explanation:
    extraction = found.extraction
    facts = tuple(_said(a, found.trace.attempts) for a in extraction.assertions)
    return Explanation(
        text=turn.text,
        language=found.language,
        parts=tuple(_part(piece, found.language) for piece in found.parsed.pieces),
        mentions=tuple(Mentioned(m.text, m.start, m.end, m.entity.type, m.entity.name) for m in extraction.mentions),
        facts=facts,
        preferences=extraction.preferences,
        retractions=extraction.retractions,
        refused=_refused(found, {(f.subject, f.predicate, f.object) for f in facts}),
        missed=tuple(dict.fromkeys(found.trace.misses)),
        notes=tuple(_notes(turn, found)),
    )


def _part(piece: Piece, language: str) -> Part:
    tree = piece.tree
    names = [
        Name(
            tree.span_text(c.start, c.end), tree.offset + tree.at[c.start], tree.offset + tree.end_of(c.end - 1),
            kind, round(float(sure), 3),
        )
        for c, (kind, sure) in zip(piece.candidates, piece.types, strict=True)
    ]  # fmt: skip
    tokens = [
        Token(tree.words[i], tree.offset + tree.at[i], tree.lemma[i], tree.pos[i], tree.dep[i], tree.head[i])
        for i in range(len(tree))
    ]
    clauses = [_clause(tree, frame) for frame in frames(tree, piece.quoted)] if language == ENGLISH else []
    return Part(tree.text, tree.offset, tuple(tokens), tuple(names), tuple(clauses))


def _clause(tree: Tree, frame: Frame) -> Clause:
    verb = f"{frame.lemma} {frame.particle}" if frame.particle else frame.lemma
    table = patterns()
    known = table.get(verb, ()) or table.get(frame.lemma, ())
    unsure = frame.unsure or ("hearsay" if frame.told_by is not None else "future" if frame.future else "")
    return Clause(verb, _words(tree, frame.subj), _words(tree, frame.obj), frame.negated, unsure, len(known))


def _words(tree: Tree, heads: list[int]) -> str:
    return ", ".join(tree.span_text(*tree.noun_span(i)) if i >= 0 else "(left out)" for i in heads)


def _said(a: ExtractedAssertion, attempts: list[Attempt]) -> Said:
    """A fact with the pattern that was the first to give it."""
    obj = a.object.name if isinstance(a.object, EntityName) else a.object
    triple = (a.subject.name, a.predicate, obj)
    by = [t.pattern for t in attempts if _triple(t) == triple and t.rule == a.rule and t.outcome != "refused"]
    pattern = next(iter(by), "")
    return Said(*triple, a.negated, a.valid_from, a.valid_to, a.rule, pattern, a.used)


def _triple(t: Attempt) -> tuple[str, str, str]:
    return t.subject, t.predicate, t.object


def _refused(found: Traced, said: set[tuple[str, str, str]]) -> tuple[Attempt, ...]:
    """What was tried and not said, each once; not what another rule said all the same."""
    out: dict[tuple[str, str, str], Attempt] = {}
    for t in found.trace.attempts:
        if _triple(t) in said or t.why in ("no subject", "no object", "again"):
            continue
        if t.outcome == "said":
            why = "disbelieved" if _triple(t) in found.trace.disbelieved else "withdrawn"
            t = Attempt(t.subject, t.predicate, t.object, t.rule, t.pattern, "refused", why)  # noqa: PLW2901
        out.setdefault(_triple(t), t)
    return tuple(out.values())


def _notes(turn: Turn, found: Traced) -> list[str]:
    notes = list(found.extraction.cut)
    if found.language != ENGLISH and found.parsed.pieces:
        notes.append(f"it is read as {found.language!r}, by that language's own model and patterns")
    if found.fiction:
        notes.append(f"nothing is asserted: {WHY['invented']}")
    if turn.role == "assistant" and not turn.named:
        notes.append(f"nothing is asserted: {WHY['unconfirmed']}")
    if not turn.asserts:
        notes.append(f"nothing is asserted: {WHY['recalled']}")
    rules = Counter(a.rule for a in found.extraction.assertions if a.rule in ("json", "record"))
    if parse_json(turn.text) is not None or rules:
        notes.append("it was read as records and not as prose")
    return notes
