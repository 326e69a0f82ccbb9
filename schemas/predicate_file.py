"""A TOML file of predicates as it was written: its tables with their lines, and what is wrong with them.

The same form serves the file that ships with Memstream and one of a person's own. Patterns may stand in it too; they
are the extractors' matter, and only passed over here.
"""

from __future__ import annotations

import difflib
import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memstream.schemas.extraction import EntityType

MAX_VERSION = 99
TYPES = tuple(sorted(kind.value for kind in EntityType))
_NAME = re.compile(r"[a-z][a-z0-9_]{1,47}")
_KEYS = ("meaning", "cardinality", "subject", "object", "value", "inverse", "symmetric", "examples", "against")
_TABLES = ("version", "predicate", "pattern", "surface")
# edges of the graph that are no facts: a predicate must not be called like them
_TAKEN = (
    "about", "object", "subject", "mentions", "sourced_from", "supersedes", "held_by", "same_as", "related",
    "has_message", "first_message", "next_message", "reply_to", "initiated_by", "has_trace", "has_step",
    "has_tool_call", "instance_of", "called_by", "by_agent", "touched", "served", "rates", "tagged", "has_document",
    "has_passage", "has_checkpoint", "preference",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong in a file, or only worth a look (`note`). `line` is 0 where no single line is meant."""

    file: str
    line: int
    where: str
    what: str
    note: bool = False

    def __str__(self) -> str:
        """As a person reads it: file, line, table, and what is wrong."""
        at = f", line {self.line}" if self.line else ""
        return f"{self.file}{at}: {self.where + ': ' if self.where else ''}{self.what}"


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence that says the predicate. Not `expected`: that it is not read (yet) is known."""

    text: str
    expected: bool = True


@dataclass(frozen=True, slots=True)
class Predicate:
    """One relation of the catalogue. `subject` and `object` are names of entity types; `own`: it did not ship.

    `against` are sentences that must not be taken for it.
    """

    name: str
    meaning: str
    single: bool
    subject: tuple[str, ...]
    object: tuple[str, ...]
    value: bool = False
    inverse: str | None = None
    symmetric: bool = False
    examples: tuple[Example, ...] = ()
    against: tuple[str, ...] = ()
    own: bool = False


@dataclass(frozen=True, slots=True)
class PredicateFile:
    """A file's text and tables. `problems` has what kept it from being read as TOML at all."""

    name: str
    text: str
    tables: Mapping[str, Any]
    problems: tuple[Problem, ...] = field(default=())

    def line_of(self, table: str, number: int = 0, key: str = "") -> int:
        """The line of a table (the `number`-th of an array of tables), or of a key in it."""
        header = re.compile(rf"\s*(?:\[+\s*{re.escape(table)}\s*[\].]|{re.escape(table)}\s*=)")
        lines = self.text.splitlines()
        starts = [at for at, line in enumerate(lines) if header.match(line)]
        if number >= len(starts):
            return 0
        start = starts[number]
        wanted = re.compile(rf"\s*{re.escape(key)}\s*=")
        for at in range(start + 1, len(lines) if key else start):
            if lines[at].lstrip().startswith("["):
                break
            if wanted.match(lines[at]):
                return at + 1
        return start + 1

    def problem(self, table: str, what: str, *, number: int = 0, key: str = "", note: bool = False) -> Problem:
        """A problem with its place."""
        where = table if "." in table else f"{table} {number + 1}"
        return Problem(self.name, self.line_of(table, number, key), where.replace(".", " "), what, note)

    @property
    def version(self) -> int:
        """The file's own version, 0 where it has none."""
        version = self.tables.get("version", 0)
        return version if isinstance(version, int) else 0

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The tables of an array of tables; nothing where it is none."""
        rows = self.tables.get(table, [])
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def parse(name: str, text: str) -> PredicateFile:
    """The tables of a text; where it is no TOML, none, and the problem with its line."""
    try:
        return PredicateFile(name, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        what = f"this is no TOML: {error}"
        return PredicateFile(name, text, {}, (Problem(name, int(at[1]) if at else 0, "", what),))


@functools.cache
def read(path: str) -> PredicateFile:
    """The tables of a file, read once per process. One that can't be read has that as its problem."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        return PredicateFile(path, "", {}, (Problem(path, 0, "", f"the file can't be read: {why}"),))
    return parse(path, text)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest known word as a question, or all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}"


def read_predicates(file: PredicateFile, shipped: Mapping[str, Predicate]) -> tuple[list[Predicate], list[Problem]]:
    """The predicates of a file, and all that is wrong with them. `shipped` is what it comes beside, if anything."""
    problems = list(file.problems)
    problems += [
        Problem(file.name, file.line_of(table), "", f"unknown table or key {table!r}: {did_you_mean(table, _TABLES)}")
        for table in file.tables
        if table not in _TABLES
    ]
    version = file.tables.get("version")
    if not file.problems and not (type(version) is int and 1 <= version <= MAX_VERSION):
        what = f"write `version = 1` above all tables, and a higher one (up to {MAX_VERSION}) with every change"
        problems.append(Problem(file.name, 1, "", what))
    raw = file.tables.get("predicate", {})
    if not isinstance(raw, dict):
        problems.append(Problem(file.name, 0, "predicate", "write each predicate as a table [predicate.its_name]"))
        raw = {}
    found = []
    for name, row in raw.items():
        wrong = _wrong(name, row, shipped)
        problems += [file.problem(f"predicate.{name}", what, key=key) for key, what in wrong]
        if not wrong:
            found.append(_predicate(name, row, own=bool(shipped)))
    problems += [
        file.problem(f"predicate.{name}", what, key="inverse") for name, what in _inverses(found, shipped).items()
    ]
    return found, problems


