"""What may stand in a fact: the names, pronouns, descriptions and literal values of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import FIRST, THIRD, WE, Ref
from memstream.extractors.text.lexicon import lexicon
from memstream.extractors.text.values import EMAIL, MONEY, PHONE, TIMEZONE, VERSION, language, number

TOPIC = -1  # the head of a subject that its sentence does not name
MOST = 24  # arguments of a sentence: a longer list is read by other rules
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("email", EMAIL),
    ("phone", PHONE),
    ("money", MONEY),
    ("zone", TIMEZONE),
    ("version", VERSION),
)
_SAYS_HOW = frozenset({"acomp", "ROOT", "conj", "oprd", "amod", "advcl"})
_NOUNS = frozenset({"NOUN", "PROPN", "X"})


@dataclass(frozen=True, slots=True)
class Argument:
    """Tokens [start, end) with their head; `kind` is an entity's type or a value's form, `how` how it is said."""

    head: int
    start: int
    end: int
    kind: str
    how: str
    ref: Ref

    @property
    def is_entity(self) -> bool:
        """Whether a fact may be about it."""
        return self.ref.known is not None


def arguments(reading: Reading) -> list[Argument]:
    """All of a text, in order; of a sentence the first MOST."""
    found: dict[int, Argument] = {}
    taken: set[int] = set()
    for one in (*_literals(reading), *_names(reading)):
        if not taken.intersection(range(one.start, one.end)):
            found[one.head] = one
            taken.update(range(one.start, one.end))
    for one in _words(reading, taken):
        found.setdefault(one.head, one)
    counts: dict[int, int] = {}
    out = []
    for head in sorted(found):
        sentence = reading.tree.sent[head]
        counts[sentence] = counts.get(sentence, 0) + 1
        if counts[sentence] <= MOST:
            out.append(found[head])
    return out


def _literals(reading: Reading) -> Iterator[Argument]:
    tree = reading.tree
    for time in reading.times:
        start, last = reading.token_at(time.start), reading.token_at(max(time.start, time.end - 1))
        if start is not None and last is not None:
            yield Argument(last, start, last + 1, "date", "date", Ref(None, time.future))
    for kind, pattern in _FORMS:
        for m in pattern.finditer(tree.text):
            start, last = reading.token_at(m.start()), reading.token_at(m.end() - 1)
            if start is None or last is None or start in reading.cover:
                continue
            text = m["v"] or m["w"] if kind == "version" else " ".join(m[0].split()).rstrip(".,")
            yield Argument(last, start, last + 1, kind, kind, Ref(None, text))
    for i, word in enumerate(tree.words):
        if i not in reading.cover and tree.pos[i] == "NUM" and (n := number(word)) is not None:
            yield Argument(i, i, i + 1, "number", "number", Ref(None, str(n)))
        elif language(word):
            yield Argument(i, i, i + 1, "language", "language", Ref(None, word))


def _names(reading: Reading) -> Iterator[Argument]:
    tree = reading.tree
    for n in reading.named:
        start, end = n.span.start, n.span.end
        ref = Ref(n.known, "", reading.basis(n.known), start, end)
        yield Argument(tree.head_of(start, end), start, end, n.known.type, "name", ref)


def _words(reading: Reading, taken: set[int]) -> Iterator[Argument]:
    tree = reading.tree
    for i in range(len(tree)):
        if i in taken:
            continue
        word = tree.lower[i]
        pronoun = "i" if word in FIRST else "we" if word in WE else "they" if word in THIRD else ""
        if pronoun or word in ("you", "your", "yours"):
            ref = reading.ref(i)
            if ref is not None and ref.known is not None:
                yield Argument(i, i, i + 1, ref.known.type, pronoun or "you", ref)
        elif tree.pos[i] in _NOUNS and tree.dep[i] not in ("compound", "nmod"):
            ref = reading.ref(i, values=True, full=False)
            if ref is None:
                text = reading.value(i)
                ref = Ref(None, text, (), i, i + 1) if text else None
            if ref is not None:
                how = "name" if ref.known is not None and not ref.fresh else "description"
                kind = ref.known.type if ref.known is not None else "noun"
                yield Argument(i, min(ref.start, i), max(ref.end, i + 1), kind, how, ref)
        elif tree.dep[i] in _SAYS_HOW and (
            tree.pos[i] == "ADJ" or (tree.pos[i] == "VERB" and word in lexicon().status)
        ):
            yield Argument(i, i, i + 1, "adjective", "adjective", Ref(None, tree.words[i], (), i, i + 1))
