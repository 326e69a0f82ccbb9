"""An extractor that reads a few sentences quickly, remembers who was named last, and dies or raises now and then.

What it says is a pure function of the session, whatever happens to its process; so a graph built under faults can be
compared with one that was built in peace. Words in a text decide: RAISE raises each time, DIE ends the process.
Beside that a share of the calls for more than one text raises, another ends the process (FAULTY_RAISE, FAULTY_DIE);
with FAULTY_BUG, every call fails until that file is there, and makes it: a bug that is mended by a restart.
"""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import orjson

from memstream.schemas.extraction import (
    EntityName,
    EntityType,
    ExtractedAssertion,
    Extraction,
    Extractor,
    Mention,
    SessionExtraction,
    SessionTurns,
    Turn,
)

_SENTENCE = re.compile(
    r"(?P<who>[A-Z]\w+|she) (?P<verb>lives in|does not live in|lived in|works at) (?P<what>\w+)"
    r"(?: until (?P<end>\d{4}))?"
)
_PREDICATES = {"works at": ("works_at", EntityType.ORGANIZATION)}


class ChaosExtractor:
    """Reads "Ann lives in Paris", and "she" as whoever was named last in the session."""

    name = "chaos"
    generation = 1

    def __init__(self) -> None:
        self._random = random.Random(int(os.environ.get("FAULTY_SEED", "0")) + os.getpid())  # noqa: S311
        self._raise = float(os.environ.get("FAULTY_RAISE", "0"))
        self._die = float(os.environ.get("FAULTY_DIE", "0"))
        self._bug = os.environ.get("FAULTY_BUG")

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """What each turn says, or a failure."""
        texts = [turn.text for session in sessions for turn in session.turns]
        if self._bug and not (mended := Path(self._bug)).exists():
            if any("Porto" in text for text in texts):  # the probe, by which a bug is told from a bad event
                mended.touch()
            raise KeyError("a bug at any text")
        if any("DIE" in text for text in texts) or (len(texts) > 1 and self._random.random() < self._die):
            os._exit(9)
        if any("RAISE" in text for text in texts) or (len(texts) > 1 and self._random.random() < self._raise):
            raise ValueError("this batch raises")
        return [self._session(session) for session in sessions]

    def _session(self, session: SessionTurns) -> SessionExtraction:
        last: list[str] = orjson.loads(session.state) if session.state else []
        said = []
        for turn in session.turns:
            extraction, last = _read(turn, last)
            said.append(extraction)
        return SessionExtraction(orjson.dumps(last), said)


def _read(turn: Turn, last: list[str]) -> tuple[Extraction, list[str]]:
    found = _SENTENCE.search(turn.text)
    if found is None or (found["who"] == "she" and not last):
        return Extraction(), last
    named = found["who"] != "she"
    who = EntityName(EntityType.PERSON, found["who"] if named else last[0])
    predicate, kind = _PREDICATES.get(found["verb"], ("lives_in", EntityType.LOCATION))
    what = EntityName(kind, found["what"])
    assertion = ExtractedAssertion(
        who,
        predicate,
        what,
        negated="not" in found["verb"],
        valid_to=found["end"],
        used=() if named else (last[1],),
        rule="chaos",
    )
    mentions = [Mention(what, found["what"], *found.span("what"))]
    if named:
        mentions.insert(0, Mention(who, found["who"], *found.span("who")))
        last = [found["who"], turn.event_id]
    return Extraction(tuple(mentions), (assertion,)), last


def create() -> Extractor:
    """The plug-in's entry point."""
    return ChaosExtractor()
