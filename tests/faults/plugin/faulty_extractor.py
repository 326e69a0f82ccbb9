"""An extractor that fails on purpose, found as any plug-in is: by its entry point, through PYTHONPATH.

Words in a text decide: RAISE raises each time, DIE ends the process each time. Beside that a share of the calls for
more than one text raises, and another ends the process (FAULTY_RAISE, FAULTY_DIE), whatever they hold; each text takes
FAULTY_SECONDS.
"""

from __future__ import annotations

import os
import random
import time

from memstream.schemas.extraction import Extraction, Extractor, SessionExtraction, SessionTurns


class FaultyExtractor:
    """Says nothing of what it reads, and counts the turns of each session in its state."""

    name = "faulty"
    generation = 1

    def __init__(self) -> None:
        self._random = random.Random(int(os.environ.get("FAULTY_SEED", "0")) + os.getpid())  # noqa: S311
        self._raise = float(os.environ.get("FAULTY_RAISE", "0"))
        self._die = float(os.environ.get("FAULTY_DIE", "0"))
        self._seconds = float(os.environ.get("FAULTY_SECONDS", "0"))

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """Nothing for each turn, or a failure."""
        texts = [turn.text for session in sessions for turn in session.turns]
        if any("DIE" in text for text in texts) or (len(texts) > 1 and self._random.random() < self._die):
            os._exit(9)
        if any("RAISE" in text for text in texts) or (len(texts) > 1 and self._random.random() < self._raise):
            raise ValueError("this batch raises")
        time.sleep(self._seconds * len(texts))
        return [self._of(session) for session in sessions]

    def _of(self, session: SessionTurns) -> SessionExtraction:
        count = int(session.state or b"0") + len(session.turns)
        return SessionExtraction(str(count).encode(), [Extraction() for _ in session.turns])


def create() -> Extractor:
    """The plug-in's entry point."""
    return FaultyExtractor()
