"""Messages in another language than English: what can be known of them without the English parser.

With a spaCy model of that language: its names, and what the surface patterns of that language find in whole plain
sentences. Without one, the declared fallback: rules, and no facts. Rules keep what its form alone tells: addresses and
numbers, technical names, names that the session knows already, names with a legal form ("Kestrel GmbH") or after a
title ("Frau Dr. Lund"). Any other capitalised word stays out: what it names cannot be told.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from memstream.extractors.context.session import Session
from memstream.extractors.context.trace import Attempt, Trace
from memstream.extractors.languages.language_models import read_piece
from memstream.extractors.parse.reader_input import Parsed, Piece
from memstream.extractors.read import may_assert, speaker_of
from memstream.extractors.rules.answers import takes_turn
from memstream.extractors.rules.structured import read_structure
from memstream.extractors.rules.surface import MAX_BETWEEN
from memstream.extractors.rules.ways import surfaces
from memstream.extractors.text.identifiers import KEBAB, identify
from memstream.extractors.text.lexicon import words
from memstream.extractors.text.textprep import UNKNOWN, Prepared, Window
from memstream.extractors.text.values import EMAIL, PHONE
from memstream.schemas.extraction import EntityName, EntityType, ExtractedAssertion, Extraction, Mention, Turn

_TOKEN = re.compile(r"[^\s,;:!?()\[\]{}\"“”„«»<>|]+")
_NAME = r"[^\W\d_a-z][\w'’-]{0,40}"
_LEGAL = re.compile(
    rf"(?<!\w){_NAME}(?:[ &]{{1,3}}{_NAME}){{0,3}} (?:GmbH(?: & Co\. KG)?|AG|KG|SE|e\.V\.|S\.A\.|S\.L\.|SARL|S\.p\.A\."
    r"|S\.r\.l\.|SpA|B\.V\.|N\.V\.|s\.r\.o\.|a\.s\.|Sp\. z o\.o\.|AB|A/S|Oy|Kft\.|Lda\.?|Ltda\.?|Ltd\.?|Inc\.?"
    r"|LLC)(?!\w)"
)
_TITLED = re.compile(
    r"(?<!\w)(?:Herr|Frau|Señora?|Sra?\.|Don|Doña|Monsieur|Madame|Mme|Mlle|Signora?|Sig\.(?:ra)?|Senhora?|Meneer|Mevrouw"
    rf"|Pan[ií]?|Paní|Dr\.?|Prof\.?)(?: (?:Dr\.|Prof\.))* ({_NAME}(?: {_NAME}){{0,2}})"
)
_TAILS = words("bot gw api db svc web")
_SPAN = tuple[int, int, str, EntityName]


@dataclass(frozen=True, slots=True)
class Foreign:
    """A text that was found to be in another language: its windows, and what its own model made of them, if any did."""

    language: str
    prepared: Prepared
    pieces: tuple[Piece, ...] = ()

    @property
    def parsed(self) -> Parsed:
        """As what the English parser makes of a text; `cut` says how it was read."""
        how = () if self.pieces else (f"language {self.language!r}: no model is set for it; names by rule, no facts",)
        return Parsed(self.pieces, (*self.prepared.cut, *how))


def foreign(language: str, prepared: Prepared, model: str | None) -> Foreign:
    """Read the windows with the language's model, where there is one."""
    pieces = tuple(read_piece(model, window) for window in prepared.windows) if model else ()
    return Foreign(language, prepared, pieces)


def read_foreign(turn: Turn, text: Foreign, session: Session, trace: Trace | None = None) -> Extraction:
    """The names of the message, and its facts where a model read it. Changes `session` to what it is after it."""
    speaker = speaker_of(turn, session)
    structure = read_structure(turn, session)
    if structure is None:
        structure = _prose(turn, text, session, trace)
        session.fiction = max(session.fiction - 1, 0)
        if takes_turn(turn):
            session.question, session.guesses = None, []
    session.last_speaker = speaker.name
    return structure


def _prose(turn: Turn, text: Foreign, session: Session, trace: Trace | None) -> Extraction:
    mentions: list[Mention] = []
    facts: list[ExtractedAssertion] = []
    for number, window in enumerate(text.prepared.windows):
        piece = text.pieces[number] if text.pieces else None
        found = _mentions(turn, window, piece, session)
        mentions += found
        if piece is not None and turn.asserts and may_assert(turn) and not session.fiction:
            facts += _facts(text.language, piece, found, trace)
    return Extraction(mentions=tuple(mentions), assertions=tuple(dict.fromkeys(facts)), cut=text.parsed.cut)


