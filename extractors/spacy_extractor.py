"""The extractor that ships with Memstream: spaCy's small English model, rules over its trees, and the session's state.

`extract` parses the texts of all sessions in one `nlp.pipe`, then reads each session's turns in order. What a turn says
depends on its text, its time and the session before it, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memstream.extractors.context.session import Session
from memstream.extractors.context.trace import Trace
from memstream.extractors.languages.foreign import read_foreign
from memstream.extractors.languages.tongues import Tongues
from memstream.extractors.models.entity_model import EntityModel, entity_model
from memstream.extractors.models.judge import Judge, judge
from memstream.extractors.models.relation_model import relation_model
from memstream.extractors.models.seats import seat, take_seats
from memstream.extractors.parse.candidates import candidates
from memstream.extractors.parse.forms import by_form
from memstream.extractors.parse.frames import quoted_tokens
from memstream.extractors.parse.pipeline import parse, pipeline
from memstream.extractors.parse.reader_input import Parsed, Piece
from memstream.extractors.parse.tree import tree_of
from memstream.extractors.read import read_message
from memstream.extractors.rules.ways import own_digest, own_version, patterns, surfaces
from memstream.extractors.text.language import ENGLISH
from memstream.extractors.text.lru import LruCache
from memstream.extractors.text.textprep import Prepared, parse_json, prepare
from memstream.schemas.extraction import Extraction, SessionExtraction, SessionTurns, Turn
from memstream.settings import load

NAME = "spacy"
GENERATION = 3
OWN_VERSIONS = 100  # between two generations there is room for the versions of a person's own patterns
CACHE = 1_024
_CACHED_CHARS = 400  # longer texts are seldom said twice


def create(
    model: str | None = None, cache_size: int = CACHE, *, language: str | None = None,
    language_models: Mapping[str, str] | None = None,
) -> SpacyExtractor:  # fmt: skip
    """A new extractor. `model`: another spaCy model package; `cache_size`: how many parsed texts to remember.

    `language` is the one that is taken where none is certain, `language_models` are spaCy models of other languages;
    both by the settings where they are not given.
    """
    if language is None or language_models is None:
        settings = load()
        language = settings.language if language is None else language
        language_models = settings.models_by_language if language_models is None else language_models
    return SpacyExtractor(model, cache_size, Tongues(language, language_models, cache_size))


@dataclass(frozen=True, slots=True)
class _Job:
    text: str
    prepared: Prepared


@dataclass(frozen=True, slots=True)
class Traced:
    """One turn, read with a trace: what the parser made of it, what it says, and what was tried. For people."""

    parsed: Parsed
    extraction: Extraction
    fiction: bool
    language: str
    trace: Trace


class SpacyExtractor:
    """See the module. One per process: the model is loaded once, whoever asks.

    A person's own patterns (MEMSTREAM_PREDICATES) are part of what it is: their digest of its name, their version of
    its generation, so that a newer version of them replaces what an older one said.
    """

    def __init__(
        self, model: str | None = None, cache_size: int = CACHE, tongues: Tongues | None = None, *,
        entities: EntityModel | None = None, judged: Judge = judge,
    ) -> None:  # fmt: skip
        self._model = model
        self._entities = entities or entity_model()
        self.judged = judged
        self._tongues = tongues or Tongues(ENGLISH, {}, cache_size)
        self._cache: LruCache[str, Parsed] = LruCache(cache_size)
        digest = own_digest() + self._tongues.digest
        self.name = f"{NAME}~{digest}" if digest else NAME
        self.generation = GENERATION * OWN_VERSIONS + own_version()
        patterns()
        surfaces()
        pipeline(model)
        if self.judged is judge:
            relation_model()  # so that no first message waits for it

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """One SessionExtraction for each, in order. See memstream.schemas.extraction.Extractor."""
        ahead = (each for session in sessions for each in self._tongues.ahead(session))
        parsed = self._parse({text for text, language in ahead if language == ENGLISH})
        return [self._session(session, parsed) for session in sessions]

    def _session(self, turns: SessionTurns, parsed: dict[str, Parsed]) -> SessionExtraction:
        state = turns.state
        extractions: list[Extraction] = []
        for turn in turns.turns:
            session = Session.decode(state)
            repeated = session.repeats(turn.event_id)
            extractions.append(self._read(turn, session, parsed))
            if not repeated:
                session.take(turn.event_id)
                state = session.encode()
        return SessionExtraction(state, extractions)

    def traced(self, state: bytes, turn: Turn) -> Traced:
        """One turn as `extract` reads it after what made `state`, with a trace of what was tried."""
        session, trace = Session.decode(state), Trace()
        prose = _is_prose(turn)
        language = self._tongues.of(turn, Session.decode(state)) if prose else ENGLISH
        parsed: dict[str, Parsed] = {}
        extraction = self._read(turn, session, parsed, trace)
        found = self._tongues.foreign(turn.text, language).parsed if language != ENGLISH else parsed.get(turn.text)
        return Traced(found or Parsed((), ()), extraction, session.fiction > 0, language, trace)

    def _read(self, turn: Turn, session: Session, parsed: dict[str, Parsed], trace: Trace | None = None) -> Extraction:
        """One message in its language. `parsed` has what was parsed ahead as English, and gets what is lacking."""
        if not _is_prose(turn):
            return read_message(turn, None, session, trace, self.judged)
        language = self._tongues.of(turn, session)
        if language != ENGLISH:
            return read_foreign(turn, self._tongues.foreign(turn.text, language), session, trace)
        if turn.text not in parsed:
            parsed |= self._parse({turn.text})
        return read_message(turn, parsed[turn.text], session, trace, self.judged)

    def _parse(self, texts: set[str]) -> dict[str, Parsed]:
        out: dict[str, Parsed] = {}
        jobs: list[_Job] = []
        for text in sorted(texts):
            known = self._cache.get(text)
            if known is not None:
                out[text] = known
            else:
                jobs.append(_Job(text, prepare(text)))
        windows = [window for job in jobs for window in job.prepared.windows]
        docs = parse([window.text for window in windows], self._model)
        for job in jobs:
            pieces = []
            for window in job.prepared.windows:
                tree = tree_of(next(docs), window.start)
                seats = seat(tree)
                spans = candidates(tree)
                quoted = quoted_tokens(tree)
                types = self._entities.classify(tree, spans)
                if seats:
                    spans, types = take_seats(seats, spans, types)
                spans, types = by_form(tree, spans, types)
                pieces.append(Piece(tree, tuple(spans), tuple(types), quoted))
            result = Parsed(tuple(pieces), job.prepared.cut)
            out[job.text] = result
            if len(job.text) <= _CACHED_CHARS:
                self._cache.put(job.text, result)
        return out


def _is_prose(turn: Turn) -> bool:
    """Whether a text goes through the parser: JSON as a whole and what a tool printed as JSON do not."""
    return parse_json(turn.text) is None
