"""A text as the parser should see it: names in other letters, and names in chat without capitals.

The parser was made for English in Latin letters with capitals. So it gets a spelling of the same length, in which
letters of other scripts have Latin ones in their place and well-known names their capital. Only the parser and the
model of names see it: every text that is said of a message, a name as much as a value, is the message's own.
"""

from __future__ import annotations

import functools
import re
import tomllib
import unicodedata
from importlib import resources

from memstream.extractors.text.lexicon import lexicon, vocabulary, words

LONGEST_WORD = 12  # letters of a name in a script without capitals ...
LONGEST_NAME = 4  # ... and its words: what is longer is a text in another language
_CASED = "\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u1f00-\u1fff"
_UNCASED = (
    "\u0590-\u05ff\u0600-\u06ff\u0750-\u077f\u0900-\u0dff\u0e00-\u0eff\u10a0-\u10ff\u1100-\u11ff\u1200-\u139f"
    "\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
)
_CASED_RUN = re.compile(f"[{_CASED}]+")
_UNCASED_RUN = re.compile(f"[{_UNCASED}]+(?:[ \u200c-][{_UNCASED}]+)*")
_CYRILLIC = ("абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґјљњћђџўқғүұһөә", "abvgdezzijklmnoprstufhccssayieuaiiegjlnhddukguuhoa")
_GREEK = ("αβγδεζηθικλμνξοπρσςτυφχψω", "abgdezitiklmnxoprsstufhpo")
_LATIN = {ord(a): b for letters in (_CYRILLIC, _GREEK) for a, b in zip(*letters, strict=True)}
_CONSONANTS, _VOWELS, _LAST_CONSONANTS, _LAST_VOWELS = "bdfghjklmnrstz", "aeiou", "nlrmn", "aio"
# letters with marks above and below, as only Vietnamese has them
_MARKED = re.compile(r"[^\W\d_]*[\u0110\u0111\u01a0\u01a1\u01af\u01b0\u1ea0-\u1ef9][^\W\d_]*")
_STROKED = {"Đ": "D", "đ": "d"}
# particles that the parser takes for a verb, a van or a number
_PARTICLES = re.compile(r"(?<=[^\W\d_] )(?:van(?: de[rn]?)?|dos|das|bin|ben|wa|ap|ter|ten|zu[mr]?)(?= [^\W\d_a-z])")
_DETERMINED = re.compile(r"\b(?:the|an?|my|our|his|her|their|your|this|that) $", re.I)
_NAMED = re.compile(r"(?<![\w'’-])[^\W\d_a-z][\w'’-]* $")
_FIRST = re.compile(r"(?<![\w'’.-])(?:i(?=['’ ,?!]|$)|im(?=\s)|ive(?=\s))")
_WORD = re.compile(r"(?<![\w@#/.:'’-])[a-zà-ÿ]{2,24}(?![\w@/:]|-\w|\.\w)")
_SEAT = re.compile(  # what stands before a name that nobody knows
    r"(?:\b(?:i'?m|i am|my name is|my name's|name's|named|called|this is)"
    r"|\b(?:live|lives|lived|living|moved|moving|relocated|based|born|grew up|back) (?:in|to)"
    r"|\b(?:work|works|worked|working|intern|job) (?:at|for)|\bfrom) $"
)
_OWNER = re.compile(r"\b(?:my|his|her|our|their|your) ([a-z-]{2,20}) $")
_NOT_FROM = words("here there home work school scratch then now memory abroad today tomorrow yesterday")


def respell(text: str) -> str:
    """A spelling of the same length for the parser; the text itself where there is nothing to change."""
    if not text.isascii():
        text = _UNCASED_RUN.sub(_uncased, _CASED_RUN.sub(_cased, text))
        text = _MARKED.sub(_without_marks, text)
    text = _PARTICLES.sub(_particle, text)
    if text.islower():
        text = _capitals(text)
    return text


def _cased(m: re.Match[str]) -> str:
    """Letter by letter: "Дмитрий" is spelled "Dmitrii"."""
    out = []
    for c in m[0]:
        plain = unicodedata.normalize("NFD", c.lower())[0]
        latin = _LATIN.get(ord(plain), "" if not c.isalpha() else _CONSONANTS[ord(c) % len(_CONSONANTS)])
        out.append((latin.upper() if c.isupper() else latin) or c)
    return "".join(out)


def _uncased(m: re.Match[str]) -> str:
    """A word that looks like a name for each word that may be one: its letters have no Latin ones of equal number."""
    parts = re.split("([ \u200c-])", m[0])
    if len(parts[::2]) > LONGEST_NAME or any(len(part) > LONGEST_WORD for part in parts[::2]):
        return m[0]
    return "".join(_looks_like_a_name(part) if n % 2 == 0 else part for n, part in enumerate(parts))


def _looks_like_a_name(word: str) -> str:
    letters = []
    for n, c in enumerate(word):
        of = (_VOWELS if n % 2 else _CONSONANTS) if n < len(word) - 1 else (_LAST_VOWELS if n % 2 else _LAST_CONSONANTS)
        letters.append(c if unicodedata.category(c)[0] in "PNSZ" else of[ord(c) % len(of)])
    return letters[0].upper() + "".join(letters[1:])


def _without_marks(m: re.Match[str]) -> str:
    out = "".join(_STROKED.get(c) or unicodedata.normalize("NFD", c)[0] for c in m[0])
    return out if len(out) == len(m[0]) else m[0]


def _particle(m: re.Match[str]) -> str:
    """A particle inside a name with a capital: "Maria Dos Santos"."""
    name = _NAMED.search(m.string, max(0, m.start() - 30), m.start())
    if name is None or _DETERMINED.search(m.string, max(0, name.start() - 8), name.start()):
        return m[0]  # "the Renault van Ana drove"
    return m[0].title()


@functools.cache
def common_names() -> dict[str, str]:
    """First names, places and firms that nearly everyone knows, with their type ("" where they have two)."""
    raw = tomllib.loads((resources.files("memstream.extractors.text") / "common_names.toml").read_text("utf-8"))
    out: dict[str, str] = {}
    for key, kind in (("given", "Person"), ("places", "Location"), ("firms", "Organization")):
        for name in words(raw[key]):
            out[name] = kind if name not in out else ""
    return out


def _capitals(text: str) -> str:
    """Capitals for "I", for names that everyone knows, and for unknown words where a name must stand."""
    chars = list(text)
    for m in _FIRST.finditer(text):
        chars[m.start()] = "I"
    for m in _WORD.finditer(text):
        kind = common_names().get(m[0], "")
        sure = kind in ("Person", "Location")
        if sure or ((kind or _unknown(m[0])) and _seated(text[max(0, m.start() - 40) : m.start()])):
            chars[m.start()] = chars[m.start()].upper()
    out = "".join(chars)
    return out if len(out) == len(text) else text


def _unknown(word: str) -> bool:
    """Whether common English does not have a word."""
    known = vocabulary()
    if len(word) < 4 or word in known or word in _NOT_FROM or word in lexicon().class_nouns:
        return False
    return not any(
        word.endswith(end) and word[: -len(end)] in known for end in ("s", "es", "ed", "d", "ing", "er", "ly")
    )


def _seated(before: str) -> bool:
    """Whether a name must follow: "i live in", "im", "my sister"."""
    owner = _OWNER.search(before)
    if owner is not None:
        return owner[1] in lexicon().kin or owner[1] in lexicon().roles
    return _SEAT.search(before) is not None
