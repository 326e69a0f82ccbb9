"""The seats that only a person can take: who lives in a place, works at a firm, speaks a language, is married.

The parser does not know many first names: it makes "Will" and "May" auxiliaries, "Per" a preposition, "Jack" a verb.
Where one capitalised word opens a sentence and the words after it are such a clause, the word is a name whatever the
parser took it for. `seat` gives the clause the tree it should have; `take_seats` gives the name its type.
"""

from __future__ import annotations

from dataclasses import dataclass

from memstream.extractors.parse.candidates import Candidate
from memstream.extractors.parse.tree import Tree
from memstream.extractors.text.identifiers import identify
from memstream.extractors.text.lexicon import lexicon, words

_ADVERBS = words("now still currently just recently also already once actually originally never")
_PLACE, _FIRM = frozenset({"Location"}), frozenset({"Organization", "Location"})
# verb form -> lemma, tag, prepositions, types of what follows, whether things and firms hardly ever do it
_VERBS: dict[str, tuple[str, str, frozenset[str], frozenset[str], bool]] = {
    "lives": ("live", "VBZ", words("in near"), _PLACE, True),
    "lived": ("live", "VBD", words("in near"), _PLACE, True),
    "resides": ("reside", "VBZ", words("in near"), _PLACE, True),
    "works": ("work", "VBZ", words("at for"), _FIRM, True),
    "worked": ("work", "VBD", words("at for"), _FIRM, True),
    "studies": ("study", "VBZ", words("at"), _FIRM, True),
    "studied": ("study", "VBD", words("at"), _FIRM, True),
    "graduated": ("graduate", "VBD", words("from"), _FIRM, True),
    "moved": ("move", "VBD", words("to"), _PLACE, False),
    "relocated": ("relocate", "VBD", words("to"), _PLACE, False),
}
_NO_NAME = words(
    """
    i he she it we you they this that these those there here who whoever what which where when why how one someone
    somebody anyone anybody everyone everybody nobody none no any some all both each either neither everything
    something nothing anything mine yours his hers ours theirs the a an my your our their its if as so then than
    and or but nor for not never always often sometimes now still currently just recently also already once
    actually originally formerly previously today yesterday tomorrow finally eventually later soon since because
    while although though maybe perhaps apparently supposedly allegedly probably yes yeah no ok okay please thanks
    only even well anyway plus hi hello hey mom mum dad mama papa user assistant client customer people man woman
    finance legal support sales security ops production staging research management operations data design product
    payroll procurement logistics purchasing compliance jazz blues techno hiphop love life music work home school
    legacy billing traffic legend rumour rumor word news everything half most many few another other others more english
    """
)
_NO_ENDING = ("ing", "ment", "tion", "sion", "ness", "ism", "ware", "ship")
_WORD_NAMES = words(
    """
    amber april art august autumn bill bob bud chance clay cliff crystal daisy dale dawn dean drew earnest faith fern
    flora frank gene ginger glen grace grant guy hazel heath heather holly hope hunter iris ivy jack jade jasmine jay
    jimmy joy june lance lily mark may melody mercy miles nick olive pat patience pearl per penny peg ray rich rob robin
    rose rowan ruby rusty sandy scarlett sky skip summer sue tab ted terry tony verity victor viola violet wade ward
    will willow
    """
)  # words that are first names too
SURE_OTHER = 0.6  # how sure the model must be of another type to keep it


@dataclass(frozen=True, slots=True)
class Seat:
    """Token `name` must be a person if what stands at `other` is of one of `types` (empty: whatever it is)."""

    name: int
    other: int = -1
    types: frozenset[str] = frozenset()
    strict: bool = True
    couple: bool = False
    known: bool = True  # whether the word can hardly be anything but a name


def seat(tree: Tree) -> list[Seat]:
    """The seats of a text. Changes `tree` where the parser misread the clause."""
    out = []
    for first, end in tree.sentences:
        at = [i for i in range(first, end) if not tree.words[i].isspace()]
        while at and not tree.words[at[0]][:1].isalnum():
            del at[0]
        while len(at) > 1 and tree.lower[at[1]] in _ADVERBS:
            del at[1]
        found = _clause(tree, at) if len(at) > 2 and _may_name(tree, at[0]) else None
        if found is not None:
            out.append(found)
    return out


def take_seats(
    seats: list[Seat], found: list[Candidate], types: list[tuple[str, float]]
) -> tuple[list[Candidate], list[tuple[str, float]]]:
    """The candidates and their types with the seated names as persons."""
    rows = dict(zip(found, types, strict=True))
    at = {i: c for c in found for i in range(c.start, c.end)}
    for s in seats:
        if s.types and (s.other not in at or rows[at[s.other]][0] not in s.types):
            continue
        for i in (s.name, *([s.other] if s.couple else [])):
            c = at.get(i) or Candidate(i, i + 1, "run")
            kind, sure = rows.get(c, ("", 0.0))
            if c.end - c.start > 1 or kind == "Person" or (kind and sure >= SURE_OTHER):
                continue
            if not s.strict and not s.known and c.label != "PERSON":
                continue
            rows[c] = ("Person", 0.9)
    ordered = sorted(rows, key=lambda c: (c.start, c.end))
    return ordered, [rows[c] for c in ordered]


