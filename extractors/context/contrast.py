"""Words that put one argument against another: "not in Bergen", "but by a full disk", "Oslo or Bergen"."""

from __future__ import annotations

from memstream.extractors.context.references import Ref
from memstream.extractors.parse.tree import Tree

_SMALL = frozenset({"ADP", "DET", "ADJ", "PRON"})
_FEW = 4


def turned(tree: Tree, ref: Ref, *, no: bool) -> bool:
    """Whether the fact about this argument is denied, where its clause says `no` or not."""
    if ref.end <= ref.start:
        return no
    i = ref.start - 1
    while i >= 0 and ref.start - i <= _FEW and tree.pos[i] in _SMALL and tree.lower[i] != "not":
        i -= 1
    if i < 0 or tree.sent[i] != tree.sent[ref.start]:
        return no
    if no:
        return tree.lower[i] != "but"
    return tree.lower[i] == "not" and tree.words[max(i - 1, 0)] in (",", "-", "–", "—", ";", "and", "but")


def either(tree: Tree, ref: Ref) -> bool:
    """Whether an argument is one of several between which its speaker does not decide."""
    if ref.end <= ref.start:
        return False
    i = tree.head_of(ref.start, ref.end)
    if tree.pos[i] == "NUM":
        return False  # "two or three" is roughly so many
    heads = [i, tree.head[i]] if tree.dep[i] == "conj" else [i]
    return any(tree.dep[k] == "cc" and tree.lower[k] == "or" for h in heads for k in tree.kids[h])


def opposite(tree: Tree, ref: Ref) -> int | None:
    """The head of what stands behind an argument with "not" before it."""
    if ref.end <= ref.start:
        return None
    i = tree.head_of(ref.start, ref.end)
    for k in tree.kids[i]:
        if tree.dep[k] in ("appos", "conj") and k > i:
            first = tree.noun_span(k)[0]
            before = [tree.lower[j] for j in range(max(i + 1, first - 1), k)]
            if "not" in before:
                return k
    return None
