"""Clauses as frames: who did what to whom, with which prepositions, and whether it is asserted.

A frame undoes what syntax does to arguments: passives, relative clauses, participles, coordination and control give
their subject and object as a plain active clause would. Patterns match frames, so that one line in patterns.toml
covers "X built Y", "Y was built by X", "Y, built by X," and "X, who built Y".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from memstream.extractors.lexicon import lexicon
from memstream.extractors.tree import Tree

IMPLIED = -1  # the first person that a note leaves out: "Joined Core Infra on Monday."
IMPLIED_THIRD = -2  # whoever was spoken of before: "Runs on Nomad."
RELATIVE = frozenset({"who", "which", "that", "whom", "where", "whose"})
_MODAL = frozenset({"would", "could", "might", "may", "should", "must", "can", "'d", "shall", "ought", "cannot", "ca"})
_FUTURE = frozenset({"will", "'ll", "wo", "gon"})
_NEGATIONS = frozenset({"not", "n't", "never", "nor", "neither", "hardly", "nt"})
_CONDITIONS = frozenset({"if", "unless", "whether", "suppose", "supposing", "provided", "assuming", "lest", "in case"})
_GOVERN_FACT = frozenset(
    {"begin", "start", "continue", "manage", "happen", "get", "end", "be", "have", "stop", "remain"}
)
_NO_PLAN = frozenset({"use", "begin", "start", "continue", "manage", "happen", "end"})


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
    for i, frame in found.items():
        frame.unsure = _doubt(tree, found, i, quoted)
    return [found[i] for i in sorted(found)]


def _is_predicate(tree: Tree, i: int) -> bool:
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


def _inherit(tree: Tree, found: dict[int, Frame], i: int) -> None:
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


def _polarity(tree: Tree, frame: Frame) -> None:
    i = frame.head
    for k in tree.kids[i]:
        if tree.dep[k] == "neg" or (tree.lower[k] in _NEGATIONS and tree.dep[k] in ("advmod", "cc", "preconj", "det")):
            frame.negated = True
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


def _doubt(tree: Tree, found: dict[int, Frame], i: int, quoted: list[bool]) -> str:
    """Why a clause is not asserted, or "" where it is."""
    if quoted[i]:
        return "quoted"
    a, b = tree.sentences[tree.sent[i]]
    if _asked(tree, i, a, b):
        return "question"
    for k in tree.kids[i]:
        if tree.dep[k] == "aux" and tree.lower[k] in _MODAL:
            return "modal"
        if tree.dep[k] == "mark" and tree.lower[k] in _CONDITIONS:
            return "conditional"
        if tree.dep[k] == "advcl" and any(tree.lower[m] in ("if", "unless") for m in tree.kids[k]):
            return "conditional"
    if _hedged(tree, found, i, a, b):
        return "hedge"
    if (
        tree.tag[i] == "VB"
        and tree.dep[i] in ("ROOT", "conj", "ccomp")
        and not _auxiliary(tree, i)
        and not found[i].subj
    ):
        return "imperative"
    return _governed(tree, found, i)


def _hedged(tree: Tree, found: dict[int, Frame], i: int, a: int, b: int) -> bool:
    """Whether a word such as "apparently" stands in the clause, in one that governs it, or in no clause at all."""
    hedges = [j for j in range(a, b) if tree.lower[j] in lexicon().hedges or tree.lemma[j] in lexicon().hedges]
    if not hedges:
        return False
    above = set()
    j = i
    while True:
        above.add(j)
        if tree.head[j] == j:
            break
        j = tree.head[j]
    reach = {t for f in found.values() if f.head in above for t in f.tokens}
    owned = {t for f in found.values() for t in f.tokens}
    return any(h in reach or h not in owned for h in hedges)


def _asked(tree: Tree, i: int, a: int, b: int) -> bool:
    for j in range(max(i, a), b):
        if tree.words[j].startswith("?"):
            return True
        if j > i and tree.words[j] in (".", "!", ";"):
            return False
    for j in range(b, min(b + 2, len(tree))):
        if tree.words[j].startswith("?"):
            return True
        if tree.words[j] not in (")", '"'):
            break
    first = tree.lower[a]
    return first in ("who", "what", "where", "when", "why", "how", "which", "does", "do", "did", "is", "are", "was", "can",
                     "could", "should", "would", "will", "has", "have", "any", "shall") and not any(
        tree.dep[k] in ("nsubj", "nsubjpass") and k < i and k > a and first in ("what",) for k in tree.kids[i]
    ) and tree.dep[a] in ("aux", "ROOT", "advmod", "attr", "dobj", "auxpass") and tree.pos[a] in ("AUX", "PRON", "SCONJ", "ADV", "VERB") and _inverted(tree, a, i)  # fmt: skip


def _inverted(tree: Tree, a: int, i: int) -> bool:
    """Whether the sentence's first word makes a question: an auxiliary before its subject, or a question word."""
    if tree.lower[a] in ("who", "what", "where", "why", "how", "which", "when"):
        return tree.dep[i] == "ROOT" and tree.lower[a] != "when"
    return any(tree.dep[k] in ("nsubj", "nsubjpass", "attr") and k > a for k in tree.kids[i])


