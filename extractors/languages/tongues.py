"""Which language each message of a session is read in, and by what.

What a message's own words leave in doubt is read in the language that its session was in last, at a session's start in
the default. Both are a function of the session's turns alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping

from memstream.extractors.context.session import Session
from memstream.extractors.languages.foreign import Foreign, foreign
from memstream.extractors.languages.language_models import language_model
from memstream.extractors.text.language import ENGLISH, detect
from memstream.extractors.text.lru import LruCache
from memstream.extractors.text.textprep import parse_json, prepare
from memstream.schemas.extraction import SessionTurns, Turn

_CACHED_CHARS = 400
_MASKED = re.compile(r"[`\n{\[@]|://")  # what may be code, a log, an address


class Tongues:
    """The languages of one extractor: the default, and the models of others than English. Loads them."""

    def __init__(self, default: str, models: Mapping[str, str], cache_size: int) -> None:
        self.default = default
        self.models = dict(models)
        self._told: LruCache[str, str] = LruCache(cache_size)
        self._read: LruCache[tuple[str, str], Foreign] = LruCache(cache_size)

        for name in self.models.values():
            language_model(name)

    @property
    def digest(self) -> str:
        """Of what is set; "" where nothing is."""
        told = repr((self.default, sorted(self.models.items())))
        return "" if told == repr((ENGLISH, [])) else hashlib.sha256(told.encode()).hexdigest()[:8]

    def ahead(self, turns: SessionTurns) -> Iterator[tuple[str, str]]:
        """The texts of a session that are prose, each with the language that it will most likely be read in."""
        session = Session.decode(turns.state)
        for turn in turns.turns:
            if parse_json(turn.text) is None:
                yield turn.text, self.of(turn, session)

    def of(self, turn: Turn, session: Session) -> str:
        """The language of a message of prose, kept in `session` for the next ones. What a tool prints is not kept."""
        told = self._detect(turn.text)
        if turn.role == "tool":
            return told or self.default
        language = told or session.language or self.default
        session.language = "" if language == self.default else language
        return language

    def foreign(self, text: str, language: str) -> Foreign:
        """A text as its language's model reads it, or as the rules for all languages do."""
        key = (text, language)
        found = self._read.get(key)
        if found is None:
            found = foreign(language, prepare(text), self.models.get(language))
            if len(text) <= _CACHED_CHARS:
                self._read.put(key, found)
        return found

    def _detect(self, text: str) -> str:
        told = self._told.get(text)
        if told is None:
            prose = " ".join(window.text for window in prepare(text).windows) if _MASKED.search(text) else text
            told = detect(prose)
            if len(text) <= _CACHED_CHARS:
                self._told.put(text, told)
        return told
