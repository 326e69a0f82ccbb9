"""How a message says that something was said wrongly: the words that announce a correction, and what they put right.

A message is cut into segments. One of them is a correction where it is nothing but announcing words and a value ("no
wait, Tuesday", "it was Zainab, actually"), or puts one value against another ("not Lina but Lena", "Lena, not Lina").
Whatever else stands in it makes it a sentence like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memstream.extractors.parse.stance import JOKE_WORDS

# what begins a correction, by how surely it does
WEAK = frozenset({"no", "sorry", "actually"})
ALL_OF_IT = frozenset({"scratch", "joke"})  # alone these take back all that was said last
SLIPS = frozenset({"sorry", "meant", "slip", "joke"})  # one puts one's own words right, and nobody else's
_CUES = {
    "meant": r"i mean(?:t)?(?: to (?:say|write|type))?|or rather|rather",
    "scratch": r"(?:scratch|strike|undo|ignore|disregard|forget) (?:that|this|it|what i (?:just )?said)",
    "joke": JOKE_WORDS,
    "slip": r"(?:my )?(?:correction|typo|mistake|error)|my bad|my (?:own )?fault|i misspoke|i mistyped|wrong(?=[,.!:;])"
    r"|w?h?oops",
    "change": r"make (?:that|it)|change (?:that|it) to|correct (?:that|it) to"
    r"|(?:(?:that|it) )?should(?: be|'ve been| have been| read| say)",
    "wait": r"wait|hang on|hold on",
    "sorry": r"(?:so |oh )?sorry|(?:my )?apologies|pardon(?: me)?",
    "no": r"no+|nope|nah",
    "actually": r"actually|in fact",
}  # fmt: skip
_FILLER = r"oh|ah|er+|erm|um+|uh+|hm+|argh+|ugh|well|ok|okay|lol|damn|dammit|god|gah|ha"
_SEPARATOR = r"[\s,.!:;…–—-]"
_ALL = "|".join((*_CUES.values(), _FILLER))
_LEAD = re.compile(rf"\s*(?:and |but )?(?:(?:{_ALL})(?:{_SEPARATOR}+|$)){{1,6}}", re.I)
_AFTER = "|".join(_CUES[name] for name in ("meant", "slip", "sorry", "actually"))
_TRAIL = re.compile(rf"(?:,?\s+(?:{_AFTER}|of course|instead|thanks|please|lol)){{1,3}}[\s,]*$", re.I)
_EACH = tuple((name, re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.I)) for name, pattern in _CUES.items())
_LINK = re.compile(
    r"(?:(?:it|that|this)(?:['’]s| is| was)|its|it['’]d be|is|was|be)(?:\s+(?:actually|really|now|just))?\s+", re.I
)
_STANDS_BEFORE = re.compile(r"(?:(?:at|on|in|by|to|from|with|for|about|under|the|a|an)\s+){0,2}", re.I)
_AGAINST = re.compile(
    r"(?P<new>.+?)(?:,?\s+(?:and\s+)?not|,?\s+instead of|,?\s+rather than)\s+(?!an?\s)(?P<old>.+)$", re.I | re.S
)
_NOT_BUT = re.compile(r"not\s+(?P<old>.+?)(?:,?\s+but(?:\s+rather)?|,|\s[–—-]+)\s+(?P<new>.+)$", re.I | re.S)
_ONLY_NOT = re.compile(r"not\s+(?!an?\s)(?P<old>\S+(?:\s+\S+){0,3})$", re.I)
_DOES = re.compile(r"\s(?:does|did|is|was|has|do)(?: it| that)?$", re.I)
_INSIDE = (
    r"no[,\s]+(?:wait|sorry|i mean)|wait[,\s]+no|i meant?\b|scratch that|strike that|make that|correction\b|or rather"
    r"|sorry[,\s]+(?:no\b|i mean)"
)
_CUT = re.compile(
    rf"[.!?;…]+(?=\s|$)|\n+|\s[–—-]+\s|[–—]|,\s*(?=(?:(?:and|but|oh|er|um) )?(?:{_INSIDE})(?!\w))"
    r"|\s(?=(?:no wait|wait no|scratch that)(?!\w))",
    re.I,
)
MOST_WORDS = 7
MOST_SEGMENTS = 40


@dataclass(frozen=True, slots=True)
class Form:
    """A correction in the words of a text: `new` and `old` are places of values there, `cues` what announced it.

    Without `new` all that the speaker said last is taken back (`scratch`), or `old` is denied. `linked` tells whether
    words such as "it's" or "at" stand before the value, `contrast` whether one value is put against another.
    """

    start: int
    new: tuple[int, int] | None
    old: tuple[int, int] | None
    cues: frozenset[str]
    linked: bool = False
    doer: bool = False  # the value does what was said of another: "no, Ravi does"

    @property
    def weak(self) -> bool:
        """Whether the same words may well begin something else: "sorry, Tom", "no, Lisbon"."""
        return self.cues <= WEAK and not self.linked and not self.doer and self.old is None


def corrections(text: str, *, starred: bool = False) -> Iterator[Form]:
    """The corrections of a text, in order. A cue that stands alone announces what the next segment says.

    `starred`: a star before its first word, as in "*Oslo", puts it in the place of another.
    """
    waiting = frozenset({"slip"}) if starred else frozenset()
    denied: tuple[int, int] | None = None
    alone: tuple[int, int] | None = None
    for a, b in segments(text):
        if not text[a:b].strip():
            continue
        form = _form(text, a, b, waiting, denied)
        waiting, denied, before, alone = frozenset(), None, alone, None
        if form is None:
            alone = (a, b)
            continue
        if form.new is None and form.old is None:
            if before is not None and form.cues <= SLIPS:
                late = _form(text, *before, form.cues, None)  # "Lena. Typo."
                if late is not None and late.new is not None:
                    yield late
                    continue
            waiting = form.cues
            if not form.cues & ALL_OF_IT:
                continue
        denied = form.old if form.new is None else None
        yield form


def announced(text: str) -> frozenset[str]:
    """The cues that a text begins with, whatever follows."""
    m = _LEAD.match(text)
    return _cues(m[0]) if m is not None else frozenset()


def segments(text: str) -> Iterator[tuple[int, int]]:
    """The pieces of a text between full stops, dashes, and commas before a correction."""
    start = 0
    for count, m in enumerate(_CUT.finditer(text)):
        if count >= MOST_SEGMENTS:
            return
        yield start, m.start()
        start = m.end()
    yield start, len(text)


def _cues(text: str) -> frozenset[str]:
    return frozenset(name for name, pattern in _EACH if pattern.search(text))


def _form(text: str, a: int, b: int, waiting: frozenset[str], denied: tuple[int, int] | None) -> Form | None:
    start, cues = a, set(waiting)
    m = _LEAD.match(text, a, b)
    if m is not None:
        cues |= _cues(m[0])
        a = m.end()
    m = _TRAIL.search(text, a, b) if b - a < 160 else None
    if m is not None:
        cues |= _cues(m[0])
        b = m.start()
    a, b = _bare(text, a, b)
    if a >= b:
        return Form(start, None, None, frozenset(cues)) if cues else None
    if len(text[a:b].split()) > MOST_WORDS:
        return None
    only = _ONLY_NOT.match(text, a, b)
    against = _NOT_BUT.match(text, a, b)
    if against is None and only is not None:
        return Form(start, None, _value(text, *only.span("old"))[0], frozenset(cues))
    against = against or _AGAINST.match(text, a, b)
    old = denied
    if against is not None:
        old = _value(text, *against.span("old"))[0]
        a, b = against.span("new")
    if not cues and old is None:
        return None
    doer = _DOES.search(text, a, b) if old is None else None
    b = doer.start() if doer is not None else b
    new, linked = _value(text, a, b)
    return Form(start, new, old, frozenset(cues), linked, doer is not None)


def _value(text: str, a: int, b: int) -> tuple[tuple[int, int], bool]:
    """Where the value stands without the words that lead to it, and whether there are any."""
    first = a
    m = _LINK.match(text, a, b)
    a = m.end() if m is not None else a
    m = _STANDS_BEFORE.match(text, a, b)
    a = m.end() if m is not None else a
    return _bare(text, a, b), a > first


def _bare(text: str, a: int, b: int) -> tuple[int, int]:
    while a < b and text[a] in " \t,:;()\"'“”‘’*":
        a += 1
    while b > a and text[b - 1] in " \t,:;()\"'“”‘’*.!":
        b -= 1
    return a, b
