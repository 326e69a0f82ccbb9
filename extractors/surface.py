"""Facts from what stands between two names of a sentence: [[surface]] of patterns.toml."""

from __future__ import annotations

import functools
import itertools
import re
import tomllib
from dataclasses import dataclass
from importlib import resources

from memstream.extractors.conditions import is_team
from memstream.extractors.lexicon import lexicon
from memstream.extractors.reading import Reading
from memstream.extractors.references import Named, Ref
from memstream.schemas.catalogue import catalogue
from memstream.schemas.errors import SettingsError

MAX_BETWEEN = 60


@dataclass(frozen=True, slots=True)
class Surface:
    """One pattern. `flip`: the right name is the subject."""

    predicate: str
    between: re.Pattern[str]
    left: frozenset[str]
    right: frozenset[str]
    flip: bool
    team: bool = False


@functools.cache
def surfaces() -> tuple[Surface, ...]:
    """The patterns of the file. Raises SettingsError for a predicate that the catalogue does not have."""
    raw = tomllib.loads((resources.files("memstream.extractors") / "patterns.toml").read_text(encoding="utf-8"))
    out = []
    for number, row in enumerate(raw["surface"], start=1):
        if row["predicate"] not in catalogue():
            raise SettingsError(f"patterns.toml, surface {number}: {row['predicate']!r} is not in the catalogue")
        out.append(
            Surface(
                row["predicate"],
                re.compile(row["between"]),
                frozenset(row["left"]),
                frozenset(row["right"]),
                bool(row.get("flip")),
                bool(row.get("team")),
            )
        )
    return tuple(out)


def match_surfaces(reading: Reading) -> None:
    """Try every pair of neighbouring names, and what is coordinated with the right one."""
    names = reading.named
    for number, (left, right) in enumerate(itertools.pairwise(names)):
        tree = reading.tree
        if tree.sent[left.span.start] != tree.sent[right.span.start] or left.known is right.known:
            continue
        a, b = tree.end_of(left.span.end - 1), tree.at[right.span.start]
        if not 1 < b - a <= MAX_BETWEEN or not _plain(reading, left, right):
            continue
        text = " ".join(tree.text[a:b].lower().replace("’", "'").split())
        for surface in surfaces():
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
    if any(
        tree.words[i].startswith("?")
        or tree.lower[i] in lexicon().hedges
        or tree.lower[i] in ("if", "unless", "whether", "would", "will")
        for i in range(a, b)
        if i not in reading.cover  # Will is a man
    ):
        return False
    return not any(f.unsure or f.negated for f in reading.frames if left.span.start <= f.head < right.span.end)


def _say(reading: Reading, surface: Surface, left: Named, right: Named) -> None:
    refs = [Ref(n.known, "", (), n.span.start, n.span.end) for n in (left, right)]
    subject, obj = refs[::-1] if surface.flip else refs
    if any(
        a.subject == subject.term and a.predicate == surface.predicate and a.object == obj.term
        for a in reading.assertions
    ):
        return
    frame = next((f for f in reading.frames if left.span.end <= f.head < right.span.start), None)
    reading.say(subject, surface.predicate, obj, frame, at=left.span.start, presupposed=True, rule="surface")
