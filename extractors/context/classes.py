"""What kind of thing a name is said to be: "Pomelo Sync is our project" makes it "the project" of its session."""

from __future__ import annotations

from collections.abc import Container

from memstream.extractors.context.session import Known
from memstream.extractors.parse.frames import Frame
from memstream.extractors.parse.tree import Tree
from memstream.extractors.text.lexicon import lexicon

MOST_ALIASES = 4


def class_noun(tree: Tree, frame: Frame, named: Container[int]) -> str:
    """The noun that a clause puts its subject under, "" where it does not. `named` are the tokens of names."""
    if frame.lemma != "be" or frame.unsure or frame.negated or frame.told_by is not None or len(frame.attr) != 1:
        return ""
    noun = frame.attr[0]
    if noun in named or tree.kid(noun, "case") is not None:
        return ""
    return tree.lemma[noun] if tree.lemma[noun] in lexicon().class_nouns else ""


def call_by_class(known: Known, noun: str, *, new: bool) -> None:
    """Let the session know the entity by the noun too; one that is `new`, and not sure, is of the noun's type."""
    kind = lexicon().class_nouns[noun]
    if new:
        known.type = kind
    if known.type == kind and noun not in known.aliases:
        known.aliases = [*known.aliases, noun][-MOST_ALIASES:]
