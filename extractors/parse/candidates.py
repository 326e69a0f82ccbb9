"""Spans of a parsed text that may name something. What they are, if anything, is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from memstream.extractors.parse.tree import Tree
from memstream.extractors.text.identifiers import identify
from memstream.extractors.text.lexicon import lexicon, vocabulary, words
from memstream.extractors.text.names import PARTICLES

NER_TYPES = {
    "PERSON": "Person", "ORG": "Organization", "GPE": "Location", "LOC": "Location", "FAC": "Location",
    "EVENT": "Event", "PRODUCT": "Object", "WORK_OF_ART": "Object", "LAW": "Object", "NORP": "Organization",
}  # fmt: skip
TITLES = words(
    """
    mr mrs ms miss dr prof professor sir dame herr frau señor señora mme mlle mx rev fr sister brother captain
    sergeant auntie uncle aunt tante oma opa
    """
)  # fmt: skip
_INNER = PARTICLES | words("les y e of the & and 't st. st'")
_NEVER = words(
    """
    i i'm i'll i've i'd ok okay yes no hi hello hey thanks thank please monday tuesday wednesday thursday friday
    saturday sunday january february march april june july august september october november december mon tue wed
    thu fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec am pm christmas easter fyi btw eod asap lol omg
    todo note ps re tl;dr faq cv eta
    """
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Tokens [start, end) of the tree; `source` says what proposed them, `label` what spaCy's NER called them."""

    start: int
    end: int
    source: str
    label: str = ""


def candidates(tree: Tree) -> list[Candidate]:  # noqa: PLR0912 (one decision after the other)
    """Spans that may be names, left to right, none inside another of the same proposal."""
    out: dict[tuple[int, int], Candidate] = {}
    labels = {(e.start, e.end): e.label for e in tree.ents}
    at = [""] * len(tree)
    for e in tree.ents:
        for i in range(e.start, e.end):
            at[i] = e.label
    used = [False] * len(tree)
    for i, word in enumerate(tree.words):
        if tree.lower[i] in ("pr", "mr", "issue", "ticket", "incident", "hotfix", "bug") and i + 1 < len(tree):
            following = tree.words[i + 1]
            if following.lstrip("#").isdigit() and (len(following) > 1):
                _add(out, tree, i, i + 2, "id", labels, at)
                used[i] = used[i + 1] = True
                continue
        if identify(word) and not used[i]:
            _add(out, tree, i, i + 1, "id", labels, at)
            used[i] = True
    i = 0
    while i < len(tree):
        if not used[i] and _starts(tree, i, at):
            end = _run(tree, i, used, at)
            _add(out, tree, i, end, "run", labels, at)
            i = end
        else:
            i += 1
    for i in range(len(tree)):
        if not used[i] and _unusual(tree, i) and not any(c.start <= i < c.end for c in out.values()):
            end = i + 2 if i + 1 < len(tree) and not used[i + 1] and _unusual(tree, i + 1) else i + 1
            _add(out, tree, i, end, "oov", labels, at)
            used[i:end] = [True] * (end - i)
    for e in tree.ents:
        if e.label in NER_TYPES and not any(c.start < e.end and e.start < c.end for c in out.values()):
            start = e.start + (tree.lower[e.start] in ("the", "a", "an", "our", "my"))
            if start < e.end:
                _add(out, tree, start, e.end, "ner", labels, at)
    return sorted(out.values(), key=lambda c: (c.start, c.end))


def _add(  # noqa: PLR0917 (what is said, by place)
    out: dict[tuple[int, int], Candidate], tree: Tree, start: int, end: int, source: str,
    labels: dict[tuple[int, int], str], at: list[str],
) -> None:  # fmt: skip
    end = _class_noun(tree, end)
    while end - start > 1 and tree.lower[end - 1] in ("'s", "'", "’s", "s'", "-", ".", ",", "&", "and", "of", "the"):
        end -= 1
    if all(w in lexicon().roles or w in lexicon().kin or w in _NEVER for w in tree.lower[start:end]):
        return
    label = labels.get((start, end)) or at[end - 1] or at[start]
    out[(start, end)] = Candidate(start, end, source, label)


def _class_noun(tree: Tree, end: int) -> int:
    """Take in the class noun that ends a name: "Marigold" + "repo"."""
    if end < len(tree) and tree.sent[end] == tree.sent[end - 1] and tree.words[end].islower():
        noun = tree.lower[end]
        if (
            noun in lexicon().class_nouns
            and tree.pos[end] in ("NOUN", "PROPN")
            and tree.head[end - 1] in (end, tree.head[end])
        ) and (tree.dep[end - 1] in ("compound", "nmod", "amod", "nummod", "poss") or tree.pos[end - 1] == "PROPN"):
            return end + 1
    return end


