"""Text as it is compared: Latin letters without marks, words cut where they join, and when two words are one."""

from __future__ import annotations

import functools
import re
import unicodedata

from anyascii import anyascii
from rapidfuzz.distance import OSA

LONG = 7
"""Shorter words are other words where one letter differs: Visa and Vista, Aon and Axon."""

_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}|\b(?:[^\W\d_]\.)+(?=[^\W\d_]\b)")
_MARKS = re.compile(r"['`’ʼ´]")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z](?:[a-z]|[A-Z]))|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_VERSION = re.compile(r"\b[vV](?=\d)")
_WORD = re.compile(r"[A-Za-z]+\d+[A-Za-z]+|[A-Za-z]+|\d+(?:\.\d+)*", re.ASCII)
_PIECE = re.compile(r"[a-z]+|\d+(?:\.\d+)*", re.ASCII)
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b", re.IGNORECASE)
_GREEK = re.compile("[οΟ][υύ]")
_UNITS = {"++": " plusplus ", "&": " and ", "@": " "}

# What spellings of one sound come down to, in this order.
_SOUNDS = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        (r"ph", "f"), (r"ck", "k"), (r"c(?=[aoulrt]|$)", "k"), (r"x", "ks"), (r"ae", "a"), (r"oe", "o"), (r"ue", "u"),
        (r"ou", "u"), (r"(?:iy|ij|yi|ii|ey|ei)$", "i"), (r"y", "i"), (r"w", "v"), (r"(.)\1+", r"\1"),
    )
)  # fmt: skip


@functools.lru_cache(maxsize=50_000)
def latin(text: str) -> str:
    """The text in Latin letters without marks, in its case."""
    plain = _GREEK.sub("ou", _MARKS.sub("", unicodedata.normalize("NFKC", text)))
    return anyascii(_DOTTED.sub(lambda found: found.group().replace(".", ""), plain))


def split(text: str, known: frozenset[str] = frozenset()) -> list[str]:
    """The words and numbers of a text, in lower case: cut at capitals, and between letters and digits.

    What is `known` is a word as it is, whatever digits and capitals it has (k8s, PostgreSQL). A version is its number.
    """
    made = _ORDINAL.sub("", _VERSION.sub("", latin(text)))
    for sign, word in _UNITS.items():
        made = made.replace(sign, word)
    found: list[str] = []
    for word in _WORD.findall(made):
        whole = word.lower()
        found += [whole] if whole in known else _PIECE.findall(_CAMEL.sub(" ", word).lower())
    return [number(word) if word[0].isdigit() else word for word in found]


def number(digits: str) -> str:
    """A number, or several with dots between, without leading zeros."""
    return ".".join(part.lstrip("0") or "0" for part in digits.split("."))


def singular(word: str) -> str:
    """A word without the s of its plural."""
    return (
        word[:-1]
        if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "as", "os"))
        else word
    )


@functools.lru_cache(maxsize=50_000)
def sound(word: str) -> str:
    """What spellings of one word have in common."""
    for pattern, to in _SOUNDS:
        word = pattern.sub(to, word)
    return word


def spelt_alike(a: str, b: str) -> bool:
    """Whether two words are one in two spellings."""
    return a == b or (min(len(a), len(b)) >= 4 and sound(a) == sound(b))


def mistyped(a: str, b: str) -> bool:
    """Whether one long word has a letter too many, too few, another, or two exchanged, in its midst."""
    if min(len(a), len(b)) < LONG or a[0] != b[0] or a[-1] != b[-1]:
        return False
    return OSA.distance(a, b, score_cutoff=1) <= 1
