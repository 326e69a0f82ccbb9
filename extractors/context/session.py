"""What a session said before, as far as the next message needs it: small, bounded, and made of its turns alone.

The bytes are JSON with a version. `Session.encode` drops the oldest until they fit MAX_BYTES; since every turn
begins from decoded bytes, it makes no difference over how many calls a session is spread.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field
from typing import Any

import orjson

from memstream.extractors.text.lexicon import words
from memstream.extractors.text.names import PARTICLES, alike_by_form, fuller, gender_of_title, kept_name, titled
from memstream.schemas.extraction import EntityName, EntityType, ExtractedAssertion

VERSION = 1
MAX_BYTES = 4_096
MAX_ENTITIES = 40
MAX_FACTS = 16
MAX_GUESSES = 6
MAX_SEEN = 24
MAX_NAME = 80
_PLAIN_ROW = 6
_BARE_FACT = 6  # a fact of an older state, which does not tell who said it

FEMALE, MALE, PLURAL = "f", "m", "p"


@dataclass(slots=True)
class Known:
    """An entity of the session. `type`, `name` as they were last given; `last` is the turn that named it.

    `event` is that turn's event, `origin` the one that gave the name as it is: "Tom" may be Tom Hale because of it.
    """

    name: str
    type: str
    gender: str = ""
    last: int = 0
    event: str = ""
    aliases: list[str] = field(default_factory=list)
    origin: str = ""

    def basis(self, event: str) -> tuple[str, ...]:
        """The earlier events without which a turn would not know whom this is: who named it last, and who in full."""
        return tuple(dict.fromkeys(key for key in (self.event, self.origin) if key and key != event))

    @property
    def entity(self) -> EntityName:
        """As the extraction gives it."""
        return EntityName(EntityType(self.type), self.name)


@dataclass(slots=True)
class Question:
    """What was asked last: the predicate, whom it is about, and the event that asked."""

    predicate: str
    subject: list[str]
    event: str
    asker: str


@dataclass(frozen=True, slots=True)
class Stated:
    """A fact of the session (a `row` of `Session.facts`), with the turn, the event and the speaker that gave it."""

    row: list[str]
    turn: int
    event: str
    speaker: str

    @property
    def subject(self) -> EntityName:
        """Whom it is about."""
        return EntityName(EntityType(self.row[1]), self.row[0])

    @property
    def predicate(self) -> str:
        """What it says of them."""
        return self.row[2]

    @property
    def object(self) -> EntityName | str:
        """An entity or a literal value."""
        return EntityName(EntityType(self.row[4]), self.row[3]) if self.row[4] else self.row[3]

    @property
    def valid_from(self) -> str | None:
        """From when it holds, where that was said."""
        return self.row[5] or None


@dataclass(slots=True)
class Session:
    """The state between two turns."""

    turn: int = 0
    known: list[Known] = field(default_factory=list)
    question: Question | None = None
    guesses: list[dict[str, Any]] = field(default_factory=list)
    facts: list[list[str]] = field(default_factory=list)
    told: list[list[str]] = field(default_factory=list)  # of each turn that gave one of `facts`: turn, event, speaker
    fiction: int = 0
    seen: list[str] = field(default_factory=list)
    last_speaker: str = ""
    group: list[str] = field(default_factory=list)  # the people named side by side last, behind the turn of it
    language: str = ""  # the one decided last, "" for the default

    @classmethod
    def decode(cls, state: bytes) -> Session:
        """From the bytes of `encode`; empty or foreign bytes are a session's start."""
        if not state:
            return cls()
        raw = orjson.loads(state)
        if raw.get("v") != VERSION:
            return cls()
        return cls(
            turn=raw["t"],
            known=[Known(*row, *([] if len(row) > _PLAIN_ROW else [row[4]])) for row in raw["k"]],
            question=Question(*raw["q"]) if raw["q"] else None,
            guesses=raw["g"],
            facts=raw["f"],
            told=raw.get("w", []),
            fiction=raw["x"],
            seen=raw["s"],
            last_speaker=raw["l"],
            language=raw.get("i", ""),
            group=raw.get("p", []),
        )

    def encode(self) -> bytes:
        """At most MAX_BYTES; the entities named longest ago go first."""
        self.known = self.known[-MAX_ENTITIES:]
        self.facts = self.facts[-MAX_FACTS:]
        self.guesses = self.guesses[-MAX_GUESSES:]
        self.seen = self.seen[-MAX_SEEN:]
        while True:
            encoded = self._dump()
            if len(encoded) <= MAX_BYTES:
                return encoded
            for items in (self.facts, self.known, self.guesses, self.seen):
                if items:
                    del items[0 : max(1, len(items) // 4)]
                    break
            else:
                self.question = None
                self.last_speaker = ""
                self.group = []

    def _dump(self) -> bytes:
        known = [
            [k.name, k.type, k.gender, k.last, k.event, k.aliases, *([k.origin] if k.origin != k.event else [])]
            for k in self.known
        ]
        q = self.question
        turns = {row[_BARE_FACT] for row in self.facts if len(row) > _BARE_FACT}
        self.told = [row for row in self.told if row[0] in turns]
        return orjson.dumps(
            {
                "v": VERSION, "t": self.turn, "k": known, "g": self.guesses, "f": self.facts, "x": self.fiction,
                "q": [q.predicate, q.subject, q.event, q.asker] if q else None, "s": self.seen, "l": self.last_speaker,
                **({"i": self.language} if self.language else {}), **({"w": self.told} if self.told else {}),
                **({"p": self.group} if self.group else {}),
            }
        )  # fmt: skip

    def remember(self, a: ExtractedAssertion, event: str, speaker: str) -> None:
        """Keep a fact for the next messages, which may correct it or go on about it."""
        obj = a.object.name if isinstance(a.object, EntityName) else a.object
        kind = a.object.type.value if isinstance(a.object, EntityName) else ""
        turn = str(self.turn)
        self.facts.append([a.subject.name, a.subject.type.value, a.predicate, obj, kind, a.valid_from or "", turn])
        if not any(row[0] == turn for row in self.told):
            self.told.append([turn, event, speaker])

    def stated(self) -> list[Stated]:
        """The facts that were said last, the newest first, as far as it is known who said them."""
        who = {row[0]: row for row in self.told}
        return [
            Stated(row, int(row[_BARE_FACT]), *who[row[_BARE_FACT]][1:])
            for row in reversed(self.facts)
            if len(row) > _BARE_FACT and row[_BARE_FACT] in who
        ]

    def repeats(self, event_id: str) -> bool:
        """Whether this event was taken in before (a duplicate in the log leaves the state as it is)."""
        return _short(event_id) in self.seen

    def take(self, event_id: str) -> None:
        """Remember the event and count the turn."""
        self.seen.append(_short(event_id))
        self.turn += 1

    def add(self, name: str, kind: str, event: str, gender: str = "", alias: str = "") -> Known:
        """The session's entity of that name, made or moved to the end; `alias` is another way it was called."""
        name = clean(name)[:MAX_NAME]
        gender = gender or (gender_of_title(name) if kind == "Person" else "")
        name = kept_name(name, kind)
        found = self.find(name, kind)
        if found is None:
            found = Known(name, kind, gender, origin=event)
            self.known.append(found)
        elif fuller(name, found.name, kind) and found.name.lower() != name.lower() and kind == found.type:
            _alias(found, found.name)
            found.name, found.origin = name, event
        else:
            if name != found.name:
                _alias(found, name)
            else:
                found.origin = event
            self.known.remove(found)
            self.known.append(found)
        if alias:
            _alias(found, clean(alias)[:MAX_NAME])
        found.last, found.event = self.turn, event
        if gender and not found.gender:
            found.gender = gender
        return found

    def introduce(self, short: str, long: str, kind: str, event: str) -> Known:
        """The entity that a text calls by its name and by an abbreviation of it, whichever of them was known."""
        found = self.find(long, kind) or self.find(short, kind)
        if found is not None and _plain(found.name) == _plain(short):
            found.name, found.origin = clean(long)[:MAX_NAME], event
        return self.add(long, kind, event, alias=short)

    def find(self, name: str, kind: str = "") -> Known | None:
        """By name, alias, its form, or part of a name ("Nimbus" after "Nimbus Archive"); the last named wins."""
        plain = _plain(name)
        if not plain:
            return None
        for k in reversed(self.known):
            if (not kind or k.type == kind) and plain in (_plain(k.name), *map(_plain, k.aliases)):
                return k
        alike = [k for k in self.known if (not kind or k.type == kind) and alike_by_form(clean(name), k.name, k.type)]
        if len(alike) == 1 and not _other_gender(name, alike[0]):
            return alike[0]
        words = plain.split()
        for k in reversed(self.known):
            if kind and k.type != kind:
                continue
            mine = _plain(k.name).split()
            if _part_of(words, mine, k.type) or _part_of(mine, words, k.type):
                return k
        return self._by_surname(name) if kind in ("", "Person") else None

    def _by_surname(self, name: str) -> Known | None:
        """The one person in full whom a title and a surname mean: "Professor Haddad" after "Amira Haddad"."""
        titles, rest = titled(clean(name))
        if not titles:
            return None
        fitting = [
            k for k in self.known
            if k.type == "Person" and not titled(k.name)[0] and k.name.lower().endswith(f" {rest.lower()}")
        ]  # fmt: skip
        return fitting[0] if len(fitting) == 1 and not _other_gender(name, fitting[0]) else None

    def pronoun(self, word: str, before: list[Known]) -> Known | None:
        """The last fitting entity for "she", "it", "there"; `before` are the entities of this message so far."""
        order = [*reversed(before), *(k for k in reversed(self.known) if k not in before)]
        if word in ("he", "him", "his", "himself"):
            return _first(order, lambda k: k.type == "Person" and k.gender in ("", MALE))
        if word in ("she", "her", "hers", "herself"):
            return _first(order, lambda k: k.type == "Person" and k.gender in ("", FEMALE))
        if word == "there":
            return _first(order, lambda k: k.type == "Location") or _first(order, lambda k: k.type == "Organization")
        if word in ("it", "its", "itself", "this", "that", "which"):
            return _first(order, lambda k: k.type in ("Object", "Organization", "Event"))
        if word in ("they", "them", "their", "theirs"):
            return _first(order, lambda k: k.type in ("Organization", "Person"))
        return None

    def definite(self, noun: str, before: list[Known]) -> Known | None:
        """As in "the squad" after "Ingest squad"; "the company" after any organization."""
        order = [*reversed(before), *(k for k in reversed(self.known) if k not in before)]
        named = _first(order, lambda k: _plain(k.name).split()[-1:] == [noun] or noun in map(_plain, k.aliases))
        if named is not None:
            return named
        generic = GENERIC.get(noun)
        if generic is None:
            return None
        return _first(order, lambda k: k.type == generic and k.name[:1].isupper() | (generic == "Object"))


GENERIC = {
    word: kind
    for kind, nouns in {
        "Organization": "company firm team group club squad foundation society organisation organization charity place",
        "Location": "city town village country",
        "Object": "service repo project app ticket tool box host machine library package server",
        "Event": "outage incident meeting conference event",
    }.items()
    for word in nouns.split()
}


def calls(known: Known, text: str) -> bool:
    """Whether a text is the entity's name, an alias of it, or a whole surname of more than one word."""
    if text.lower() == known.name.lower() or clean(text) in known.aliases:
        return True
    return known.type == "Person" and " " in text and known.name.lower().endswith(f" {text.lower()}")


def _other_gender(name: str, known: Known) -> bool:
    """Whether a title says another gender than what is known: "Frau Lund", and Lund is a he."""
    told = gender_of_title(name)
    return known.type == "Person" and bool(told and known.gender and told != known.gender)


def clean(text: str) -> str:
    """One line, single spaces, without outer punctuation."""
    return " ".join(text.split()).strip(" .,;:!?\"'`()[]“”‘’")


def _alias(known: Known, name: str) -> None:
    if name and name != known.name and name not in known.aliases:
        known.aliases = [*known.aliases, name][-4:]


@functools.lru_cache(maxsize=8_192)
def _plain(text: str) -> str:
    plain = clean(text).lower().replace("’", "'").removesuffix("'s")
    for article in ("the ", "our ", "my "):
        plain = plain.removeprefix(article)
    return plain.removeprefix("@") or plain


_PARTICLES = PARTICLES | words("las zur te wa ap ben mac")


def _part_of(short: list[str], long: list[str], kind: str) -> bool:
    """Whether one name begins or ends the other: "Tom" in "Tom Hale", but never "Archive" in "Nimbus Archive"."""
    if not short or len(short) >= len(long) or "'s" in " ".join(long):
        return False
    if kind == "Person":
        # a surname, or a name from its first word on: "Peter Hale" is not "Tom Peter Hale"
        if short == long[: len(short)]:
            return True
        surname = short == long[-len(short) :] and len(short[-1]) > 2
        return surname and all(word in _PARTICLES for word in short[:-1])
    if kind in ("Organization", "Object"):
        return short == long[: len(short)] and len(short[0]) > 2
    return False


def _first(order: list[Known], fits: Any) -> Known | None:
    return next((k for k in order if fits(k)), None)


def _short(event_id: str) -> str:
    return hashlib.sha256(event_id.encode("utf-8", "replace")).hexdigest()[:8]
