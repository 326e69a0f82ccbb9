"""How its speaker stands to a clause beyond its own words: jokes marked as such, phrases of doubt, what it hangs on."""

from __future__ import annotations

import re
from bisect import bisect_left

from memstream.extractors.parse.tree import Tree
from memstream.extractors.text.lexicon import words

JOKE_WORDS = (
    r"(?:(?:i['’]?m |i was |am )?(?:just |only |totally )?(?:kidding|joking)(?! about| with| around| that| me| aside)"
    r"|jk|j/k|i kid)"
)
_JOKE = re.compile(
    rf"(?:(?:^|[.!?,;:(\n–—-]|\blol|\blmao|\bha(?:ha)*)\s*|\s(?=i['’]?m |i was |just |only |jk\b|j/k)){JOKE_WORDS}"
    r"(?!\w)|\s/s(?=\s*$)|(?:\blol|\blmao|\bha(?:ha)+|[.!…])\s*not really(?=\s*[.!)]*\s*$)",
    re.I,
)
# where one of these stands in a sentence, none of it is said for sure
_DOUBT = re.compile(
    r"(?<!\w)(?:(?:as|so) far as i(?: know|['’]m aware| can (?:tell|see)| remember| recall)"
    r"|to (?:the best of )?my knowledge|for all i know|don['’]t quote me|i (?:could|may|might) be wrong"
    r"|if (?:i (?:remember|recall)(?: (?:correctly|rightly|right))?|i['’]m not (?:mistaken|wrong)|memory serves)"
    r"|if that['’]s (?:right|true|correct)|or so i(?:['’]m told|['’]ve heard| hear| think)"
    r"|last i (?:heard|checked|knew)|not (?:entirely |100 ?% |quite |totally |so )?sure|(?:they|people|some) say"
    r"|word (?:on the street is|has it)|(?:rumou?r|gossip) (?:is|has it)|legend has it)(?!\w)"
    r"|(?:^|[.!?]\s+)(?:the )?word is(?= (?:that )?[A-Z])",
    re.I,
)
_POSSIBLE = words(
    """
    possible likely unlikely doubtful unclear conceivable impossible improbable unsure uncertain unconvinced plausible
    questionable untrue false probable
    """
)
_CERTAIN = words("sure certain positive convinced confident aware true clear right correct known")
_NEARLY = words("pretty fairly quite almost reasonably mostly rather relatively")
_OPINIONS = words(
    """
    chance possibility rumour rumor gossip theory suspicion hope fear doubt risk assumption feeling impression hunch
    idea claim guess odds probability notion myth belief speculation allegation expectation word
    """
)
_DENYING = words("deny dispute refute contest disprove debunk question disbelieve")
NEARLY_SURE = 0.8


def joked(tree: Tree) -> list[bool]:
    """Which tokens a joke covers: the clause before "just kidding", or the sentence before where it opens its own."""
    out = [False] * len(tree)
    for m in _JOKE.finditer(tree.text):
        here = bisect_left(tree.at, m.end()) - 1
        if here < 0:
            continue
        number = tree.sent[here]
        first = tree.sentences[number][0]
        last = bisect_left(tree.at, m.start() + 1)
        if not any(tree.pos[i] in ("VERB", "AUX") for i in range(first, last)) and number:
            first = tree.sentences[number - 1][0]
        out[first:last] = [True] * (last - first)
    return out


def doubted(tree: Tree) -> frozenset[int]:
    """The sentences with a phrase of doubt in them, by number."""
    found = set()
    for m in _DOUBT.finditer(tree.text):
        i = bisect_left(tree.at, m.start() + 1) - 1
        if i >= 0:
            found.add(tree.sent[i])
    return frozenset(found)


def outlook(tree: Tree, j: int) -> tuple[str, float]:  # noqa: PLR0911 (one decision after the other)
    """What the word that clause `j` hangs on makes of it: a doubt, "" for none, and how sure it is without one."""
    up, dep = tree.head[j], tree.dep[j]
    if dep == "acl" and tree.tag[j] != "VBG" and tree.lemma[up] in _OPINIONS and _that(tree, j):
        return "hedge", 1.0
    if dep not in ("ccomp", "csubj"):
        return "", 1.0
    if tree.lemma[up] in _DENYING:
        return "report", 1.0
    be = tree.head[up] if tree.pos[up] == "ADJ" else up
    if any(tree.dep[k] == "nsubj" and tree.lemma[k] in _OPINIONS for k in tree.kids[be]):
        return "report", 1.0
    judgements = [up] if tree.pos[up] == "ADJ" else [k for k in tree.kids[up] if tree.dep[k] in ("acomp", "attr")]
    for k in judgements:
        if tree.lower[k] in _POSSIBLE:
            return "hedge", 1.0
        if tree.lower[k] in _CERTAIN:
            if any(tree.dep[n] == "neg" for n in (*tree.kids[be], *tree.kids[k])):
                return "hedge", 1.0
            if any(tree.lower[n] in _NEARLY for n in tree.kids[k]):
                return "", NEARLY_SURE
    return "", 1.0


def _that(tree: Tree, j: int) -> bool:
    """Whether a clause tells what a noun consists of ("the rumour that"), and is no participle of it."""
    return tree.tag[j] in ("VBZ", "VBP", "VBD") or any(tree.dep[k] in ("mark", "aux") for k in tree.kids[j])


def conditional(tree: Tree, i: int) -> bool:
    """As in "in case Tom lives in Oslo", "as long as Ana runs it", "provided that it works"."""
    for k in tree.kids[i]:
        if tree.dep[k] == "prep" and tree.lower[k] == "in" and any(tree.lower[o] == "case" for o in tree.kids[k]):
            return True
        if tree.dep[k] == "mark" and tree.lower[k] == "though" and tree.lower[max(k - 1, 0)] == "as":
            return True
    up = tree.head[i]
    if tree.dep[i] == "advcl" and tree.lower[up] == "long":
        return True
    return tree.dep[i] == "ccomp" and tree.lower[up] in ("provided", "providing", "assuming", "supposing")


def teller(tree: Tree, i: int) -> int | None:
    """Who is named as the source of a clause: "according to Tom", "per Ana"."""
    for k in tree.kids[i]:
        if tree.lower[k] == "according":
            for to in tree.kids[k]:
                told = [o for o in tree.kids[to] if tree.dep[o] == "pobj"]
                if told:
                    return told[0]
        if tree.lower[k] == "per" and tree.dep[k] == "prep":
            named = [o for o in tree.kids[k] if tree.dep[o] == "pobj" and tree.pos[o] == "PROPN"]
            if named:
                return named[0]
    return None
