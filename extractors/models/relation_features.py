"""What tells the relation of a pair: its words and types, the tree and the words between, the clause, the rules' word.

Features are names that `relation_model.buckets` hashes. The shortest dependency path as a feature: Bunescu and Mooney,
"A Shortest Path Dependency Kernel for Relation Extraction" (2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from memstream.extractors.context.reading import Proposal, Reading
from memstream.extractors.models.arguments import TOPIC, Argument
from memstream.extractors.models.relations import Pair
from memstream.extractors.parse.frames import Frame
from memstream.extractors.parse.tree import Tree
from memstream.extractors.text.lexicon import lexicon, words

NEAR = 4
_LONGEST_PATH = 8
_MOST_BETWEEN = 12
_DOUBTFUL = words("if would unless whether maybe")
_TELLING = words("det poss prep appos relcl acl neg case nummod")


class Features:
    """The features of the pairs of one reading; what depends on one argument alone is made once."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._objects: dict[int, list[str]] = {}
        self._subjects: dict[int, list[str]] = {}
        self._sentences: dict[int, list[str]] = {}

    def of(self, pair: Pair, proposals: Sequence[Proposal]) -> list[str]:
        """The features of a pair; `proposals` are what the rules said of it."""
        reading, s, o = self._reading, pair.subject, pair.object
        tree = reading.tree
        out = ["bias", f"k={pair.kinds}", f"how={s.how}>{o.how}", f"k={pair.kinds},how={s.how}>{o.how}", f"sk={s.kind}"]
        out += _of_proposals(proposals)
        out += self._of_object(o)
        out += self._of_sentence(o.head)
        out += _of_clause(reading, s, o)
        if s.head == TOPIC:
            return out + _of_topic(tree, pair)
        return out + self._of_subject(pair) + _of_words_between(reading, pair) + _of_path(tree, pair)

    def _of_object(self, o: Argument) -> list[str]:
        if o.head not in self._objects:
            self._objects[o.head] = _of_object(self._reading.tree, o)
        return self._objects[o.head]

    def _of_subject(self, pair: Pair) -> list[str]:
        s, o, tree = pair.subject, pair.object, self._reading.tree
        if s.head not in self._subjects:
            self._subjects[s.head] = _of_subject(tree, s)
        after = tree.lower[s.end] if s.end < tree.sentences[tree.sent[s.head]][1] else "</s>"
        return [*self._subjects[s.head], f"sa={after},ob={tree.lower[o.start - 1] if o.start else '<s>'}"]

    def _of_sentence(self, head: int) -> list[str]:
        number = self._reading.tree.sent[head]
        if number not in self._sentences:
            self._sentences[number] = _of_sentence(self._reading.tree, number)
        return self._sentences[number]


def _of_proposals(proposals: Sequence[Proposal]) -> list[str]:
    out = []
    for one in proposals:
        said = "said" if one.assertion is not None else one.unsure
        out += [f"r={one.predicate},{said}", f"r={one.predicate},{one.rule},{said}", f"rule={one.rule},{said}"]
        if one.assertion is not None and one.assertion.negated:
            out.append(f"r={one.predicate},not")
    return out or ["r="]


def _of_object(tree: Tree, o: Argument) -> list[str]:
    lemma = tree.lemma[o.head]
    a, b = tree.sentences[tree.sent[o.head]]
    before = tree.lower[o.start - 1] if o.start > a else "<s>"
    before2 = tree.lower[o.start - 2] if o.start > a + 1 else "<s>"
    after = tree.lower[o.end] if o.end < b else "</s>"
    return [
        f"ok={o.kind}", f"o={lemma}", f"odep={tree.dep[o.head]}", f"oup={tree.lemma[tree.head[o.head]]}",
        f"ok={o.kind},o={lemma}", f"ob={before}", f"ob={before2} {before}", f"oa={after}", f"ok={o.kind},ob={before}",
        f"ok={o.kind},ob2={before2} {before}", *_flags("o", tree, o.head),
    ]  # fmt: skip


def _of_sentence(tree: Tree, number: int) -> list[str]:
    a, b = tree.sentences[number]
    out = [f"q={any(word.startswith('?') for word in tree.words[a:b])}", f"asked={tree.lower[a]}"]
    hedges = lexicon().hedges
    if any(word in hedges or word in _DOUBTFUL for word in tree.lower[a:b]):
        out.append("hedge")
    return out


def _of_clause(reading: Reading, s: Argument, o: Argument) -> list[str]:
    frame = reading.owner.get(o.head)
    if frame is None:
        return ["noframe"]
    roles = f"{_role(frame, s.head)}>{_role(frame, o.head)}"
    return [
        f"v={frame.lemma}{'+' + frame.particle if frame.particle else ''}", f"vu={frame.unsure}",
        f"vn={frame.negated}", f"vf={frame.future}", f"ok={o.kind},v={frame.lemma}", f"vpass={frame.passive}",
        f"role={roles}", f"v={frame.lemma},role={roles}",
    ]  # fmt: skip


