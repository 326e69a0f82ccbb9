"""Whether predicates and their patterns do what their examples promise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from memstream.extractors.explain import Explanation, explain
from memstream.extractors.rules.pattern_file import Pattern, Surface, Ways, read_ways
from memstream.extractors.spacy_extractor import SpacyExtractor
from memstream.schemas.catalogue import Catalogue
from memstream.schemas.extraction import Turn
from memstream.schemas.predicate_file import Predicate, PredicateFile, Problem

_NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)  # examples without a year are read on this day


@dataclass(frozen=True, slots=True)
class Tried:
    """An example, as it was read."""

    predicate: str
    text: str
    expected: bool
    found: bool
    explanation: Explanation


def read_text(extractor: SpacyExtractor, text: str) -> Explanation:
    """A text alone, said by a user."""
    return explain(extractor, [Turn("e0", "user", "user", text, _NOW)])


def try_examples(extractor: SpacyExtractor, predicates: Iterable[Predicate]) -> list[Tried]:
    """Every example and counter-example of the predicates."""
    out = []
    for predicate in predicates:
        asked = [(e.text, e.expected) for e in predicate.examples] + [(text, False) for text in predicate.against]
        for text, expected in asked:
            explanation = read_text(extractor, text)
            found = any(fact.predicate == predicate.name for fact in explanation.facts)
            out.append(Tried(predicate.name, text, expected, found, explanation))
    return out


def check_examples(file: PredicateFile, predicates: Iterable[Predicate], tried: Iterable[Tried]) -> list[Problem]:
    """Examples that are not read as they should, each with what stood in the way."""
    against = {(each.name, text) for each in predicates for text in each.against}
    out = []
    for one in tried:
        if one.found == one.expected:
            continue
        table = f"predicate.{one.predicate}"
        if one.expected:
            what = f"example {one.text!r} is not read as {one.predicate}: {why_not(one)}"
            out.append(file.problem(table, what, key="examples"))
        elif (one.predicate, one.text) in against:
            out.append(file.problem(table, f"{one.text!r} must not be read as it, and is", key="against"))
        else:
            what = f"example {one.text!r} is read now: take `expected = false` away"
            out.append(file.problem(table, what, key="examples", note=True))
    return out


def check_patterns(
    extractor: SpacyExtractor, file: PredicateFile, known: Catalogue, tried: Iterable[Tried]
) -> list[Problem]:
    """Patterns of a file whose own examples do not show them at work, or that no example of their predicate shows."""
    gave = {fact.pattern for one in tried for fact in one.explanation.facts if fact.predicate == one.predicate}
    out = []
    for table, number, one in _numbered(read_ways(file, known)):
        for text in one.examples:
            found = Tried(one.predicate, text, True, False, read_text(extractor, text))
            if not any(fact.pattern == one.where for fact in found.explanation.facts):
                what = f"its example {text!r} is not read by it: {why_not(found)}"
                out.append(file.problem(table, what, number=number, key="examples"))
        if not one.examples and one.where not in gave:
            what = "it matches no example of its predicate: give it `examples` that say it this way, or mend it"
            out.append(file.problem(table, what, number=number))
    return out


def _numbered(ways: Ways) -> Iterable[tuple[str, int, Pattern | Surface]]:
    yield from (("pattern", number, one) for number, one in enumerate(ways.patterns))
    yield from (("surface", number, one) for number, one in enumerate(ways.surfaces))


def why_not(one: Tried) -> str:
    """What kept an example from being read: the nearest thing to a fact of its predicate."""
    found = one.explanation
    for attempt in found.refused:
        if attempt.predicate == one.predicate:
            return attempt.reason
    for miss in found.missed:
        if miss.predicate == one.predicate:
            return f"the pattern at {miss.pattern} fits, but {miss.reason}"
    if found.facts:
        return f"it was read as {', '.join(dict.fromkeys(fact.predicate for fact in found.facts))}"
    names = [f"{name.text} ({name.type})" for part in found.parts for name in part.names if name.type]
    verbs = [clause.verb for part in found.parts for clause in part.clauses]
    return f"no pattern fits (verbs: {', '.join(verbs) or 'none'}; names: {', '.join(names) or 'none'})"
