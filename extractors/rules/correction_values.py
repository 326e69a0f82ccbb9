"""The new value that a correction names, and where it can stand: a date for a date, a name for a name of its type."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.context.session import Known, Session, clean
from memstream.extractors.text.identifiers import identify
from memstream.extractors.text.lexicon import lexicon, words
from memstream.extractors.text.time_forms import TimeExpression
from memstream.extractors.text.values import EMAIL, MONEY, PHONE, TIMEZONE, VERSION, language, number
from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import EntityName

_CLOCK = re.compile(r"(?P<h>\d{1,2})(?:[:.h](?P<m>\d\d))?\s?(?P<ap>am|pm|a\.m\.?|p\.m\.?|h|o['’]clock|hrs?)?", re.I)
_LITERALS: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (EMAIL, words("has_email")),
    (MONEY, words("has_budget costs")),
    (TIMEZONE, words("has_timezone")),
    (PHONE, words("has_phone")),
    (VERSION, words("has_version")),
)
_AMOUNT = re.compile(r"(?:[$€£]\s?)?\d[\d,.]*\s?(?:k|m)?", re.I)
_DATED = words("scheduled_for has_deadline born_on")
_PLAIN = words("allergic_to caused_by fixed_by has_pet bought created owns uses")  # what takes any noun for a value
_BY_LIST: dict[str, Callable[[str], bool]] = {
    "has_role": lambda low: low.split()[-1] in lexicon().roles,
    "has_status": lambda low: low in lexicon().status,
}
_NO_VALUE = words(
    """
    thanks thank you it that this them him her me us sure fine good ok okay yes no not nothing never mind problem
    worries idea way wait wrong right true false really too also so then there here one all i we he she
    they what who why how done great perfect nice cool sorry please
    """
)
_YEAR = re.compile(r"\d{4}")
_SMALL = words("de of van la the and du da von")
_NOMINAL = words("NOUN PROPN ADJ X NUM PUNCT ADP DET")
MOST_WORDS = 5


@dataclass(frozen=True, slots=True)
class Value:
    """What stands at tokens [start, end) of the message: a name (`known`), a date, a clock time, or words."""

    text: str
    start: int
    end: int
    known: Known | None = None
    sure: float = 0.0
    time: TimeExpression | None = None
    clock: str = ""
    predicates: frozenset[str] = frozenset()
    named: bool = False

    @property
    def is_name(self) -> bool:
        """Whether it may name an entity."""
        return self.named

    def fits(self, predicate: str, old: EntityName | str) -> bool:
        """Whether it can stand in the place of `old`."""
        if self.time is not None:
            return predicate in _DATED
        if self.clock and isinstance(old, str) and predicate == "scheduled_for":
            return "T" in old or (len(old) == 10 and not self.predicates)
        if self.clock or self.predicates:
            return predicate in self.predicates
        if isinstance(old, EntityName):
            return self.named and self.may_be(old)
        return self._fits_words(predicate)

    def _fits_words(self, predicate: str) -> bool:
        low = self.text.casefold()
        if predicate in _BY_LIST:
            return _BY_LIST[predicate](low)
        if predicate == "has_name":
            return self.named
        return predicate in _PLAIN and not self.named and catalogue().predicates[predicate].value

    def may_be(self, old: EntityName) -> bool:
        """Whether it can be a thing of that type: by what it was taken for, if that is sure."""
        return self.known is None or self.known.type == old.type.value or self.sure < 0.8

    @property
    def is_time(self) -> bool:
        """Whether what it stands for can't be told by its letters: "the 9th" and 2026-02-09."""
        return self.time is not None or bool(self.clock)

    def ref(self, reading: Reading, session: Session, kind: str) -> Ref:
        """As an entity of that type: the one it was read as, the session's, or a new one."""
        known = self.known if self.known is not None and self.known.type == kind else session.find(self.text, kind)
        if known is None and self.known is not None and self.known in session.known:
            self.known.type = kind  # it was not sure, and what it stands for is
            known = self.known
        fresh = known is None
        known = known or Known(self.text, kind, "", session.turn, reading.turn.event_id)
        return Ref(known, "", reading.basis(known) if not fresh else (), self.start, self.end, fresh=fresh)

    def target(self, reading: Reading, session: Session, predicate: str, old: EntityName | str) -> Ref:
        """As the object of a fact that had `old`."""
        if isinstance(old, EntityName):
            return self.ref(reading, session, old.type.value)
        if self.time is not None:
            return Ref(None, self._day(predicate, old))
        if self.clock and predicate == "scheduled_for":
            return Ref(None, f"{old[:10]}T{self.clock}")
        return Ref(None, self.text, (), self.start, self.end)

    def _day(self, predicate: str, old: str) -> str:
        """The date; a birthday whose year is not said again keeps it."""
        if self.time is None:
            return ""
        if predicate != "born_on":
            return self.time.future
        day = self.time.past
        return day if _YEAR.search(self.text) or len(day) != len(old) else old[:4] + day[4:]


