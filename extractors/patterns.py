"""The verb patterns of patterns.toml, and how a clause is matched against them.

Patterns are indexed by verb, so that a clause is only tried against those of its own verb: the cost of a message grows
with its clauses and not with the catalogue.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass, replace
from importlib import resources

from memstream.extractors.conditions import CONDITIONS, Case
from memstream.extractors.frames import IMPLIED, Frame
from memstream.extractors.reading import Reading
from memstream.extractors.references import Ref
from memstream.extractors.values import first_money, first_version, language
from memstream.schemas.catalogue import catalogue
from memstream.schemas.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way of saying a predicate. See patterns.toml for the fields."""

    predicate: str
    verbs: tuple[str, ...]
    subject: str
    object: str
    conditions: tuple[str, ...]
    subject_types: tuple[str, ...]
    object_types: tuple[str, ...]
    negated: bool
    future: bool


@functools.cache
def patterns() -> dict[str, tuple[Pattern, ...]]:
    """The patterns by verb, particle included. Raises SettingsError where the file names what does not exist."""
    raw = tomllib.loads((resources.files("memstream.extractors") / "patterns.toml").read_text(encoding="utf-8"))
    by_verb: dict[str, list[Pattern]] = {}
    for number, row in enumerate(raw["pattern"], start=1):
        pattern = _pattern(number, row)
        for verb in pattern.verbs:
            by_verb.setdefault(verb, []).append(pattern)
    return {verb: tuple(found) for verb, found in by_verb.items()}


def _pattern(number: int, row: dict[str, object]) -> Pattern:
    where = f"patterns.toml, pattern {number}"
    predicate = str(row["predicate"])
    if predicate not in catalogue():
        raise SettingsError(f"{where}: {predicate!r} is not in the catalogue (schemas/catalogue.toml)")
    conditions = [str(c) for c in row.get("with", [])]  # type: ignore[attr-defined]
    types = {"subj": catalogue().predicates[predicate].subject, "obj": catalogue().predicates[predicate].object}
    plain = []
    for condition in conditions:
        side, _, names = condition.partition(":")
        if names:
            types[side] = tuple(names.split("|"))
        elif condition in CONDITIONS:
            plain.append(condition)
        else:
            raise SettingsError(f"{where}: unknown condition {condition!r}; known are {', '.join(sorted(CONDITIONS))}")
    return Pattern(
        predicate, tuple(row["verbs"]), str(row["subject"]), str(row["object"]), tuple(plain), types["subj"],  # type: ignore[arg-type]
        types["obj"], bool(row.get("negated")), bool(row.get("future")),
    )  # fmt: skip


def match_frames(reading: Reading) -> None:
    """Say what the verb patterns find in every clause."""
    table = patterns()
    for frame in reading.frames:
        verb = f"{frame.lemma} {frame.particle}" if frame.particle else frame.lemma
        for pattern in table.get(verb, ()) or table.get(frame.lemma, ()):
            _match(reading, frame, pattern)


def _match(reading: Reading, frame: Frame, pattern: Pattern) -> None:
    if pattern.future and frame.unsure in ("modal", "future") and "must" in pattern.conditions:
        frame = _sure(frame)
    subjects = _slot(reading, frame, pattern.subject, pattern.subject_types, values=False)
    if not subjects:
        return
    values = catalogue().predicates[pattern.predicate].value
    objects = _slot(reading, frame, pattern.object, pattern.object_types, values=values)
    for s in subjects:
        if s.known is None or s.type not in pattern.subject_types:
            continue
        for o in objects:
            if o.known is not None and o.type not in pattern.object_types and pattern.object_types:
                continue
            if all(CONDITIONS[name](Case(reading, frame, s, o)) for name in pattern.conditions):
                reading.say(
                    s, pattern.predicate, o, frame, at=frame.head, rule=f"verb:{frame.lemma}", ended=pattern.negated,
                    dated=pattern.object != "date",
                )  # fmt: skip


def _sure(frame: Frame) -> Frame:
    """The clause as if "must" were no modal: what must be done by Friday has Friday as its deadline."""
    return replace(frame, future=True, unsure="")


def _slot(reading: Reading, frame: Frame, slot: str, types: tuple[str, ...], *, values: bool) -> list[Ref]:
    """The references in a slot of a clause."""
    if slot == "date":
        found = [t for t in reading.times_of(frame, frame.head) if not t.is_start]
        return [Ref(None, found[-1].future)] if found and len(found[-1].future) >= 7 else []
    if slot in ("version", "money", "language"):
        return _literal(reading, frame, slot)
    if slot.startswith("prep:"):
        tokens = [t for name in slot[5:].split("|") for t in frame.preps.get(name, [])]
    else:
        tokens = {"subj": frame.subj, "obj": frame.obj, "attr": frame.attr}[slot]
    refs = []
    for token in dict.fromkeys(tokens):
        ref = reading.ref(token, types, values=values, full=(values and slot != "obj") or types == ())
        if ref is not None and not (token == IMPLIED and not types):
            refs.append(ref)
    return refs


def _literal(reading: Reading, frame: Frame, slot: str) -> list[Ref]:
    tree = reading.tree
    if slot == "language":
        tokens = [*frame.obj, *frame.attr]
        words = [tree.words[t] for t in tokens if t >= 0]
        return [Ref(None, w) for w in words if language(w)]
    low, high = min(frame.tokens), max(frame.tokens)
    text = tree.span_text(max(low, frame.head), high + 1)
    found = first_version(text) if slot == "version" else first_money(text)
    return [Ref(None, found)] if found else []
