"""Ways of saying a predicate, as they stand in patterns.toml or in a person's own file, and what is wrong with them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any

from memstream.extractors.rules.conditions import CONDITIONS
from memstream.schemas.catalogue import Catalogue
from memstream.schemas.predicate_file import PredicateFile, Problem, did_you_mean, parse, wrong_types

SHIPPED = "patterns.toml"
ENGLISH = "en"
SLOTS = ("subj", "obj", "attr")
VALUES = ("date", "version", "money", "language")
_KEYS = {
    "pattern": ("predicate", "verbs", "subject", "object", "with", "negated", "future", "examples"),
    "surface": ("predicate", "between", "left", "right", "flip", "team", "language", "examples"),
}
_NEEDED = {
    "pattern": ("predicate", "verbs", "subject", "object"),
    "surface": ("predicate", "between", "left", "right"),
}
# a repeat of a repeat: some texts would take a regular expression for ever
_RUNAWAY = re.compile(r"\((?:[^()\\]|\\.)*(?:[*+]|\{\d*,\d*\})(?:[^()\\]|\\.)*\)(?:[*+]|\{\d*,\})")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way of saying a predicate with a verb. See patterns.toml for the fields; `where` is its file and line.

    `own`: it is of a person's own file.
    """

    predicate: str
    verbs: tuple[str, ...]
    subject: str
    object: str
    conditions: tuple[str, ...]
    subject_types: tuple[str, ...]
    object_types: tuple[str, ...]
    negated: bool
    future: bool
    examples: tuple[str, ...] = ()
    where: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Surface:
    """One way of saying a predicate by what stands between two names. `flip`: the right name is the subject."""

    predicate: str
    between: re.Pattern[str]
    left: frozenset[str]
    right: frozenset[str]
    flip: bool
    team: bool = False
    language: str = ENGLISH
    examples: tuple[str, ...] = ()
    where: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Ways:
    """The patterns of one file, and all that is wrong with it."""

    patterns: tuple[Pattern, ...]
    surfaces: tuple[Surface, ...]
    problems: tuple[Problem, ...]


@functools.cache
def shipped_ways_file() -> PredicateFile:
    """The file that ships with Memstream."""
    return parse(SHIPPED, (resources.files("memstream.extractors.rules") / SHIPPED).read_text(encoding="utf-8"))


def read_ways(file: PredicateFile, known: Catalogue) -> Ways:
    """The patterns of a file for the predicates of a catalogue."""
    problems: list[Problem] = []
    patterns, surfaces = [], []
    for table in ("pattern", "surface"):
        if not isinstance(file.tables.get(table, []), list):
            problems.append(Problem(file.name, file.line_of(table), table, f"write it as [[{table}]]"))
        for number, row in enumerate(file.rows(table)):
            wrong = [*_wrong_row(table, row, known), *(_WRONG[table](row))]
            problems += [file.problem(table, what, number=number, key=key) for key, what in wrong]
            if not wrong:
                where = f"{file.name}:{file.line_of(table, number)}"
                if table == "pattern":
                    patterns.append(_pattern(row, known, where))
                else:
                    surfaces.append(_surface(row, where))
    return Ways(tuple(patterns), tuple(surfaces), tuple(problems))


def _wrong_row(table: str, row: dict[str, Any], known: Catalogue) -> list[tuple[str, str]]:
    """What is wrong with a pattern of either kind, with the key that it stands at."""
    keys = _KEYS[table]
    out = [(key, f"unknown key {key!r}: {did_you_mean(key, keys)}") for key in row if key not in keys]
    out += [("", f"{key!r} is missing") for key in _NEEDED[table] if key not in row]
    predicate = row.get("predicate", "")
    if "predicate" in row and predicate not in known.predicates:
        meant = did_you_mean(str(predicate), known.predicates)
        out.append(("predicate", f"{predicate!r} is not in the catalogue: {meant}"))
    if not _sentences(row.get("examples", [])):
        out.append(("examples", "give sentences that say it this way"))
    flags = ("negated", "future", "flip", "team")
    out += [(key, f"{key} is true or false") for key in flags if key in row and type(row[key]) is not bool]
    return out


