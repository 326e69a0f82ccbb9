"""What a candidate span is: one of the five types or nothing. A linear model over hashed features.

Features are words, shapes, what the parser and spaCy's NER say, and spaCy's own token vectors; the weights come from
`python -m memstream.extractors.fit.train_entities` and ship in data/entity_types.npz.
"""

from __future__ import annotations

import functools
from importlib import resources

import numpy as np
import numpy.typing as npt

from memstream.extractors.models.hashing import hashed
from memstream.extractors.parse.candidates import NER_TYPES, TITLES, Candidate
from memstream.extractors.parse.tree import Tree
from memstream.extractors.text.identifiers import identify
from memstream.extractors.text.lexicon import lexicon, vocabulary

CLASSES = ("", "Person", "Organization", "Location", "Event", "Object")
BUCKETS = 1 << 17
WIDTH = 96
DENSE = 3 * WIDTH
FULL_NAME = 0.85  # how sure the model must be that two capitalised words are no name
NONE_BIAS = 0.3  # a missed name costs more here than one too many: facts need their arguments


def features(tree: Tree, c: Candidate, lower_case: bool) -> list[str]:
    """The features of one candidate, as strings. `lower_case`: the message has no capitals."""
    last, head = c.end - 1, _head(tree, c)
    first_word, last_word = tree.lower[c.start], tree.lower[last]
    before = tree.lower[c.start - 1] if c.start else "<s>"
    before2 = tree.lower[c.start - 2] if c.start > 1 else "<s>"
    after = tree.lower[c.end] if c.end < len(tree) else "</s>"
    after2 = tree.lower[c.end + 1] if c.end + 1 < len(tree) else "</s>"
    up = tree.head[head]
    noun = lexicon().class_nouns.get(last_word, "")
    technical = identify(tree.words[last]) if c.end - c.start == 1 else None
    out = [
        "bias", f"ner={c.label}", f"src={c.source}", f"src={c.source},ner={c.label}", f"n={min(c.end - c.start, 4)}",
        f"first={first_word}", f"last={last_word}", f"suf={last_word[-3:]}", f"suf2={last_word[-2:]}",
        f"pre={first_word[:3]}", f"shape={_shape(tree.words[c.start])}", f"shapel={_shape(tree.words[last])}",
        f"b={before}", f"b2={before2},{before}", f"a={after}", f"a2={after},{after2}", f"noun={noun}",
        f"noun={noun},n={c.end - c.start > 1}", f"dep={tree.dep[head]}", f"dep={tree.dep[head]},up={tree.lemma[up]}",
        f"up={tree.lemma[up]}", f"pos={tree.pos[head]}", f"upup={tree.lemma[tree.head[up]]}",
        f"sent={c.start == tree.sentences[tree.sent[c.start]][0]}", f"lower={lower_case}",
        f"oov={last_word not in vocabulary()}", f"oov1={first_word not in vocabulary()}",
        f"id={technical.type + technical.subtype if technical else ''}", f"det={before in ('the', 'a', 'an', 'our')}",
        f"title={before.strip('.') in TITLES or first_word.strip('.') in TITLES}", f"poss={after in _POSSESSIVE}",
        f"mapped={NER_TYPES.get(c.label, '')}", f"allcaps={tree.words[last].isupper() and len(last_word) > 1}",
    ]  # fmt: skip
    for k in tree.kids[head]:
        if not c.start <= k < c.end:
            out.append(f"kid={tree.dep[k]}")
            if tree.dep[k] in ("appos", "relcl", "acl", "prep", "det", "poss", "compound"):
                out.append(f"kid={tree.dep[k]},{tree.lemma[k]}")
                if tree.lemma[k] in lexicon().roles or tree.lemma[k] in lexicon().kin:
                    out.append(f"kidrole={tree.dep[k]}")
    if tree.dep[head] in ("appos", "attr", "nsubj", "compound", "conj") and (
        tree.lemma[up] in lexicon().roles or tree.lemma[up] in lexicon().kin
    ):
        out.append(f"uprole={tree.dep[head]}")
    return out


_POSSESSIVE = frozenset({"'s", "’s", "'"})


def dense(tree: Tree, c: Candidate) -> npt.NDArray[np.float32]:
    """SpaCy's vectors of the first, the last, and the governing token."""
    if not tree.vectors.size:
        return np.zeros(DENSE, dtype=np.float32)
    head = _head(tree, c)
    rows = tree.vectors[[c.start, c.end - 1, tree.head[head]]]
    return np.asarray(rows.reshape(-1), dtype=np.float32)


class EntityModel:
    """The fitted weights."""

    def __init__(self, sparse: npt.NDArray[np.float32], vectors: npt.NDArray[np.float32]) -> None:
        self._sparse = sparse
        self._vectors = vectors

    def classify(self, tree: Tree, found: list[Candidate]) -> list[tuple[str, float]]:
        """The best class of each candidate ("" for none) and its probability, rounded so that no last bit decides."""
        lower_case = not any(c.isupper() for c in tree.text)
        out = []
        for c in found:
            scores = (
                self._sparse[hashed(features(tree, c, lower_case), BUCKETS)].sum(axis=0)
                + dense(tree, c) @ self._vectors
            )
            scores[0] -= NONE_BIAS
            scores = np.exp(scores - scores.max())
            p = np.round(scores / scores.sum(), 4)
            best = int(p.argmax())
            if best == 0 and p[0] < FULL_NAME and _full_name(tree, c):
                best = int(p[1:].argmax()) + 1
            out.append((CLASSES[best], float(p[best])))
        return out


@functools.cache
def entity_model() -> EntityModel:
    """The model that ships with Memstream, loaded once per process."""
    with (resources.files("memstream.extractors") / "data" / "entity_types.npz").open("rb") as f:
        stored = np.load(f)
        return EntityModel(stored["sparse"].astype(np.float32), stored["vectors"].astype(np.float32))


def _full_name(tree: Tree, c: Candidate) -> bool:
    """Two capitalised words or more that spaCy too takes for a name."""
    words = tree.words[c.start : c.end]
    return len(words) > 1 and c.label in ("PERSON", "ORG") and all(w[:1].isupper() and w[1:].islower() for w in words)


def _head(tree: Tree, c: Candidate) -> int:
    for i in range(c.end - 1, c.start - 1, -1):
        if not c.start <= tree.head[i] < c.end or tree.head[i] == i:
            return i
    return c.end - 1


def _shape(word: str) -> str:
    out = ""
    for ch in word[:12]:
        s = "X" if ch.isupper() else "x" if ch.islower() else "d" if ch.isdigit() else ch
        if not out.endswith(s):
            out += s
    return out
