"""Which language a message is in, as far as that is certain: by its letters, its small words, a model of letters.

A message is taken for another language than English only where nothing speaks for English: what is too short, or made
of names, is "" (in doubt), and its session's language stands. The answer depends on the text alone.
"""

from __future__ import annotations

import functools
import itertools
import re
import tomllib
from importlib import resources
from typing import Any

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from memstream.extractors.text.lexicon import words
from memstream.extractors.text.names import PARTICLES

ENGLISH, UNKNOWN = "en", "und"
READ = 400  # characters that are looked at
SURE = 0.95  # how sure the model must be that it is not English
QUITE_SURE = 0.985  # ... where most words are names
NAMED = 0.4  # ... and which language it is; else it is UNKNOWN
LONG = 6  # words in small letters from which on one may be of a language that is not known
NAMES = 6  # words in other letters that may be names in an English sentence
PLAIN = 0.2  # at most this much for all other languages together makes it English
_LATIN = words("en de es fr it pt nl sv da no fi pl cs sk hu ro hr sl tr vi id ca et lt lv is")
_CYRILLIC = words("ru uk bg mk be")
_ARABIC = words("ar fa ur")
_DEVANAGARI = words("hi mr ne")
_SCRIPTS = (  # first and last letter, and the languages that are written so
    ("\u0370", "\u03ff", "el"), ("\u0400", "\u052f", "ru"), ("\u0530", "\u058f", "hy"), ("\u0590", "\u05ff", "he"),
    ("\u0600", "\u077f", "ar"), ("\u0900", "\u097f", "hi"), ("\u0980", "\u09ff", "bn"), ("\u0b80", "\u0bff", "ta"),
    ("\u0c00", "\u0c7f", "te"), ("\u0e00", "\u0e7f", "th"), ("\u10a0", "\u10ff", "ka"), ("\u1100", "\u11ff", "ko"),
    ("\u3040", "\u30ff", "ja"), ("\u3400", "\u9fff", "zh"), ("\uac00", "\ud7af", "ko"), ("\ufb50", "\ufdff", "ar"),
)  # fmt: skip
_PARTICLES = PARTICLES | words("des les y e zur")
_SIBLINGS = {"ru": _CYRILLIC, "ar": _ARABIC, "hi": _DEVANAGARI}
# of English sentences about people, that no other language has; with a name they may be all that a message says
_VERBS = words(
    "lives lived works worked moved joined hired wrote speaks teaches owns studied married leads called built met"
    " manages reports"
)
_FOREIGN = re.compile(r"[^\s\u0000-\u036f\u1e00-\u1eff\u2000-\u206f]+")
_WORD = re.compile(r"(?<![\w@/.#-])[^\W\d_]+(?:['’][^\W\d_]+)*(?![\w@/#-]|\.\w)")


def detect(text: str) -> str:
    """The code of the language (ISO 639), UNKNOWN for one that is known not to be English alone, "" for doubt."""
    text = text[:READ]
    return _by_letters(text) or _by_words(text)


def _by_words(text: str) -> str:
    found = _WORD.findall(text)
    if "¿" in text and len(found) > 1:
        return "es"
    lower = [word.lower().replace("’", "'") for word in found]
    english = sum(word in small_words()[0] for word in lower)
    if not english and "is" in lower and not any(word in small_words()[1] for word in lower):
        english = 1  # Dutch has it too, but hardly ever alone
    if english and (english * 5 >= len(found) or english >= 4):
        return ENGLISH
    plain = [
        w
        for w, after in itertools.zip_longest(found, found[1:], fillvalue="")
        if w[:1].islower() and not _joins(w, after)
    ]
    by_small = _by_small({*lower[:1], *plain}, len(found))
    if by_small and not english:
        return by_small
    small, told = len(plain), not by_small and _says_it_in_english(plain)
    if told or len([w for w in lower if len(w) > 1]) < 3 or small < 2:
        return ENGLISH if told else ""  # too short, or made of names
    best, others = _by_model(" ".join(found))
    if others >= (SURE if 5 * small >= 2 * len(found) else QUITE_SURE) and english * 12 <= len(found):
        return best or (UNKNOWN if small >= LONG else "")
    return ENGLISH if others <= PLAIN else ""


