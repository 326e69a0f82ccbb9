"""An extractor of a later generation: it mentions every word with a capital, where the one before said nothing."""

from __future__ import annotations

from memstream.schemas.extraction import (
    EntityName,
    EntityType,
    Extraction,
    Extractor,
    Mention,
    SessionExtraction,
    SessionTurns,
)


class SecondExtractor:
    """Capitals are names of objects."""

    name = "second"
    generation = 2

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """The mentions of each turn."""
        return [SessionExtraction(session.state, [_of(turn.text) for turn in session.turns]) for session in sessions]


def _of(text: str) -> Extraction:
    words = [word for word in text.split() if word[:1].isupper()]
    mentions = [
        Mention(EntityName(EntityType.OBJECT, word), word, text.index(word), text.index(word) + len(word))
        for word in dict.fromkeys(words)
    ]
    return Extraction(mentions=tuple(mentions))


def create() -> Extractor:
    """The plug-in's entry point."""
    return SecondExtractor()
