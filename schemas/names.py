"""Normal form of names: what makes two spellings one entity inside a type and a scope."""

from __future__ import annotations

import re
import unicodedata

from memstream.schemas.limits import MAX_NAME

_DETERMINER = re.compile(r"^(?:the|a|an|my|our|your|his|her|its|their|this|that|these|those)\s+")
_SPACE = re.compile(r"\s+")
_OUTER = " .,;:!?\"'`()[]{}<>“”‘’«»"


def normalise_name(name: str) -> str:
    """NFKC, case-folded, one space between words, without outer punctuation, determiner and possessive ending.

    Falls back to the case-folded text where nothing would be left ("The"), so a name never becomes empty.
    """
    text = _SPACE.sub(" ", unicodedata.normalize("NFKC", name).casefold().replace("’", "'")).strip()
    bare = text.strip(_OUTER)
    while (shorter := _DETERMINER.sub("", bare)) != bare:
        bare = shorter
    bare = re.sub(r"'s$|(?<=s)'$", "", bare).strip(_OUTER)
    return (bare or text)[:MAX_NAME]


def display_name(name: str) -> str:
    """A name as it is shown: one space between words, no control characters, at most MAX_NAME characters."""
    clean = "".join(" " if unicodedata.category(c) in {"Cc", "Zl", "Zp"} else c for c in name)
    return _SPACE.sub(" ", clean).strip()[:MAX_NAME]
