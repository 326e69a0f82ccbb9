"""spaCy's attribute ruler with a memo: the same annotations, in a fraction of the time.

Most of its patterns look at one token: at its tag, its word and its place in the tree. What they find for such a triple
is found once. Patterns over several tokens are few, and are matched as ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from spacy.attrs import DEP, LOWER, TAG
from spacy.language import Language
from spacy.matcher import Matcher
from spacy.pipeline import AttributeRuler
from spacy.tokens import Doc
from spacy.vocab import Vocab

from memstream.extractors.text.lru import LruCache

RULER = "attribute_ruler"
FACTORY = "memstream_memo_ruler"
_SEEN = frozenset({"TAG", "LOWER", "DEP", "IS_SPACE"})  # the last one follows from the word
_WORDS = 100_000

_Triple = tuple[int, int, int]
_Match = tuple[int, int, int, int]
"""Place of the rule, id of its pattern, start and end of what it matches: as the attribute ruler has it."""


class MemoRuler(AttributeRuler):
    """An attribute ruler; its patterns are added as to spaCy's own."""

    def __init__(self, vocab: Vocab, name: str) -> None:
        super().__init__(vocab, name, validate=False)
        self._alone, self._others = Matcher(vocab), Matcher(vocab)
        self._memo: LruCache[_Triple, list[tuple[int, int]]] = LruCache(_WORDS)

    def add(self, patterns: Iterable[Any], attrs: dict[Any, Any], index: int = 0) -> None:
        """Set `attrs` on the token at `index` of what any of the patterns matches."""
        number, given = str(len(self.attrs)), list(patterns)
        super().add(given, attrs, index)
        for pattern in given:
            (self._alone if _is_of_one_token(pattern) else self._others).add(number, [pattern])

    def match(self, doc: Doc) -> list[_Match]:
        """What the rules match, in the order in which they are to be applied."""
        triples = list(map(tuple, doc.to_array([TAG, LOWER, DEP]).tolist()))
        rules = [self._memo.get(triple) for triple in triples]
        if None in rules:
            rules = list(self._learn(doc, triples))
        matches = [(number, rule, at, at + 1) for at, found in enumerate(rules) for number, rule in found or ()]
        if len(self._others):
            matches += [(self._number(rule), rule, start, end) for rule, start, end in self._found(self._others, doc)]
        matches.sort()
        return matches

    def _learn(self, doc: Doc, triples: list[_Triple]) -> list[list[tuple[int, int]]]:
        rules: list[list[tuple[int, int]]] = [[] for _ in triples]
        for rule, start, _ in self._found(self._alone, doc):
            rules[start].append((self._number(rule), rule))
        for triple, found in zip(triples, rules, strict=True):
            self._memo.put(triple, found)
        return rules

    def _found(self, matcher: Matcher, doc: Doc) -> list[tuple[int, int, int]]:
        found: list[tuple[int, int, int]] = matcher(doc, allow_missing=True, as_spans=False)
        return found

    def _number(self, rule: int) -> int:
        return int(self.vocab.strings[rule])


@Language.factory(FACTORY)
def _make(nlp: Language, name: str) -> MemoRuler:
    return MemoRuler(nlp.vocab, name)


def remember(nlp: Language) -> None:
    """Give the pipeline's attribute ruler a memo. Nothing happens where it has none."""
    if nlp.has_pipe(RULER):
        patterns = cast(AttributeRuler, nlp.get_pipe(RULER)).patterns
        cast(MemoRuler, nlp.replace_pipe(RULER, FACTORY)).add_patterns(patterns)


def _is_of_one_token(pattern: list[dict[str, Any]]) -> bool:
    return len(pattern) == 1 and pattern[0].keys() <= _SEEN
