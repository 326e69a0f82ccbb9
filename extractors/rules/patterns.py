"""How a clause is matched against the verb patterns of patterns.toml and of a person's own file.

Patterns are indexed by verb, so that a clause is only tried against those of its own verb: the cost of a message grows
with its clauses and not with the catalogue.
"""

from __future__ import annotations

from dataclasses import replace

from memstream.extractors.context.reading import OWN_RULE, Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.context.trace import Miss
from memstream.extractors.parse.frames import IMPLIED, Frame
from memstream.extractors.rules.conditions import CONDITIONS, Case
from memstream.extractors.rules.pattern_file import Pattern
from memstream.extractors.rules.ways import patterns
from memstream.extractors.text.values import first_money, first_version, language
from memstream.schemas.catalogue import catalogue


def match_frames(reading: Reading) -> None:
    """Say what the verb patterns find in every clause."""
    table = patterns()
    for frame in reading.frames:
        verb = f"{frame.lemma} {frame.particle}" if frame.particle else frame.lemma
        for pattern in table.get(verb, ()) or table.get(frame.lemma, ()):
            if reading.trace is not None:
                reading.trace.trying = pattern.where
            _match(reading, frame, pattern)
    if reading.trace is not None:
        reading.trace.trying = ""


def _match(reading: Reading, frame: Frame, pattern: Pattern) -> None:
    if pattern.future and frame.unsure in ("modal", "future") and "must" in pattern.conditions:
        frame = _sure(frame)
    subjects = _slot(reading, frame, pattern.subject, pattern.subject_types, values=False)
    if not subjects:
        return
    values = catalogue().predicates[pattern.predicate].value
    rule = f"{OWN_RULE if pattern.own else 'verb'}:{frame.lemma}"
    objects = _slot(reading, frame, pattern.object, pattern.object_types, values=values)
    for s in subjects:
        if s.known is None or s.type not in pattern.subject_types:
            continue
        for o in objects:
            if o.known is not None and o.type not in pattern.object_types and pattern.object_types:
                continue
            failed = next((c for c in pattern.conditions if not CONDITIONS[c](Case(reading, frame, s, o))), None)
            if failed is None:
                reading.say(
                    s, pattern.predicate, o, frame, at=frame.head, rule=rule, ended=pattern.negated,
                    dated=pattern.object != "date",
                )  # fmt: skip
            elif reading.trace is not None:
                who, what = s.known.name, o.known.name if o.known else o.value
                reading.trace.misses.append(Miss(who, pattern.predicate, what, pattern.where, failed, frame.unsure))


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
        if not (token == IMPLIED and not types):
            refs += reading.refs(token, types, values=values, full=(values and slot != "obj") or types == ())
    return refs


def _literal(reading: Reading, frame: Frame, slot: str) -> list[Ref]:
    tree = reading.tree
    if slot == "language":
        tokens = [*frame.obj, *frame.attr]
        return [Ref(None, tree.words[t], (), t, t + 1) for t in tokens if t >= 0 and language(tree.words[t])]
    low, high = min(frame.tokens), max(frame.tokens)
    text = tree.span_text(max(low, frame.head), high + 1)
    found = first_version(text) if slot == "version" else first_money(text)
    return [Ref(None, found)] if found else []
