"""What an extractor says of one message: mentions, assertions, preferences. Names only: keys and ids come later.

An extractor turns text into these values and knows neither Kafka nor Neo4j; `streams` turns them into a patch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class EntityType(StrEnum):
    """The five kinds of things that are named (POLE+O without the P's double)."""

    PERSON = "Person"
    ORGANIZATION = "Organization"
    LOCATION = "Location"
    EVENT = "Event"
    OBJECT = "Object"


class Polarity(StrEnum):
    """How a holder stands to the object of a preference."""

    LIKE = "like"
    DISLIKE = "dislike"
    PREFER = "prefer"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class EntityName:
    """A named thing: its type and the name it is known by in its session (display form, not normalised)."""

    type: EntityType
    name: str
    subtype: str | None = None


@dataclass(frozen=True, slots=True)
class Mention:
    """`text[start:end]` of the message refers to `entity`. Offsets count code points. `used`: as of an assertion."""

    entity: EntityName
    text: str
    start: int
    end: int
    used: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractedAssertion:
    """One asserted triple. `object` is an EntityName, or a str for a literal value.

    `valid_from` and `valid_to` are ISO dates with the precision of the text (2026, 2026-03, 2026-03-06,
    2026-03-06T14:00). `used` are ids of earlier events of the session without which this could not be read
    (the question it answers, the message that named who "she" is). `rule` names the pattern, for people.
    """

    subject: EntityName
    predicate: str
    object: EntityName | str
    negated: bool = False
    valid_from: str | None = None
    valid_to: str | None = None
    confidence: float = 1.0
    open: bool = False
    used: tuple[str, ...] = ()
    rule: str = ""


@dataclass(frozen=True, slots=True)
class ExtractedRetraction:
    """A correction takes an earlier assertion out: "no, not Berlin". The triple that is no longer claimed."""

    subject: EntityName
    predicate: str
    object: EntityName | str
    used: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractedPreference:
    """A taste or a standing instruction of `holder`."""

    holder: EntityName
    polarity: Polarity
    object: str
    over: str | None = None
    context: str | None = None
    about: EntityName | None = None
    confidence: float = 1.0
    used: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SameAs:
    """Two names of one thing inside a session ("Tom" after "Tom Hale")."""

    a: EntityName
    b: EntityName
    used: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """An extractor that did not answer for a message, and why. What others say is of a generation lower by `lacks`."""

    extractor: str
    lacks: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Extraction:
    """All that one message says. `cut` tells in words what was left out of a monstrous text.

    `missing` are extractors that were asked and did not answer. `outcomes` are pairs of an extractor and what became
    of asking it, or of something that it said and that was not believed: they are counted, and stored nowhere.
    """

    mentions: tuple[Mention, ...] = ()
    assertions: tuple[ExtractedAssertion, ...] = ()
    retractions: tuple[ExtractedRetraction, ...] = ()
    preferences: tuple[ExtractedPreference, ...] = ()
    same_as: tuple[SameAs, ...] = ()
    cut: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    outcomes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as an extractor sees it.

    `event_id` names the message; `role` is user, assistant, system or tool; `speaker` is the name of the Person
    that the first person stands for; `named` says that the publisher gave the speaker a name (a participant in a
    talk of several, who may assert things whatever the role); `time` is the message's own, with its offset.
    `asserts` is False for text that was recalled from memory and must not be taken in again as news. Nobody wants what
    a `silent` one says: it is there for what its session says later.
    """

    event_id: str
    role: str
    speaker: str
    text: str
    time: datetime
    named: bool = False
    asserts: bool = True
    silent: bool = False


@dataclass(slots=True)
class SessionTurns:
    """The turns of one session in log order, and what the session said before (`state`: opaque, b"" at its start)."""

    state: bytes
    turns: list[Turn] = field(default_factory=list)


@dataclass(slots=True)
class SessionExtraction:
    """One Extraction for each turn, in order, and the state after the last."""

    state: bytes
    extractions: list[Extraction] = field(default_factory=list)


class Extractor(Protocol):
    """Text in, mentions, assertions and preferences out. A pure function of its arguments: same bytes for same input.

    `generation` rises with every change of what it would say; patches carry it, and the higher one wins. An extractor
    that stands beside others counts in steps that the others never reach (docs/extractors.md).
    """

    name: str
    generation: int

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """Extract many sessions at once (one `nlp.pipe` over all texts); order of sessions and of turns is kept."""
        ...
