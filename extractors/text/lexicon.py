"""The word lists of lexicon.toml."""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass
from importlib import resources

import orjson


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Words by use. `class_nouns` maps a word to the entity type it says; `kin` to (relation, gender)."""

    class_nouns: dict[str, str]
    kin: dict[str, tuple[str, str]]
    roles: frozenset[str]
    status: frozenset[str]
    hedges: frozenset[str]
    factive: frozenset[str]
    reporting: frozenset[str]
    fiction: re.Pattern[str]
    joke: re.Pattern[str]
    yes: frozenset[str]
    no: frozenset[str]
    languages: frozenset[str]
    abstract: frozenset[str]


@functools.cache
def lexicon() -> Lexicon:
    """The lists that ship with Memstream, read once."""
    raw = tomllib.loads((resources.files("memstream.extractors.text") / "lexicon.toml").read_text(encoding="utf-8"))
    nouns: dict[str, str] = {}
    for kind in ("Object", "Location", "Event", "Organization"):
        for word in raw["class_nouns"][kind]:
            nouns[word] = kind
    assertion = raw["assertion"]
    return Lexicon(
        class_nouns=nouns,
        kin={word: (row[0], row[1]) for word, row in raw["kin"].items()},
        roles=frozenset(raw["roles"]["heads"]),
        status=frozenset(raw["status"]["words"]),
        hedges=frozenset(assertion["hedges"]),
        factive=frozenset(assertion["factive"]),
        reporting=frozenset(assertion["reporting"]),
        fiction=_any_of(assertion["fiction"]),
        joke=_any_of(assertion["joke"]),
        yes=frozenset(assertion["yes"]),
        no=frozenset(assertion["no"]),
        languages=frozenset(raw["languages"]["words"]),
        abstract=frozenset(raw["abstract"]["words"]),
    )


def words(text: str) -> frozenset[str]:
    """A set of words from a text with spaces between them."""
    return frozenset(text.split())


def _any_of(phrases: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(rf"(?<!\w){re.escape(p.strip())}(?!\w)" for p in phrases), re.I)


@functools.cache
def vocabulary() -> frozenset[str]:
    """Thirty thousand common words: those of the embedder's tokenizer that are whole words."""
    path = resources.files("memstream.extractors") / "data" / "minilm_tokenizer.json"
    vocab = orjson.loads(path.read_bytes())["model"]["vocab"]
    return frozenset(word for word in vocab if not word.startswith(("##", "[")) and len(word) > 1)