def _predicate(name: str, row: dict[str, Any], *, own: bool) -> Predicate:
    examples = [Example(e) if isinstance(e, str) else Example(e["text"], e["expected"]) for e in row["examples"]]
    return Predicate(
        name=name, meaning=row["meaning"], single=row["cardinality"] == "single", subject=tuple(row["subject"]),
        object=tuple(row["object"]), value=row.get("value", False), inverse=row.get("inverse"),
        symmetric=row.get("symmetric", False), examples=tuple(examples), against=tuple(row.get("against", ())), own=own,
    )  # fmt: skip


def _wrong(name: str, row: Any, shipped: Mapping[str, Predicate]) -> list[tuple[str, str]]:
    """Each thing that is wrong with a predicate's table, with the key that it stands at."""
    if not isinstance(row, dict):
        return [("", "write it as a table [predicate.its_name]")]
    out = []
    if not _NAME.fullmatch(name):
        out.append(("", "a name has 2 to 48 of a-z, 0-9 and _, and starts with a letter"))
    if name in shipped:
        out.append(("", "it ships with Memstream; take another name, or only add patterns to it"))
    elif name in _TAKEN:
        out.append(("", "the graph has edges of that name; take another one"))
    out += [(key, f"unknown key {key!r}: {did_you_mean(key, _KEYS)}") for key in row if key not in _KEYS]
    out += [
        ("", f"{key!r} is missing" + (" (it may be [])" if key == "object" else ""))
        for key in ("meaning", "cardinality", "subject", "object", "examples")
        if key not in row
    ]
    return [*out, *_wrong_values(row)]


def _wrong_values(row: dict[str, Any]) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    if not isinstance(row.get("meaning", "-"), str) or not row.get("meaning", "-").strip():
        out.append(("meaning", "say in words what it means"))
    if row.get("cardinality", "single") not in ("single", "multi"):
        what = f"cardinality {row['cardinality']!r}: write 'single' (a new value ends the one before) or 'multi'"
        out.append(("cardinality", what))
    for side in ("subject", "object"):
        out += [(side, what) for what in wrong_types(row.get(side, []))]
    out += [(key, f"{key} is true or false") for key in ("value", "symmetric") if type(row.get(key, True)) is not bool]
    if row.get("subject") == []:
        out.append(("subject", f"name what can have it: {', '.join(TYPES)}"))
    if row.get("object") == [] and not row.get("value"):
        out.append(("object", "nothing can be its value: name types, or write `value = true` for literals"))
    if not isinstance(row.get("inverse", ""), str) or not _NAME.fullmatch(row.get("inverse", "ok")):
        out.append(("inverse", "a name has 2 to 48 of a-z, 0-9 and _, and starts with a letter"))
    if row.get("symmetric") is True:
        if "inverse" in row:
            out.append(("inverse", "a symmetric predicate is its own inverse: leave one of the two out"))
        if row.get("subject") != row.get("object"):
            out.append(("symmetric", "subject and object of a symmetric predicate have the same types"))
    return [*out, *_wrong_examples(row)]


def wrong_types(types: Any) -> list[str]:
    """What is wrong with a list of entity types."""
    if not isinstance(types, list):
        return [f"write a list of types: {', '.join(TYPES)}"]
    return [f"unknown type {kind!r}: {did_you_mean(str(kind), TYPES)}" for kind in types if kind not in TYPES]


def _wrong_examples(row: dict[str, Any]) -> list[tuple[str, str]]:
    examples, against = row.get("examples", ["-"]), row.get("against", [])
    out = []
    if not isinstance(examples, list) or not examples or not all(_is_example(e) for e in examples):
        out.append(("examples", 'give sentences that say it: texts, or { text = "…", expected = false }'))
    if not isinstance(against, list) or not all(isinstance(text, str) and text.strip() for text in against):
        out.append(("against", "give sentences that must not be taken for it"))
    return out


def _is_example(one: Any) -> bool:
    if isinstance(one, dict):
        return set(one) == {"text", "expected"} and _is_example(one["text"]) and type(one["expected"]) is bool
    return isinstance(one, str) and bool(one.strip())


def _inverses(found: list[Predicate], shipped: Mapping[str, Predicate]) -> dict[str, str]:
    """Inverses that two predicates claim, or that do not name their predicate back."""
    both = {**shipped, **{each.name: each for each in found}}
    out: dict[str, str] = {}
    for each in found:
        name = each.inverse
        if name is None:
            continue
        if name == each.name:
            out[each.name] = "it is its own inverse: write `symmetric = true` instead"
        elif name in both and both[name].inverse != each.name:
            out[each.name] = f"its inverse {name!r} is a predicate too, and does not say `inverse = {each.name!r}`"
        else:
            others = [one.name for one in both.values() if one.inverse == name and one.name != each.name]
            if others:
                out[each.name] = f"{name!r} is the inverse of {others[0]!r} already"
    return out
