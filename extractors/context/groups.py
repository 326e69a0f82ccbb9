"""Several at once: "they", "both", "the two of them" after "Ana and Tom"."""

from __future__ import annotations

from collections.abc import Sequence

from memstream.extractors.context.session import Known
from memstream.extractors.parse.tree import Tree
from memstream.extractors.text.lexicon import words

PLURAL = words("they them their both")
MOST = 4


def coordinated(tree: Tree, named: dict[int, Known]) -> list[tuple[int, list[Known]]]:
    """Where people are named side by side, and who: the end of each such list, in order."""
    out = []
    for i in sorted(named):
        if tree.dep[i] == "conj" and tree.head[i] in named:
            continue
        group = [named[k] for k in tree.conjuncts(i) if k in named and named[k].type == "Person"]
        people = list({id(k): k for k in group}.values())
        if 2 <= len(people) <= MOST:
            out.append((tree.conjuncts(i)[-1], people))
    return out


def is_plural(tree: Tree, i: int) -> bool:
    """Whether a word means a group that was named before."""
    if tree.lower[i] in PLURAL:
        return tree.pos[i] in ("PRON", "DET") or tree.dep[i].startswith("nsubj")
    return tree.lower[i] in ("two", "three") and any(
        tree.lower[k] == "of" and any(tree.lower[o] == "them" for o in tree.kids[k]) for k in tree.kids[i]
    )


def of_names(names: Sequence[str], known: Sequence[Known]) -> list[Known]:
    """The people of a group that the session keeps by name; none where one of them is no longer known."""
    found = [next((k for k in reversed(known) if k.name == name or name in k.aliases), None) for name in names]
    people = [k for k in found if k is not None and k.type == "Person"]
    return people if len(people) == len(names) else []