def _auxiliary(tree: Tree, i: int) -> bool:
    return any(tree.dep[k] in ("aux", "auxpass") for k in tree.kids[i])


def _governed(tree: Tree, found: dict[int, Frame], i: int) -> str:
    """What the clauses above make of a clause: plans, wishes, reports, conditions."""
    lexicon()
    j = i
    for _ in range(30):
        up, dep = tree.head[j], tree.dep[j]
        if up == j or (dep in ("relcl",) and found.get(j) is not None and j != i):
            return ""
        if dep in ("xcomp",) and up in found:
            plan = any(tree.lower[k] == "to" and tree.dep[k] == "aux" for k in tree.kids[j])
            if plan and tree.lemma[up] not in _NO_PLAN and not (tree.lemma[up] == "go" and tree.tag[up] == "VBG"):
                return "plan"
            if any(tree.dep[k] == "aux" and tree.lower[k] in _MODAL for k in tree.kids[up]):
                return "modal"
        if dep == "advcl":
            if any(tree.lower[k] == "to" and tree.dep[k] == "aux" for k in tree.kids[j]):
                return "purpose"
            if any(tree.dep[k] == "mark" and tree.lower[k] in _CONDITIONS for k in tree.kids[j]):
                return "conditional"
        if dep == "acl" and tree.tag[j] == "VB":
            return "plan"
        if (
            dep == "conj"
            and up in found
            and any(tree.dep[k] == "aux" and tree.lower[k] in _MODAL for k in tree.kids[up])
        ) and not _has_own_subject(tree, j):
            return "modal"
        if dep == "ccomp" and up in found:
            verdict = _report(tree, found, i, up)
            if verdict is not None:
                return verdict
            if any(tree.dep[k] == "aux" and tree.lower[k] in _MODAL for k in tree.kids[up]) and tree.lemma[up] not in (
                "say",
                "confirm",
            ):
                return "modal"
        if dep == "pcomp" and tree.lower[up] in ("about", "without", "before", "instead", "of", "for"):
            return "mentioned"
        j = up
    return ""


def _has_own_subject(tree: Tree, j: int) -> bool:
    return any(tree.dep[k] in ("nsubj", "nsubjpass") for k in tree.kids[j])


def _report(tree: Tree, found: dict[int, Frame], i: int, up: int) -> str | None:
    """Reported speech: factive verbs pass, a speaker's word about their own life passes, all else is hearsay."""
    lex = lexicon()
    lemma = tree.lemma[up]
    above = found[up]
    if lemma in lex.factive and not (
        lemma in ("report", "state", "insist") and not above.passive and lemma != "insist"
    ):
        return "negated report" if above.negated and lemma in ("know", "confirm", "prove") else None
    if lemma not in lex.reporting:
        return None
    if tree.head[i] != up and tree.dep[i] not in ("conj", "relcl", "acl"):
        return "report"
    if lemma in ("say", "tell", "text", "write", "mention") and above.subj and above.subj[0] >= 0:
        found[i].told_by = above.subj[0]
        return ""
    if lemma in ("let", "make", "keep") and tree.lemma[up] != "let":
        return None
    return "report"


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
    """Which tokens stand between quotation marks that hold three words or more."""
    out = [False] * len(tree)
    opened: int | None = None
    for i, word in enumerate(tree.words):
        if word in ("“", "«", "``") or (word == '"' and opened is None):
            opened = i
        elif word in ("”", "»", "''", '"') and opened is not None:
            if i - opened > 3:
                out[opened : i + 1] = [True] * (i + 1 - opened)
            opened = None
    return out
