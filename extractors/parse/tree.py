"""A parsed text as plain lists: what the rules read, without the cost of a spaCy token for each look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from spacy.attrs import DEP, HEAD, LEMMA, ORTH, POS, SPACY, TAG
from spacy.tokens import Doc

from memstream.extractors.text.lexicon import words

FAR = 60  # tokens: no phrase that is looked at reaches further to the left
NOMINAL = frozenset({"NOUN", "PROPN", "PRON", "NUM", "X", "SYM", "ADJ"})


@dataclass(frozen=True, slots=True)
class EntitySpan:
    """A span of tokens [start, end) and what the model calls it."""

    start: int
    end: int
    label: str


@dataclass(slots=True)
class Tree:
    """One window of a message. All lists are indexed by token; `offset` is the window's place in the original."""

    text: str
    offset: int
    words: list[str]
    lower: list[str]
    lemma: list[str]
    pos: list[str]
    tag: list[str]
    dep: list[str]
    head: list[int]
    at: list[int]
    sent: list[int]
    kids: list[list[int]]
    sentences: list[tuple[int, int]]
    ents: list[EntitySpan]
    vectors: npt.NDArray[np.float32]

    def __len__(self) -> int:
        """How many tokens."""
        return len(self.words)

    def end_of(self, i: int) -> int:
        """Where token i ends in the window."""
        return self.at[i] + len(self.words[i])

    def span_text(self, start: int, end: int) -> str:
        """The text of the tokens [start, end)."""
        return self.text[self.at[start] : self.end_of(end - 1)]

    def head_of(self, start: int, end: int) -> int:
        """The last token of [start, end) that hangs on one outside; the last one where none does."""
        return next((i for i in range(end - 1, start - 1, -1) if not start <= self.head[i] < end), end - 1)

    def kid(self, i: int, *deps: str) -> int | None:
        """The first child of i with one of these labels."""
        for k in self.kids[i]:
            if self.dep[k] in deps:
                return k
        return None

    def conjuncts(self, i: int) -> list[int]:
        """Token i and all that is coordinated to its right: "Ana, Bo and Cy" from Ana."""
        out = [i]
        stack = [i]
        while stack:
            for k in self.kids[stack.pop()]:
                if self.dep[k] == "conj" and k not in out:
                    out.append(k)
                    stack.append(k)
        return sorted(out)

    def subtree(self, i: int) -> list[int]:
        """All tokens below i, itself included, in order."""
        out = []
        stack = [i]
        while stack:
            j = stack.pop()
            out.append(j)
            stack.extend(self.kids[j])
        return sorted(out)

    def noun_span(self, i: int) -> tuple[int, int]:
        """The noun phrase at head i without what follows it: determiners and modifiers to its left."""
        start = i
        for k in self.kids[i]:
            if k < i and self.dep[k] in LEFT and self.sent[k] == self.sent[i]:
                start = min(start, self._left_edge(k))
        return start, i + 1

    def _left_edge(self, i: int) -> int:
        edge = i
        stack = [i]
        while stack:
            j = stack.pop()
            for k in self.kids[j]:
                if k < j:
                    edge = min(edge, k)
                    if self.dep[k] != "relcl" and i - k <= FAR:
                        stack.append(k)
        return edge


LEFT = words("det amod compound nummod poss nmod predet quantmod advmod npadvmod case punct")


def tree_of(doc: Doc, offset: int) -> Tree:
    """The lists of one Doc."""
    n = len(doc)
    strings = doc.vocab.strings
    rows = doc.to_array([ORTH, LEMMA, POS, TAG, DEP, HEAD, SPACY]).tolist() if n else []
    words = [strings[int(row[0])] for row in rows]
    lemma = [strings[int(row[1])].lower() for row in rows]
    pos, tag, dep = ([strings[int(row[k])] for row in rows] for k in (2, 3, 4))
    head: list[int] = []
    at: list[int] = []
    kids: list[list[int]] = [[] for _ in range(n)]
    place = 0
    for i, row in enumerate(rows):
        offset_to_head = int(row[5])
        head.append(i + (offset_to_head - (1 << 64) if offset_to_head >> 63 else offset_to_head))
        at.append(place)
        place += len(words[i]) + bool(row[6])
    for i, h in enumerate(head):
        if h != i:
            kids[h].append(i)
    sentences = [(s.start, s.end) for s in doc.sents] if n else []
    sent = [0] * n
    for number, (a, b) in enumerate(sentences):
        sent[a:b] = [number] * (b - a)
    return Tree(
        text=doc.user_data.get("said") or doc.text,
        offset=offset,
        words=words,
        lower=["with" if w in ("w/", "W/") else w.lower().replace("’", "'") for w in words],
        lemma=lemma,
        pos=pos,
        tag=tag,
        dep=dep,
        head=head,
        at=at,
        sent=sent,
        kids=kids,
        sentences=sentences,
        ents=[EntitySpan(e.start, e.end, e.label_) for e in doc.ents],
        vectors=np.asarray(doc.tensor, dtype=np.float32),
    )