def _mentions(turn: Turn, window: Window, piece: Piece | None, session: Session) -> list[Mention]:
    """The names of a window from left to right; where two overlap, the one whose rule comes first."""
    taken: list[_SPAN] = []
    rules = (_addresses(window.text), _identifiers(window.text), _of_model(piece), _by_form(window.text))
    for start, end, text, entity in itertools.chain(*rules, _known(window.text, session)):
        if UNKNOWN not in text and not any(a < end and start < b for a, b, _, _ in taken):
            taken.append((start, end, text, entity))
    out = []
    for start, end, _, entity in sorted(taken, key=lambda span: span[0]):
        text = turn.text[window.start + start : window.start + end]
        if entity.subtype in ("email", "phone"):
            out.append(Mention(entity, text, window.start + start, window.start + end))
            continue
        known = session.add(entity.name, entity.type.value, turn.event_id)
        out.append(Mention(known.entity, text, window.start + start, window.start + end, known.basis(turn.event_id)))
    return out


def _addresses(text: str) -> Iterator[_SPAN]:
    for pattern, subtype in ((EMAIL, "email"), (PHONE, "phone")):
        for m in pattern.finditer(text):
            value = m[0].rstrip(".")
            if subtype == "email" or sum(c.isdigit() for c in value) >= 7:
                yield m.start(), m.start() + len(value), value, EntityName(EntityType.OBJECT, value, subtype)


def _identifiers(text: str) -> Iterator[_SPAN]:
    for m in _TOKEN.finditer(text):
        token = m[0].rstrip(".'’")
        found = identify(token)
        if found is None or (KEBAB.fullmatch(token) and not _is_technical(token)):
            continue
        yield m.start(), m.start() + len(token), token, EntityName(EntityType(found.type), token)


def _is_technical(token: str) -> bool:
    """Whether a word with a hyphen is a service's name and no word of the language ("est-ce")."""
    return any(c.isdigit() for c in token) or "_" in token or token.rsplit("-", 1)[-1] in _TAILS


def _of_model(piece: Piece | None) -> Iterator[_SPAN]:
    if piece is None:
        return
    tree = piece.tree
    for c, (kind, _) in zip(piece.candidates, piece.types, strict=True):
        text = tree.span_text(c.start, c.end)
        yield tree.at[c.start], tree.end_of(c.end - 1), text, EntityName(EntityType(kind), text)


def _by_form(text: str) -> Iterator[_SPAN]:
    for m in _LEGAL.finditer(text):
        yield *m.span(), m[0], EntityName(EntityType.ORGANIZATION, m[0])
    for m in _TITLED.finditer(text):
        yield *m.span(1), m[1], EntityName(EntityType.PERSON, m[1])


def _known(text: str, session: Session) -> Iterator[_SPAN]:
    """Names that the session knows, as they were said: the longest first."""
    names = {(name, k.type) for k in session.known for name in (k.name, *k.aliases)}
    for name, kind in sorted(names, key=lambda pair: (-len(pair[0]), pair)):
        if len(name) < 3 or not any(c.isupper() or c.isdigit() or c in "-_" for c in name):
            continue
        for m in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            yield *m.span(), m[0], EntityName(EntityType(kind), m[0])


def _facts(language: str, piece: Piece, mentions: list[Mention], trace: Trace | None) -> Iterator[ExtractedAssertion]:
    """What the language's surface patterns find in sentences of two names and nothing else but what stands between."""
    tree = piece.tree
    ways = [way for way in surfaces() if way.language == language]
    for first, last in tree.sentences if ways else ():
        a, b = tree.at[first], tree.end_of(last - 1)
        inside = [m for m in mentions if a <= m.start - tree.offset and m.end - tree.offset <= b]
        if len(inside) != 2 or any(piece.quoted[first:last]):
            continue
        left, right = inside
        before = tree.text[a : left.start - tree.offset].strip()
        after = tree.text[right.end - tree.offset : b].strip()
        between = " ".join(tree.text[left.end - tree.offset : right.start - tree.offset].lower().split())
        if before or after not in ("", ".", "!") or len(between) > MAX_BETWEEN or left.entity == right.entity:
            continue
        for way in ways:
            kinds = (left.entity.type in way.left, right.entity.type in way.right)
            if all(kinds) and way.between.fullmatch(between):
                subject, obj = (right, left) if way.flip else (left, right)
                used = tuple(dict.fromkeys((*subject.used, *obj.used)))
                rule = f"surface:{language}"
                if trace is not None:
                    names = (subject.entity.name, way.predicate, obj.entity.name)
                    trace.attempts.append(Attempt(*names, rule, way.where, "said"))
                yield ExtractedAssertion(subject.entity, way.predicate, obj.entity, used=used, rule=rule)
                break