def _wrong_pattern(row: dict[str, Any]) -> list[tuple[str, str]]:
    out = []
    verbs = row.get("verbs", ["-"])
    if not _texts(verbs) or not verbs:
        out.append(("verbs", 'give lemmas in small letters: ["ride", "cycle"], with a particle "hang out"'))
    for side in ("subject", "object"):
        what = _wrong_slot(side, row.get(side, "subj"))
        out += [(side, what)] if what else []
    conditions = row.get("with", [])
    if not isinstance(conditions, list) or not all(isinstance(c, str) for c in conditions):
        return [*out, ("with", "give a list of conditions")]
    for condition in conditions:
        out += [("with", what) for what in _wrong_condition(condition)]
    return out


def _wrong_condition(condition: str) -> list[str]:
    side, _, names = condition.partition(":")
    if names:
        if side not in ("subj", "obj"):
            return [f"{condition!r}: write subj:TYPE|TYPE or obj:TYPE|TYPE"]
        return [f"{condition!r}: {what}" for what in wrong_types(names.split("|"))]
    if condition not in CONDITIONS:
        return [f"unknown condition {condition!r}: {did_you_mean(condition, CONDITIONS)}"]
    return []


def _wrong_slot(side: str, slot: Any) -> str:
    allowed = (*SLOTS, *(VALUES if side == "object" else ()))
    if isinstance(slot, str) and (slot in allowed or re.fullmatch(r"prep:[a-z]+(?:[ |][a-z]+)*", slot)):
        return ""
    return f"{slot!r} is no place in a clause: write one of {', '.join(allowed)}, or prep:in|at"


def _wrong_surface(row: dict[str, Any]) -> list[tuple[str, str]]:
    out = []
    between = row.get("between", "-")
    if not isinstance(between, str):
        return [("between", "give a regular expression")]
    try:
        re.compile(between)
    except re.error as error:
        out.append(("between", f"this is no regular expression: {error}"))
    if _RUNAWAY.search(between):
        out.append(("between", "a repeat inside a repeat may take for ever: repeat only one of the two"))
    if re.search(r"(?<!\\)[A-Z]", between):
        out.append(("between", "the text is lower-cased before it is compared: a capital never matches"))
    for side in ("left", "right"):
        out += [(side, what) for what in wrong_types(row.get(side, ["Object"]))]
        if row.get(side) == []:
            out.append((side, "name the types that may stand there"))
    if not isinstance(row.get("language", ""), str) or not re.fullmatch("[a-z]{2,3}", row.get("language", ENGLISH)):
        out.append(("language", "write a language's code, such as 'de'"))
    return out


_WRONG = {"pattern": _wrong_pattern, "surface": _wrong_surface}


def _sentences(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and v.strip() for v in value)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and v.strip() and v == v.lower() for v in value)


def _pattern(row: dict[str, Any], known: Catalogue, where: str) -> Pattern:
    predicate = known.predicates[row["predicate"]]
    types = {"subj": predicate.subject, "obj": predicate.object}
    plain = []
    for condition in row.get("with", ()):
        side, _, names = condition.partition(":")
        if names:
            types[side] = tuple(names.split("|"))
        else:
            plain.append(condition)
    return Pattern(
        predicate.name, tuple(row["verbs"]), row["subject"], row["object"], tuple(plain), types["subj"], types["obj"],
        negated=row.get("negated", False), future=row.get("future", False), examples=tuple(row.get("examples", ())),
        where=where,
    )  # fmt: skip


def _surface(row: dict[str, Any], where: str) -> Surface:
    return Surface(
        row["predicate"], re.compile(row["between"]), frozenset(row["left"]), frozenset(row["right"]),
        flip=row.get("flip", False), team=row.get("team", False), language=row.get("language", ENGLISH),
        examples=tuple(row.get("examples", ())), where=where,
    )  # fmt: skip


def by_verb(patterns: Iterable[Pattern]) -> dict[str, tuple[Pattern, ...]]:
    """The patterns by verb, particle included, in their order."""
    out: dict[str, list[Pattern]] = {}
    for pattern in patterns:
        for verb in pattern.verbs:
            out.setdefault(verb, []).append(pattern)
    return {verb: tuple(found) for verb, found in out.items()}
