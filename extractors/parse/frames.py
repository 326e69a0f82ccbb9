"""Clauses as frames: who did what to whom, with which prepositions, and whether it is asserted.

A frame undoes what syntax does to arguments: passives, relative clauses, participles, coordination and control give
their subject and object as a plain active clause would. Patterns match frames, so that one line in patterns.toml
covers "X built Y", "Y was built by X", "Y, built by X," and "X, who built Y".
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field

from memstream.extractors.parse.doubt import doubts
from memstream.extractors.parse.stance import joked
from memstream.extractors.parse.tree import Tree

IMPLIED = -1  # the first person that a note leaves out: "Joined Core Infra on Monday."
IMPLIED_THIRD = -2  # whoever was spoken of before: "Runs on Nomad."
RELATIVE = frozenset({"who", "which", "that", "whom", "where", "whose"})
_LINK = re.compile(r"\[[^\[\]\n]{1,300}\]\(")
_FUTURE = frozenset({"will", "'ll", "wo", "gon"})
_NEGATIONS = frozenset({"not", "n't", "never", "nor", "neither", "hardly", "nt"})


_ENDS = frozenset({"stop", "quit", "cease"})


@dataclass(slots=True)
class Frame:
    """One predicate with its arguments (token indexes of their heads)."""

    head: int
    lemma: str
    subj: list[int] = field(default_factory=list)
    obj: list[int] = field(default_factory=list)
    attr: list[int] = field(default_factory=list)
    preps: dict[str, list[int]] = field(default_factory=dict)
    particle: str = ""
    passive: bool = False
    negated: bool = False
    no_longer: bool = False
    used_to: bool = False
    future: bool = False
    past: bool = False
    unsure: str = ""
    told_by: int | None = None
    sure: float = 1.0
    tokens: list[int] = field(default_factory=list)


def frames(tree: Tree, quoted: list[bool]) -> list[Frame]:
    """The frames of a text in order of their predicates. `quoted` marks the tokens inside quotation marks."""
    found: dict[int, Frame] = {}
    for i in range(len(tree)):
        if _is_predicate(tree, i):
            found[i] = _arguments(tree, i)
    for i in sorted(found, key=lambda j: _depth(tree, j)):
        _inherit(tree, found, i)
    for i, frame in found.items():
        _polarity(tree, frame)
        frame.tokens = _own_tokens(tree, found, i)
    doubts(tree, found, quoted)
    return [found[i] for i in sorted(found)]


def _is_predicate(tree: Tree, i: int) -> bool:
    if tree.words[i][0].isdigit():
        return False  # "bumped to 0.9.8 the day before yesterday": no verb, whatever the parser says
    if tree.pos[i] == "VERB":
        return tree.dep[i] not in ("aux", "auxpass", "amod", "compound") or (
            tree.dep[i] == "amod" and any(tree.dep[k] in ("prep", "agent") for k in tree.kids[i])
        )
    if tree.pos[i] == "AUX":
        return tree.dep[i] not in ("aux", "auxpass")
    return tree.tag[i] in ("VBN", "VBD", "VBZ") and tree.dep[i] in ("acl", "relcl", "ROOT", "conj")


def _depth(tree: Tree, i: int) -> int:
    depth = 0
    while tree.head[i] != i and depth < 200:
        i = tree.head[i]
        depth += 1
    return depth


def _arguments(tree: Tree, i: int) -> Frame:
    frame = Frame(head=i, lemma=tree.lemma[i])
    agents: list[int] = []
    for k in tree.kids[i]:
        dep = tree.dep[k]
        if dep in ("nsubj", "csubj", "expl"):
            frame.subj += tree.conjuncts(k)
        elif dep == "nsubjpass":
            frame.passive = True
            frame.obj += tree.conjuncts(k)
        elif dep in ("dobj", "dative", "obj") and tree.pos[k] != "ADP":
            frame.obj += tree.conjuncts(k)
        elif dep in ("attr", "acomp", "oprd", "xcomp" if tree.pos[k] in ("NOUN", "ADJ", "PROPN") else "attr"):
            frame.attr += tree.conjuncts(k)
        elif dep == "agent":
            agents += _objects(tree, k)
        elif dep in ("prep", "dative"):
            _preposition(tree, frame, k)
        elif dep == "advmod" and tree.lower[k] == "there" and tree.lemma[i] != "be":
            for name in ("in", "at"):
                frame.preps.setdefault(name, []).append(k)
        elif dep == "prt":
            frame.particle = tree.lower[k]
        elif dep == "auxpass":
            frame.passive = True
    if frame.passive or (tree.tag[i] == "VBN" and agents):
        frame.passive = True
        frame.subj = agents
    frame.past = tree.tag[i] in ("VBD", "VBN") or any(
        tree.dep[k] in ("aux", "auxpass") and tree.lower[k] in ("was", "were", "had", "did") for k in tree.kids[i]
    )
    return frame


def _preposition(tree: Tree, frame: Frame, k: int) -> None:
    """The objects of a preposition and of what is coordinated or chained with it ("back in Porto", "out of")."""
    for p in tree.conjuncts(k):
        name = tree.lower[p]
        objects = _objects(tree, p)
        for inner in tree.kids[p]:
            if tree.dep[inner] == "prep" and not objects:
                name = f"{name} {tree.lower[inner]}"
                objects = _objects(tree, inner)
        if objects:
            frame.preps.setdefault(name, []).extend(objects)


def _objects(tree: Tree, p: int) -> list[int]:
    out: list[int] = []
    for k in tree.kids[p]:
        if tree.dep[k] in ("pobj", "dobj", "pcomp"):
            out += tree.conjuncts(k)
    return out


def _inherit(tree: Tree, found: dict[int, Frame], i: int) -> None:  # noqa: PLR0912 (one decision after the other)
    """Give a frame the subject or object that the syntax put elsewhere. Governors come first."""
    frame, dep, up = found[i], tree.dep[i], tree.head[i]
    if dep == "relcl":
        _relative(tree, frame, up)
    elif dep in ("acl", "amod") and up != i:
        if tree.tag[i] == "VBN":
            frame.passive = True
            frame.obj = frame.obj or [up]
        elif tree.tag[i] == "VBG" and not frame.subj:
            frame.subj = [up]
    elif not _has_subject(frame) and up in found and up != i:
        above = found[up]
        if dep in ("conj", "xcomp", "advcl", "ccomp", "dep", "parataxis"):
            if dep in ("ccomp", "advcl") and tree.tag[i] not in ("VBG", "VBN", "VB"):
                return
            subject = above.obj if above.passive else above.subj
            if dep == "xcomp" and above.obj and not above.passive:
                subject = above.obj
            if frame.passive:
                frame.obj = list(subject)
            else:
                frame.subj = list(subject)
    if (
        not _has_subject(frame)
        and (dep == "ROOT" or dep in ("conj", "ccomp", "advcl"))
        and tree.tag[i] in ("VBD", "VBZ", "VBN", "VBG", "VBP")
    ):
        if frame.passive or (tree.tag[i] == "VBN" and frame.preps and not frame.obj):
            frame.passive = True
            frame.obj = [IMPLIED_THIRD]
        elif tree.tag[i] in ("VBZ", "VBG"):
            frame.subj = [IMPLIED_THIRD]
        elif _opens(tree, i):
            frame.subj = [IMPLIED]


def _opens(tree: Tree, i: int) -> bool:
    """Whether a clause begins with its verb, but for "also", "once", "just"."""
    j = i - 1
    first = tree.sentences[tree.sent[i]][0]
    while j >= first and (
        tree.pos[j] in ("ADV", "AUX", "PUNCT", "SPACE", "CCONJ") and tree.words[j] not in (",", ":", ";")
    ):
        j -= 1
    return j < first


def _has_subject(frame: Frame) -> bool:
    return bool(frame.obj if frame.passive else frame.subj)


def _relative(tree: Tree, frame: Frame, noun: int) -> None:
    """Put the antecedent where the relative pronoun stands."""

    def put(items: list[int]) -> list[int]:
        return [noun if t >= 0 and tree.lower[t] in RELATIVE else t for t in items]

    had = frame.subj + frame.obj
    frame.subj, frame.obj = put(frame.subj), put(frame.obj)
    frame.preps = {p: put(objects) for p, objects in frame.preps.items()}
    where = [k for k in tree.kids[frame.head] if tree.lower[k] == "where" and tree.dep[k] == "advmod"]
    if where:
        frame.preps.setdefault("at", []).append(noun)
        frame.preps.setdefault("in", []).append(noun)
    elif noun not in frame.subj + frame.obj and not any(noun in o for o in frame.preps.values()):
        for k in tree.kids[frame.head]:
            if tree.dep[k] == "prep" and not tree.kids[k]:
                frame.preps.setdefault(tree.lower[k], []).append(noun)
                return
        if had and not frame.obj and not frame.passive:
            frame.obj = [noun]
        elif not frame.subj and not frame.passive:
            frame.subj = [noun]


def _polarity(tree: Tree, frame: Frame) -> None:  # noqa: PLR0912 (one decision after the other)
    i = frame.head
    for k in tree.kids[i]:
        if tree.dep[k] == "neg" or (tree.lower[k] in _NEGATIONS and tree.dep[k] in ("advmod", "cc", "preconj", "det")):
            frame.negated = frame.negated or not _contrasts(tree, k, i)
    for a in (*frame.subj, *([] if frame.passive else frame.obj), *(frame.obj if frame.passive else [])):
        if a >= 0 and any(
            tree.lower[k] in ("no", "neither", "none") and tree.dep[k] in ("det", "preconj", "cc") for k in tree.kids[a]
        ):
            frame.negated = True
        if a >= 0 and tree.lower[a] in ("nobody", "none", "no-one", "neither"):
            frame.negated = True
    if "nor" in tree.lower[max(tree.sentences[tree.sent[i]][0], i - 4) : i]:
        frame.negated = True
    words = [tree.lower[k] for k in sorted(tree.kids[i])]
    text = " ".join(words)
    following = " ".join(tree.lower[i + 1 : i + 14])
    if "longer" in words and any(tree.lower[j] == "no" for j in range(max(0, i - 5), min(len(tree), i + 5))):
        frame.negated = frame.no_longer = True
    elif frame.negated and ("anymore" in text or "any more" in following or "anymore" in following):
        frame.no_longer = True
    for k in tree.kids[i]:
        if (tree.dep[k] in ("aux", "xcomp") and tree.lower[k] in _FUTURE) or tree.lower[k] == "gonna":
            frame.future = True
    up = tree.head[i]
    if tree.dep[i] == "xcomp" and up != i:
        if tree.lemma[up] == "go" and tree.tag[up] == "VBG":
            frame.future = True
        if tree.lemma[up] == "use" and tree.tag[up] == "VBD":
            frame.used_to = True
        if tree.lemma[up] in _ENDS and tree.tag[i] == "VBG" and not frame.negated:
            frame.negated = frame.no_longer = not any(tree.dep[k] == "neg" for k in tree.kids[up])


def _contrasts(tree: Tree, k: int, i: int) -> bool:
    """Whether a "not" is no negation of its clause: "not only does he", "lives in Oslo, not in Bergen"."""
    if k + 1 < len(tree) and tree.lower[k + 1] in ("only", "just", "merely"):
        return tree.lower[k] == "not"
    return k > i + 1 and tree.lower[k] == "not" and tree.words[k - 1] in (",", "-", "–", "—", ";")


def _own_tokens(tree: Tree, found: dict[int, Frame], i: int) -> list[int]:
    """The tokens of a clause without those of the clauses in it."""
    out = []
    stack = [i]
    while stack:
        j = stack.pop()
        out.append(j)
        for k in tree.kids[j]:
            if k in found and tree.dep[k] in ("conj", "ccomp", "relcl", "advcl", "acl", "parataxis"):
                continue
            stack.append(k)
    return sorted(out)


def quoted_tokens(tree: Tree) -> list[bool]:
    """Which tokens stand between quotation marks around three words or more, in a Markdown link, or are a joke."""
    out = joked(tree)
    for found in _LINK.finditer(tree.text):
        for i in range(bisect_left(tree.at, found.start()), bisect_left(tree.at, found.end())):
            out[i] = True
    opened: int | None = None
    for i, word in enumerate(tree.words):
        if word in ("“", "«", "``") or (word == '"' and opened is None):
            opened = i
        elif word in ("”", "»", "''", '"') and opened is not None:
            if i - opened > 3:
                out[opened : i + 1] = [True] * (i + 1 - opened)
            opened = None
    return out