def _says_it_in_english(plain: list[str]) -> bool:
    """Whether what is no name is English: "Nguyễn Thị Hoa lives in Đà Nẵng"."""
    english = sum(word in small_words()[0] or word in _VERBS for word in plain)
    return bool(english) and english * 3 >= len(plain)


def _joins(word: str, after: str) -> bool:
    """Whether a small word may be part of a name: "Fernández de la Vega"."""
    return word in _PARTICLES and (after[:1].isupper() or after in _PARTICLES)


def _by_letters(text: str) -> str:
    """The language of a text of which most letters are not Latin."""
    if text.isascii():
        return ""
    letters = [c for c in text if c.isalpha()]
    others = [c for c in letters if c > "\u036f" and not "\u1e00" <= c <= "\u1eff"]
    if len(others) < 2 or 2 * len(others) <= len(letters):
        return ""
    latin = [word for word in _WORD.findall(text) if word.isascii() and word.islower()]
    if len(latin) > 1 and len(_FOREIGN.findall(text)) <= NAMES and _says_it_in_english(latin):
        return ""  # names in other letters inside an English sentence
    counts: dict[str, int] = {}
    for c in others:
        code = next((code for first, last, code in _SCRIPTS if first <= c <= last), UNKNOWN)
        counts[code] = counts.get(code, 0) + 1
    if counts.get("ja"):  # Japanese has Chinese letters too
        return "ja"
    best = max(sorted(counts), key=lambda code: counts[code])
    siblings = _SIBLINGS.get(best)
    if siblings is None:
        return best
    return next(str(code) for code, _ in letter_model().rank(text) if code in siblings)


def _by_small(lower: set[str], total: int) -> str:
    """The language of which a text has two small words or more, no few, and more than of any other."""
    counts: dict[str, int] = {}
    for word in lower:
        for code in small_words()[1].get(word, ()):
            counts[code] = counts.get(code, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    if not ranked or ranked[0][1] < max(2, total / 5) or (len(ranked) > 1 and ranked[1][1] == ranked[0][1]):
        return ""
    return ranked[0][0]


def _by_model(text: str) -> tuple[str, float]:
    """The likeliest language, "" where none is likely enough, and how likely it is not English."""
    ranked = [(str(code), round(p, 3)) for code, p in letter_model().rank(text)]
    best, p = ranked[0]
    return best if p >= NAMED else "", 1 - next(q for code, q in ranked if code == ENGLISH)


@functools.cache
def small_words() -> tuple[frozenset[str], dict[str, tuple[str, ...]]]:
    """The small words of English, and the languages of each small word of others (languages.toml)."""
    raw = tomllib.loads((resources.files("memstream.extractors.text") / "languages.toml").read_text(encoding="utf-8"))
    meant: dict[str, tuple[str, ...]] = {}
    for language, listed in raw["small"].items():
        for word in words(listed):
            meant[word] = (*meant.get(word, ()), language)
    return words(raw["english"]), meant


@functools.cache
def letter_model() -> Any:
    """The model of letters for the languages that are told apart here: 40 MB, loaded in a second."""
    whole = LanguageIdentifier.from_model_file(MODEL_FILE)
    told = _LATIN | _CYRILLIC | _ARABIC | _DEVANAGARI
    kept = [i for i, code in enumerate(whole.nb_classes) if code in told]
    return LanguageIdentifier(
        whole.nb_ptc[:, kept], whole.nb_pc[kept], [whole.nb_classes[i] for i in kept], whole.tk_nextmove,
        whole.tk_output, norm_probs=True, tk_row=whole.tk_row,
    )  # fmt: skip