def value_at(reading: Reading, a: int, b: int) -> Value | None:
    """The value that the characters [a, b) are, with nothing left over; None where they are none."""
    tree = reading.tree
    text = tree.text[a:b]
    first, last = reading.token_at(a), reading.token_at(b - 1)
    if not text.strip() or first is None or last is None or len(text.split()) > MOST_WORDS:
        return None
    value = Value(clean(text), first, last + 1)
    low = value.text.casefold()
    if not low or low.split()[0] in _NO_VALUE or low.split()[-1] in _NO_VALUE:
        return None
    for t in reading.times:
        if t.lead_start <= a + 4 and a <= t.start <= a + 4 and t.end >= b - 1 and not t.is_start and not t.is_end:
            return replace(value, time=t)
    for pattern, predicates in _LITERALS:
        m = pattern.fullmatch(text)
        if m is not None:
            plain = (m["v"] or m["w"]) if pattern is VERSION else text
            return replace(value, text=clean(plain), predicates=predicates)
    return _plain(reading, value, text)


def _plain(reading: Reading, value: Value, text: str) -> Value | None:
    clock = _clock(text)
    if clock is not None and (":" in text or not text.isdigit()):
        return replace(value, clock=clock)
    n = number(text)
    if n is not None:
        return replace(value, text=str(n), predicates=frozenset({"has_age"}), clock=clock or "")
    if _AMOUNT.fullmatch(text):
        return replace(value, predicates=words("has_budget costs has_version"))
    if language(value.text):
        return replace(value, predicates=frozenset({"speaks"}))
    return _name(reading, value) or (value if _is_noun(reading, value) else None)


def _name(reading: Reading, value: Value) -> Value | None:
    """The value as a name: one that was taken for a name, or looks like one."""
    tree = reading.tree
    for name in reading.named:
        if name.span.start == value.start and name.span.end == value.end:
            return replace(value, text=name.known.name, known=name.known, sure=name.sure, named=True)
    proper = all(tree.pos[i] == "PROPN" for i in range(value.start, value.end))
    capital = all(word[:1].isupper() or word in _SMALL for word in value.text.split())
    if ((proper or capital) and value.text[:1].isalpha()) or identify(value.text) is not None:
        return replace(value, named=True)
    return None


def _is_noun(reading: Reading, value: Value) -> bool:
    """Whether the words are one noun phrase."""
    tree = reading.tree
    tags = tree.pos[value.start : value.end]
    return all(pos in _NOMINAL for pos in tags) and tags[-1] in ("NOUN", "PROPN", "X", "ADJ")


def _clock(text: str) -> str | None:
    m = _CLOCK.fullmatch(text.strip())
    if m is None:
        return None
    hour, minute = int(m["h"]), int(m["m"] or 0)
    half = (m["ap"] or "").lower().replace(".", "")
    if half == "pm" and hour < 12:
        hour += 12
    elif half == "am" and hour == 12:
        hour = 0
    return f"{hour:02}:{minute:02}" if hour < 24 and minute < 60 else None