def _may_name(tree: Tree, i: int) -> bool:
    word, lower = tree.words[i], tree.lower[i]
    if not (word.isalpha() and word[0].isupper() and word[1:].islower()) or lower in _NO_NAME or identify(word):
        return False
    lex = lexicon()
    if lower in lex.roles or lower in lex.kin or lower in lex.class_nouns or lower in lex.hedges:
        return False
    return not (len(lower) > 5 and lower.endswith(_NO_ENDING) and tree.pos[i] != "PROPN")


def _clause(tree: Tree, at: list[int]) -> Seat | None:  # noqa: PLR0911 (one form after the other)
    """The clause that begins with the name at[0] if its words are one of those that only a person fits."""
    name, verb, following = at[:3]
    if tree.lower[verb] in _VERBS:
        lemma, tag, prepositions, types, strict = _VERBS[tree.lower[verb]]
        rest = at[4:] if len(at) > 3 and tree.lower[at[3]] == "the" else at[3:]
        if tree.lower[following] not in prepositions or not rest or not tree.words[rest[0]][:1].isupper():
            return None
        known = tree.lower[name] in _WORD_NAMES or (tree.pos[name] != "NOUN" and not _in_entity(tree, name))
        _repair(tree, name, verb, lemma, tag, "nsubj")
        _hang(tree, following, verb, "prep", "ADP")
        return Seat(name, rest[0], types, strict, known=known)
    if tree.lower[verb] in ("speaks", "spoke") and tree.lower[following] in lexicon().languages:
        _repair(tree, name, verb, "speak", "VBZ" if tree.lower[verb] == "speaks" else "VBD", "nsubj")
        _hang(tree, following, verb, "dobj", "PROPN")
        return Seat(name)
    if tree.lower[verb] not in ("is", "was"):
        return None
    rest = [i for i in at[2:] if tree.lower[i] not in _ADVERBS and tree.lower[i] != "not"]
    if len(rest) > 2 and tree.lower[rest[0]] in ("married", "engaged") and tree.lower[rest[1]] == "to":
        other = rest[2]
        if not _may_name(tree, other) or (len(rest) > 3 and tree.words[rest[3]][:1].isupper()):
            return Seat(name) if _hold(tree, name, verb) else None
        _repair(tree, name, verb, "be", "VBZ" if tree.lower[verb] == "is" else "VBD", "nsubj")
        return Seat(name, other, couple=True)
    if len(rest) > 2 and tree.lower[rest[0]] == "born" and tree.lower[rest[1]] in ("in", "on", "near"):
        _repair(tree, name, rest[0], "bear", "VBN", "nsubjpass")
        _hang(tree, rest[1], rest[0], "prep", "ADP")
        return Seat(name)
    return None


def _in_entity(tree: Tree, i: int) -> bool:
    """Whether spaCy takes the word for the name of something that is no person."""
    return any(e.start <= i < e.end and e.label != "PERSON" for e in tree.ents)


def _hold(tree: Tree, name: int, verb: int) -> bool:
    """Whether the parser has the name as the verb's subject already."""
    return tree.head[name] == verb and tree.dep[name] == "nsubj"


def _repair(tree: Tree, name: int, verb: int, lemma: str, tag: str, dep: str) -> None:  # noqa: PLR0917 (what is said, by place)
    """Make `name` the subject of `verb`, which takes the name's place where it hung below it."""
    if tree.head[name] == verb and tree.dep[name] == dep and tree.pos[name] in ("PROPN", "NOUN"):
        tree.pos[name], tree.tag[name] = "PROPN", "NNP"
        return
    up = verb
    while tree.head[up] != up and up != name:
        up = tree.head[up]
    if up == name:
        root = tree.head[name] == name
        _move(tree, verb, verb if root else tree.head[name], "ROOT" if root else tree.dep[name])
    for k in list(tree.kids[name]):
        _move(tree, k, verb, tree.dep[k])
    _move(tree, name, verb, dep)
    tree.pos[name], tree.tag[name], tree.lemma[name] = "PROPN", "NNP", tree.lower[name]
    tree.pos[verb], tree.tag[verb], tree.lemma[verb] = "AUX" if lemma == "be" else "VERB", tag, lemma
    for k in tree.kids[verb]:
        if k != name and tree.dep[k] in ("nsubj", "nsubjpass") and k > verb:
            tree.dep[k] = "dobj"


def _hang(tree: Tree, i: int, head: int, dep: str, pos: str) -> None:
    """Make the word after a verb what it is to it."""
    if tree.head[i] == head and tree.dep[i] == dep:
        return
    up = head
    while tree.head[up] != up and up != i:
        up = tree.head[up]
    if up == i:
        return
    _move(tree, i, head, dep)
    tree.pos[i] = pos


def _move(tree: Tree, i: int, head: int, dep: str) -> None:
    if tree.head[i] != i:
        tree.kids[tree.head[i]].remove(i)
    tree.head[i], tree.dep[i] = head, dep
    if head != i:
        tree.kids[head].append(i)
        tree.kids[head].sort()