def _of_topic(tree: Tree, pair: Pair) -> list[str]:
    s, o = pair.subject, pair.object
    start = tree.sentences[tree.sent[o.head]][0]
    out = [f"topic={s.how}", f"topic={s.how},k={pair.kinds}", f"topic,first={o.start - start < 2}"]
    return out + [f"w={tree.lemma[i]}" for i in range(max(start, o.start - 5), o.start)]


def _of_subject(tree: Tree, s: Argument) -> list[str]:
    a, b = tree.sentences[tree.sent[s.head]]
    before = tree.lower[s.start - 1] if s.start > a else "<s>"
    after = tree.lower[s.end] if s.end < b else "</s>"
    return [
        f"s={tree.lemma[s.head] if s.how != 'name' else 'NAME'}", f"sdep={tree.dep[s.head]}",
        f"sup={tree.lemma[tree.head[s.head]]}", f"sb={before}", f"sa={after}", *_flags("s", tree, s.head),
    ]  # fmt: skip


def _of_words_between(reading: Reading, pair: Pair) -> list[str]:
    tree, s, o = reading.tree, pair.subject, pair.object
    left, right, order = (s, o, "so") if s.head < o.head else (o, s, "os")
    gap = max(right.start - left.end, 0)
    between = tree.lemma[left.end : right.start][:_MOST_BETWEEN]
    out = [f"order={order}", f"gap={min(gap, _MOST_BETWEEN) // 2}", f"order={order},k={pair.kinds}"]
    for word in between:
        out += [f"w={word}", f"{order},w={word}", f"ok={o.kind},w={word}"]
    out += [f"{order},ww={x} {y}" for x, y in pairwise(between)]
    if gap <= NEAR:
        text = " ".join(tree.lower[left.end : right.start])
        out += [f"{order},all={text}", f"{order},k={pair.kinds},all={text}"]
    names = sum(i in reading.cover for i in range(left.end, right.start))
    return [*out, f"names={min(names, 3)}"]


def _of_path(tree: Tree, pair: Pair) -> list[str]:
    path, between, top = path_of(tree, pair.subject.head, pair.object.head)
    out = [
        f"path={path}", f"top={tree.lemma[top]}", f"top={tree.lemma[top]},k={pair.kinds}", f"toppos={tree.pos[top]}",
        f"path={path},k={pair.kinds}", f"path={path},top={tree.lemma[top]}",
    ]  # fmt: skip
    for word in between:
        out += [f"pw={word}", f"pw={word},ok={pair.object.kind}"]
    return out


def _flags(name: str, tree: Tree, head: int) -> list[str]:
    """What the word at the head is known for, and what hangs on it."""
    lex, lemma = lexicon(), tree.lemma[head]
    out = []
    if lemma in lex.roles:
        out.append(f"{name}role")
    if lemma in lex.kin:
        out.append(f"{name}kin={lex.kin[lemma][0]}")
    if lemma in lex.status or tree.lower[head] in lex.status:
        out.append(f"{name}status")
    if lemma in lex.class_nouns:
        out.append(f"{name}class={lex.class_nouns[lemma]}")
    return out + [f"{name}kid={tree.dep[k]},{tree.lemma[k]}" for k in tree.kids[head] if tree.dep[k] in _TELLING]


def _role(frame: Frame, head: int) -> str:
    """Where a word stands in its clause."""
    for name, heads in (("subj", frame.subj), ("obj", frame.obj), ("attr", frame.attr), *frame.preps.items()):
        if head in heads:
            return name
    return "-"


def path_of(tree: Tree, a: int, b: int) -> tuple[str, list[str], int]:
    """The labels up from `a` and down to `b`, the lemmas between, and the highest token."""
    up, down = _ancestors(tree, a), _ancestors(tree, b)
    place = {token: i for i, token in enumerate(up)}
    low = next((i for i, token in enumerate(down) if token in place), None)
    if low is None:
        return "none", [], b
    top = down[low]
    climb, descent = up[: place[top]], down[:low]
    path = "".join(f"<{tree.dep[i]}" for i in climb) + "^" + "".join(f">{tree.dep[i]}" for i in reversed(descent))
    between = [tree.lemma[i] for i in (*climb[1:], top, *descent[1:]) if i not in (a, b)]
    return path if len(climb) + len(descent) < _LONGEST_PATH else "long", between, top


def _ancestors(tree: Tree, i: int) -> list[int]:
    out = [i]
    while tree.head[out[-1]] != out[-1] and len(out) < 2 * _LONGEST_PATH:
        out.append(tree.head[out[-1]])
    return out
