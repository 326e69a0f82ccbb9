"""Facts from what stands between two names of a sentence: [[surface]] of patterns.toml and of a person's own file."""

from __future__ import annotations

import itertools

from memstream.extractors.context.reading import OWN_RULE, Reading
from memstream.extractors.context.references import Named, Ref
from memstream.extractors.parse.stance import doubted
from memstream.extractors.rules.conditions import is_team
from memstream.extractors.rules.pattern_file import ENGLISH, Surface
from memstream.extractors.rules.ways import surfaces
from memstream.extractors.text.lexicon import lexicon

MAX_BETWEEN = 60


def match_surfaces(reading: Reading) -> None:
    """Try every pair of neighbouring names, and what is coordinated with the right one."""
    names = reading.named
    ways = [surface for surface in surfaces() if surface.language == ENGLISH]
    for number, (left, right) in enumerate(itertools.pairwise(names)):
        tree = reading.tree
        if tree.sent[left.span.start] != tree.sent[right.span.start] or left.known is right.known:
            continue
        a, b = tree.end_of(left.span.end - 1), tree.at[right.span.start]
        if not 1 < b - a <= MAX_BETWEEN or not _plain(reading, left, right):
            continue
        text = " ".join(tree.text[a:b].lower().replace("’", "'").split())
        for surface in ways:
            if surface.team and not is_team(right.known.name):
                continue
            if (
                left.known.type in surface.left
                and right.known.type in surface.right
                and surface.between.fullmatch(text)
            ):
                for other in [right, *_coordinated(reading, number + 1)]:
                    _say(reading, surface, left, other)
                break


def _coordinated(reading: Reading, number: int) -> list[Named]:
    """The names that follow in a list: ", Bo and Cy"."""
    out: list[Named] = []
    names = reading.named
    tree = reading.tree
    for before, after in zip(names[number:], names[number + 1 :], strict=False):
        between = tree.text[tree.end_of(before.span.end - 1) : tree.at[after.span.start]].strip().lower()
        if between not in (",", "and", ", and", "&", "+", "and the") or after.known.type != before.known.type:
            break
        out.append(after)
    return out


def _plain(reading: Reading, left: Named, right: Named) -> bool:
    """Whether the words between and around the names leave the statement asserted."""
    tree = reading.tree
    a, b = tree.sentences[tree.sent[left.span.start]]
    if tree.sent[left.span.start] in doubted(tree):
        return False
    if any(
        tree.words[i].startswith("?")
        or tree.lower[i] in lexicon().hedges
        or tree.lower[i] in ("if", "unless", "whether", "would", "will")
        for i in range(a, b)
        if i not in reading.cover  # Will is a man
    ):
        return False
    between = [f for f in reading.frames if left.span.start <= f.head < right.span.end]
    return not any(f.unsure or f.negated or f.told_by is not None for f in between)


def _say(reading: Reading, surface: Surface, left: Named, right: Named) -> None:
    refs = [Ref(n.known, "", (), n.span.start, n.span.end) for n in (left, right)]
    subject, obj = refs[::-1] if surface.flip else refs
    if any(
        a.subject == subject.term and a.predicate == surface.predicate and a.object == obj.term
        for a in reading.assertions
    ):
        return
    frame = next((f for f in reading.frames if left.span.end <= f.head < right.span.start), None)
    if reading.trace is not None:
        reading.trace.trying = surface.where
    reading.say(
        subject,
        surface.predicate,
        obj,
        frame,
        at=left.span.start,
        presupposed=True,
        rule=OWN_RULE if surface.own else "surface",
    )
    if reading.trace is not None:
        reading.trace.trying = ""
