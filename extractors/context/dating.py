"""Which of its dates a clause, or a noun without one, takes as the start and the end of what it says."""

from __future__ import annotations

from collections.abc import Sequence

from memstream.extractors.parse.frames import Frame
from memstream.extractors.parse.tree import Tree
from memstream.extractors.text.lexicon import words
from memstream.extractors.text.time_forms import TimeExpression

_POINTS = frozenset({"on", "in", "", "at", "back in", "around", "about", "during", "the"})
_PAST_AUX = frozenset({"was", "were", "had", "did"})
_PERFECT = frozenset({"has", "have", "'s", "'ve", "’s", "’ve", "having"})
_TODAY = ("today", "tonight")
_LEAVING = words("leave move quit retire resign switch stop step")
MAX_GAP = 8


def dates(tree: Tree, frame: Frame | None, at: int, times: Sequence[TimeExpression]) -> tuple[str | None, str | None]:
    """valid_from and valid_to by the date expressions `times` of a clause, or of the noun `at` where there is none."""
    past = frame is not None and is_past(tree, frame)
    start = point = end = None
    for t in times:
        if frame is None and not (t.is_start or t.is_end):
            continue
        if frame is None and not _beside(tree, at, t):
            continue
        if t.is_end:
            # "is away until the 15th" looks ahead, "was away until the 15th" back
            end = end or (t.past if past else t.future)
        elif t.is_start:
            start = start or (_start(tree, frame, t) if t.form == "dur" else _value(frame, t))
        elif t.lead in _POINTS and frame is not None and not _idle(tree, frame, t, past=past):
            point = point or _value(frame, t)
    return start or point, end


def is_past(tree: Tree, frame: Frame) -> bool:
    """Whether the clause tells of the past: "built", "was built", "had been"; not "is closed", "has been"."""
    aux = _auxiliaries(tree, frame)
    if any(word in _PAST_AUX for word in aux):
        return True
    return tree.tag[frame.head] == "VBD" or (tree.tag[frame.head] == "VBN" and not aux)


def _auxiliaries(tree: Tree, frame: Frame) -> list[str]:
    return [tree.lower[k] for k in tree.kids[frame.head] if tree.dep[k] in ("aux", "auxpass")]


def _value(frame: Frame | None, t: TimeExpression) -> str:
    return t.future if frame is not None and frame.future else t.past


def _start(tree: Tree, frame: Frame | None, t: TimeExpression) -> str | None:
    """As in "has run it for three years": "for" reaches to now only in the perfect."""
    if t.lead != "for":
        return t.past
    if frame is None:
        return None
    aux = _auxiliaries(tree, frame)
    return t.past if _PERFECT.intersection(aux) and not _PAST_AUX.intersection(aux) else None


def _idle(tree: Tree, frame: Frame, t: TimeExpression, *, past: bool) -> bool:
    """Whether a point in time is no start: "is run today by", "due on the 12th", "the Tuesday choir"."""
    before = tree.text[max(0, t.lead_start - 5) : t.lead_start].rstrip().lower()
    if before.endswith("due") or (t.form == "wd" and t.lead == "the"):
        return True
    if frame.lemma == "be" and not past and not _PERFECT.intersection(_auxiliaries(tree, frame)):
        return True
    return not past and not t.lead and tree.text[t.start : t.end].lower() in _TODAY


def _beside(tree: Tree, at: int, t: TimeExpression) -> bool:
    """Whether a date belongs to a noun: behind it, with no clause, name list or other comma between."""
    tokens = [i for i in range(at + 1, min(len(tree), at + 2 + MAX_GAP)) if tree.at[i] < t.lead_start]
    if t.end <= tree.at[at]:
        # "and, since January, a nurse at the clinic"
        return tree.text[t.end : tree.at[at]].strip(" ,").lower() in ("", "a", "an", "the", "our", "my", "his", "her")
    if tree.at[at] >= t.lead_start or len(tokens) > MAX_GAP:
        return False
    if tree.text[t.end : t.end + 1] == "," and tree.text[: t.lead_start].rstrip().endswith((",", " and", " &")):
        return False  # "founder of the Milers and, since January, a nurse": it is of what follows
    between = tree.text[tree.end_of(at) : t.lead_start].rstrip(" ,(–—-:")
    return not any(mark in between for mark in ",;()\n") and not any(tree.pos[i] in ("VERB", "AUX") for i in tokens)


def _begins(tree: Tree, frame: Frame, other: Frame) -> bool:
    """As in "she's our agent since Klaus retired in May", "he's treasurer, took over from me in January"."""
    if other.lemma == "take" and other.particle == "over" and frame.lemma == "be":
        return True
    return tree.head[other.head] == frame.head and any(
        tree.lower[k] == "since" and tree.dep[k] == "mark" for k in tree.kids[other.head]
    )


def lender(tree: Tree, frame: Frame, frames: Sequence[Frame]) -> Frame | None:
    """The clause further on in the sentence whose date is this one's too.

    As in "she's club president, been since '99" and "he doesn't live in Horten any more, they moved in February".
    """
    for other in frames:
        if other.head <= frame.head or tree.sent[other.head] != tree.sent[frame.head]:
            continue
        if other.unsure or other.future or (other.negated and not frame.negated):
            continue
        same = other.negated == frame.negated and not (other.attr or other.obj or other.passive)
        if other.lemma in ("be", "do") and same:
            if all(name in ("since", "as", "for") for name in other.preps):
                return other
            continue
        if other.negated or not is_past(tree, other):
            continue
        leaves = frame.negated and other.lemma in _LEAVING
        if leaves or (not frame.negated and not is_past(tree, frame) and _begins(tree, frame, other)):
            return other
    return None


def trailing(
    tree: Tree, frame: Frame, frames: Sequence[Frame], times: Sequence[TimeExpression]
) -> list[TimeExpression]:
    """The date that stands alone behind a clause that ends its sentence: "I wrote the statute. In 1999."."""
    number = tree.sent[frame.head]
    behind = number + 1
    if behind >= len(tree.sentences) or any(tree.sent[f.head] == behind for f in frames):
        return []
    if any(tree.sent[f.head] == number and f.head > frame.head for f in frames):
        return []
    first, last = tree.sentences[behind]
    begin, end = tree.at[first], tree.end_of(last - 1)
    return [
        t
        for t in times
        if begin <= t.start < end
        and (t.is_start or t.lead in ("in", "on") or t.form == "word")
        and not tree.text[begin : t.lead_start].strip(" ,(–—-")
        and tree.text[t.end : end].lstrip()[:1] in ("", ".", ",", "!", "?", ")")
    ]
