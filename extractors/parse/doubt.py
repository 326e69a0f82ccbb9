"""Whether a clause is asserted: questions, conditions, modals, plans, hedges, quotations and hearsay are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memstream.extractors.parse.stance import conditional, doubted, joked, outlook, teller
from memstream.extractors.parse.tree import Tree
from memstream.extractors.text.lexicon import lexicon, words

if TYPE_CHECKING:
    from memstream.extractors.parse.frames import Frame

_MODAL = words("would could might may should must can 'd shall ought cannot ca")


_CONDITIONS = frozenset({"if", "unless", "whether", "suppose", "supposing", "provided", "assuming", "lest", "in case"})


_NO_PLAN = frozenset({"use", "begin", "start", "continue", "manage", "happen", "end"})


SELF_TOLD = 0.9  # what someone says of their own life


def doubts(tree: Tree, found: dict[int, Frame], quoted: list[bool]) -> None:
    """Say of every clause why it is not asserted, who told it, and how sure it is."""
    jokes, doubtful = joked(tree), doubted(tree)
    for i, frame in found.items():
        if jokes[i]:
            frame.unsure = "joke"
            continue
        frame.unsure = _doubt(tree, found, i, quoted)
        if not frame.unsure and tree.sent[i] in doubtful:
            frame.unsure = "hedge"
        if frame.told_by is None:
            frame.told_by = teller(tree, i)
        if frame.told_by is not None:
            frame.sure = min(frame.sure, SELF_TOLD)


def _doubt(tree: Tree, found: dict[int, Frame], i: int, quoted: list[bool]) -> str:  # noqa: PLR0911 (one decision after the other)
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
    if conditional(tree, i):
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
    asks = tree.lower[a] in _ASKING and tree.dep[a] in _ASKING_DEPS and tree.pos[a] in _ASKING_POS
    named = any(tree.dep[k] in ("nsubj", "nsubjpass") and a < k < i for k in tree.kids[i])
    return asks and not (named and tree.lower[a] == "what") and _inverted(tree, a, i)


_ASKING = words(
    """
    who what where when why how which does do did is are was can could should would will has have any shall
    """
)
_ASKING_DEPS = frozenset({"aux", "ROOT", "advmod", "attr", "dobj", "auxpass"})
_ASKING_POS = frozenset({"AUX", "PRON", "SCONJ", "ADV", "VERB"})


def _inverted(tree: Tree, a: int, i: int) -> bool:
    """Whether the sentence's first word makes a question: an auxiliary before its subject, or a question word."""
    if tree.lower[a] in ("who", "what", "where", "why", "how", "which", "when"):
        return tree.dep[i] == "ROOT" and tree.lower[a] != "when"
    return any(tree.dep[k] in ("nsubj", "nsubjpass", "attr") and k > a for k in tree.kids[i])


def _auxiliary(tree: Tree, i: int) -> bool:
    return any(tree.dep[k] in ("aux", "auxpass") for k in tree.kids[i])


def _governed(tree: Tree, found: dict[int, Frame], i: int) -> str:  # noqa: PLR0911, PLR0912 (one decision after the other)
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
        if dep == "advcl" and up in found and found[up].future and tree.tag[j] in _PRESENT and _waits(tree, j):
            return "future"
        seen, sure = outlook(tree, j)
        if seen:
            return seen
        found[i].sure = min(found[i].sure, sure)
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


_PRESENT = frozenset({"VBZ", "VBP", "VB"})


def _waits(tree: Tree, j: int) -> bool:
    """As in "when she lives there, we will see": what is waited for is not yet so."""
    return any(tree.lower[k] in ("when", "once", "until", "till", "before", "after") for k in tree.kids[j])


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