def _unusual(tree: Tree, i: int) -> bool:
    """A lower-case noun that common English does not have: "taxcore", "geraint"."""
    word = tree.words[i]
    if not (3 < len(word) < 24 and word.isalpha() and word.islower() and tree.pos[i] in ("NOUN", "PROPN", "X", "ADJ")):
        return False
    if tree.tag[i] == "NNS" or (tree.pos[i] == "ADJ" and tree.dep[i] in ("amod", "acomp")):
        return False
    known = vocabulary()
    return word not in known and tree.lemma[i] not in known and not _derived(word, known)


def _derived(word: str, known: frozenset[str]) -> bool:
    """An inflected or compounded common word: "courgettes", "rehashing", "unsubscribed"."""
    for suffix in ("s", "es", "ed", "d", "ing", "er", "ers", "ly", "ness", "less", "ish", "able", "y", "ies"):
        if word.endswith(suffix) and word[: -len(suffix)] in known and len(word) - len(suffix) > 3:
            return True
    return word.startswith(("un", "re", "non", "over", "under")) and word[2:] in known


def _capital(word: str) -> bool:
    return word[:1].isupper() or (word[:1].isalpha() and any(c.isupper() for c in word[1:]))


def _starts(tree: Tree, i: int, at: list[str]) -> bool:  # noqa: PLR0911 (one decision after the other)
    word, lower = tree.words[i], tree.lower[i]
    if lower in _NEVER or not word[:1].isalpha() or not _capital(word):
        return False
    if tree.pos[i] in ("PROPN", "X"):
        return True
    first = i == 0 or tree.sent[i - 1] != tree.sent[i] or tree.words[i - 1] in ('"', "“", ":", "-", "•", "*", "\n", "(")
    if not first:
        return (
            tree.pos[i] in ("NOUN", "ADJ", "VERB", "NUM", "INTJ", "ADV", "PRON")
            and len(word) > 1
            and tree.pos[i] != "PRON"
        )
    if at[i] in NER_TYPES:
        return True
    follows = i + 1 < len(tree) and tree.sent[i + 1] == tree.sent[i]
    if follows and tree.words[i + 1][:1].isupper() and tree.pos[i + 1] == "PROPN":
        return tree.pos[i] in ("NOUN", "ADJ", "PROPN")
    if tree.pos[i] == "NOUN" and tree.dep[i] in (
        "nsubj",
        "nsubjpass",
        "ROOT",
        "poss",
        "compound",
        "appos",
        "conj",
        "dep",
    ):
        return not any(tree.dep[k] in ("det", "amod", "poss") for k in tree.kids[i])
    return False


def _run(tree: Tree, i: int, used: list[bool], at: list[str]) -> int:
    """The end of the run of name tokens from i."""
    j = i + 1
    while j < len(tree) and tree.sent[j] == tree.sent[i] and not used[j]:
        word, lower = tree.words[j], tree.lower[j]
        if word.startswith("\n"):
            break
        if _capital(word) and word[:1].isalpha() and lower not in _NEVER:
            j += 1
        elif (lower in ("-", "&", "/") and _tight(tree, j) and j + 1 < len(tree) and _capital(tree.words[j + 1])) or (
            lower in ("'s", "’s") and j + 1 < len(tree) and _capital(tree.words[j + 1]) and at[j] and at[j] == at[j + 1]
        ):
            j += 2
        elif (k := _inner(tree, j, at)) > j:
            j = k + 1
        elif word[:1].isdigit() and _number_of_name(tree, j, at):
            j += 1
        else:
            break
    return j


def _tight(tree: Tree, j: int) -> bool:
    """A hyphen without spaces, or an ampersand with them."""
    if tree.lower[j] == "&":
        return True
    return tree.at[j] == tree.end_of(j - 1) and j + 1 < len(tree) and tree.at[j + 1] == tree.end_of(j)


def _inner(tree: Tree, j: int, at: list[str]) -> int:
    """The capitalised word after the particles inside a name ("Ilse de Wit"), or `j` where there is none."""
    k = j
    while k < len(tree) and tree.lower[k] in _INNER and k - j < 3:
        k += 1
    if k == j or k >= len(tree) or not tree.words[k][:1].isupper() or tree.sent[k] != tree.sent[j]:
        return j
    words = set(tree.lower[j:k])
    if words & {"and", "of", "the", "&", "e", "y"}:
        return k if at[j] and at[j] == at[k] and at[j] in NER_TYPES and "and" not in words else j
    return k


def _number_of_name(tree: Tree, j: int, at: list[str]) -> bool:
    """A number that belongs to a name: "PR 3312", "Debian 12", "breaker 7"."""
    return (
        tree.words[j].replace(".", "").isdigit() and len(tree.words[j]) <= 5 and at[j] not in ("DATE", "TIME", "MONEY")
    )
