"""What tools returned, read by structure: names with the path they stand at, records as facts, failures as symptoms.

Only what is certain: a record that says who or what it is about (`service`, `name`, `host` ...) and fields whose names
have one meaning. Measurements and everything else stay in the tool call itself.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

from memstream.extractors.rules.record_subjects import is_incidental, subject_of, text_of
from memstream.extractors.text.identifiers import identify
from memstream.extractors.text.values import EMAIL, number
from memstream.schemas.extraction import EntityName, EntityType, ExtractedAssertion

MAX_RECORDS = 200
MAX_DEPTH = 6

_P, _O, _E, _X = EntityType.PERSON, EntityType.ORGANIZATION, EntityType.EVENT, EntityType.OBJECT
_INCIDENTAL = frozenset({"caused_by", "fixed_by"})
_FULL_NAME = re.compile(r"[A-Z][^\W\d_]+(?: [A-Z][^\W\d_]+){1,2}")


@functools.cache
def record_table(name: str) -> dict[str, tuple[str, str, bool]]:
    """A table of records.toml: field or head to (predicate, type of the other side, whether that is the subject)."""
    raw = tomllib.loads((resources.files("memstream.extractors.rules") / "records.toml").read_text(encoding="utf-8"))
    return {key: (row[0], row[1], bool(row[2])) for key, row in raw[name].items()}


_PERSON_ONLY = frozenset({"has_role", "works_at", "born_on", "speaks"})
_SINCE = ("since", "employed_since", "deployed_at", "merged_at", "closed_at", "updated_since")
_LINE = re.compile(r"^\s*(?P<k>[A-Za-z][\w .-]{0,24}?)(?:\s*[:=]\s*|\s{2,}|\t)(?P<v>\S.*?)\s*$")


@dataclass(frozen=True, slots=True)
class PathMention:
    """A name inside a result and where: `$.items[2].owner`."""

    entity: EntityName
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """What records say, and the names in them."""

    assertions: tuple[ExtractedAssertion, ...]
    names: tuple[PathMention, ...]


def read_result(value: Any, *, rule: str = "record") -> RecordFacts:
    """Names and facts of a parsed JSON result. Pure: no clock, no network, bounded by MAX_RECORDS and MAX_DEPTH."""
    assertions: list[ExtractedAssertion] = []
    names: dict[tuple[EntityName, str], PathMention] = {}
    for path, record in _records(value):
        for a in _record_facts(path, record, rule):
            assertions.append(a)
        for mention in _record_names(path, record):
            names.setdefault((mention.entity, mention.path), mention)
    return RecordFacts(tuple(dict.fromkeys(assertions)), tuple(names.values()))


def text_records(text: str) -> list[dict[str, Any]]:
    """Records in a text: a Markdown table, `key: value` lines, columns, or `a | Key: b | ...`."""
    lines = [line for line in text[:8_000].splitlines() if line.strip()]
    table = _table(lines)
    if table:
        return table
    fields: dict[str, Any] = {}
    for line in lines:
        if line.lstrip().startswith("$"):
            continue
        if line.count(" | ") >= 2 and not fields:
            fields |= _piped(line)
            continue
        m = _LINE.match(line)
        if m is not None:
            fields.setdefault(_key(m["k"]), m["v"])
    return [fields] if len(fields) >= 2 else []


def symptom(text: str) -> str:
    """The signature of a failure: the same for the same error with other numbers, paths, ids and addresses."""
    return "err:" + hashlib.sha256(normalise_error(text).encode("utf-8", "replace")).hexdigest()


_STRIP = (
    (re.compile(r"\x1b\[[0-9;]*[A-Za-z]"), ""),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.I), "<id>"),
    (re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>)]+", re.I), "<url>"),
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), "<mail>"),
    (re.compile(r"(?:[A-Za-z]:)?(?:[\\/][\w.@ ~-]*\w)+[\\/]?"), "<path>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<addr>"),
    (re.compile(r"\b(?:0x)?(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b", re.I), "<id>"),
    (re.compile(r"\d+(?:[.,]\d+)*"), "<n>"),
)  # fmt: skip


def normalise_error(text: str) -> str:
    """An error without what differs from one occurrence to the next; its first 2,000 characters."""
    plain = text[:2_000]
    for pattern, replacement in _STRIP:
        plain = pattern.sub(replacement, plain)
    return " ".join(plain.lower().split())


def _records(value: Any, path: str = "$", depth: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the result with its path, outermost first, at most MAX_RECORDS."""
    stack = [(path, value, depth)]
    count = 0
    while stack and count < MAX_RECORDS:
        where, item, level = stack.pop(0)
        if isinstance(item, dict):
            count += 1
            yield where, {_key(str(k)): v for k, v in item.items()}
            if level < MAX_DEPTH:
                stack += [(f"{where}.{k}", v, level + 1) for k, v in item.items() if isinstance(v, dict | list)]
        elif isinstance(item, list) and level < MAX_DEPTH:
            stack += [
                (f"{where}[{i}]", v, level + 1) for i, v in enumerate(item[:MAX_RECORDS]) if isinstance(v, dict | list)
            ]


def _key(key: str) -> str:
    return re.sub(r"[\s.-]+", "_", key.strip().lower()).strip("_")


def _record_facts(path: str, record: dict[str, Any], rule: str) -> list[ExtractedAssertion]:
    found = subject_of(record, path)
    if found is None:
        return []
    subject, subject_key = found
    since = next((_date(record[k]) for k in _SINCE if _date(record.get(k))), None)
    out = []
    for key, value in record.items():
        field = record_table("fields").get(key)
        if field is None or key == subject_key or (key == "title" and subject_key == "number"):
            continue
        predicate, kind_name, inverse = field
        kind = EntityType(kind_name) if kind_name else None
        if (predicate in _PERSON_ONLY) != (subject.type is _P) and predicate in _PERSON_ONLY:
            continue
        if predicate in _INCIDENTAL and not is_incidental(subject):
            continue
        if (predicate in ("located_in", "deployed_to") and subject.type is _P) or (
            predicate == "scheduled_for" and subject.type is not _E
        ):
            continue
        for text in _texts(value, predicate):
            out += _assertions(subject, predicate, kind, inverse, text, since, rule)
    return out


def _assertions(  # noqa: PLR0917 (what is said, by place)
    subject: EntityName, predicate: str, kind: EntityType | None, inverse: bool, text: str, since: str | None, rule: str
) -> list[ExtractedAssertion]:
    """One field as facts; a maintainer "jo <jo@x.example>" gives their address too."""
    extra = []
    mail = EMAIL.search(text)
    if kind is _P and mail is not None:
        text = text[: mail.start()].strip(" <(") or mail[0]
        extra.append(ExtractedAssertion(EntityName(_P, text), "has_email", mail[0], rule=rule))
    if (
        predicate == "owned_by"
        and len(text.split()) > 1
        and not re.search(r"team|group|ltd|inc|gmbh|holding|squad|guild|city|of ", text, re.I)
    ):
        kind = _P if subject.type is _X else _O
    if predicate == "has_version":
        text = text.removeprefix("v")
    if (predicate == "born_on" and _date(text) is None) or (
        predicate == "costs" and not any(c.isdigit() for c in text)
    ):
        return extra
    if predicate in ("has_deadline", "scheduled_for"):
        text = _date(text.removeprefix("due ")) or ""
    if predicate in _INCIDENTAL:
        kind = _remedy_type(text) if kind is None else kind
    other: EntityName | str = text if kind is None else EntityName(kind, text)
    if not text or (kind is None and predicate == "has_status" and number(text) is not None):
        return extra
    dated = since if predicate in ("has_version", "deployed_to", "works_at", "has_status") else None
    if predicate == "deployed_to" and dated and predicate != "has_version":
        dated = None
    if inverse and isinstance(other, EntityName):
        made = ExtractedAssertion(other, predicate, subject, rule=rule)
    else:
        made = ExtractedAssertion(subject, predicate, other, valid_from=dated, rule=rule)
    return [made, *extra]


def _remedy_type(text: str) -> EntityType | None:
    """A cause or a remedy is a thing where its form says so ("PR #381", "relay-api"), a person by a full name."""
    found = identify(text)
    if found is not None:
        return EntityType(found.type)
    if re.fullmatch(r"(?:PR|MR|commit|pull request) #?[0-9a-f]{1,40}", text, re.I):
        return _X
    return _P if _FULL_NAME.fullmatch(text) else None


def _record_names(path: str, record: dict[str, Any]) -> Iterator[PathMention]:
    found = subject_of(record, path)
    if found is not None:
        yield PathMention(found[0], f"{path}.{found[1]}", found[0].name)
    for key, value in record.items():
        field = record_table("fields").get(key)
        if found is None or field is None or not field[1] or key == found[1]:
            continue
        for text in _texts(value, field[0]):
            plain = EMAIL.sub("", text).strip(" <>()") or text
            yield PathMention(EntityName(EntityType(field[1]), plain), f"{path}.{key}", text)


def _texts(value: Any, predicate: str) -> list[str]:
    """The values of a field: a list's items, a comma-separated text of a plural field, an object's keys."""
    if isinstance(value, dict):
        return [str(k) for k in value][:20] if predicate == "depends_on" else []
    if isinstance(value, list):
        return [t for v in value[:20] if (t := text_of(v))]
    text = text_of(value)
    if not text:
        return []
    if predicate in ("depends_on", "speaks", "works_on"):
        return [
            t
            for part in re.split(r"\s*[,;]\s*(?![^<]*>)", text.strip("[]{} "))
            if (t := text_of(re.sub(r":\s*'.*$", "", part).strip("'\" ")))
        ]
    return [text]


def _date(value: Any) -> str | None:
    m = re.match(r"(\d{4}-\d\d(?:-\d\d(?:T\d\d:\d\d)?)?)", value) if isinstance(value, str) else None
    return m[1] if m else None


def _table(lines: list[str]) -> list[dict[str, Any]]:
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if line.strip().startswith("|")
    ]
    rows = [row for row in rows if not all(set(cell) <= set("-: ") for cell in row)]
    if len(rows) < 2:
        return []
    return [dict(zip(map(_key, rows[0]), row, strict=False)) for row in rows[1 : MAX_RECORDS + 1]]


def _piped(line: str) -> dict[str, Any]:
    """As in "00817 | Zanele Khoza | Claims Adjuster | Dept: Motor | DOB: 1994-12-19": a person's line."""
    fields: dict[str, Any] = {}
    for cell in (c.strip() for c in line.split("|")):
        key, sep, value = cell.partition(":")
        if sep:
            fields[_key(key)] = value.strip()
        elif cell and not cell.isdigit() and "name" not in fields and re.fullmatch(r"[^\W\d]+(?: [^\W\d]+)+", cell):
            fields["name"] = cell
        elif cell and not cell[0].isdigit() and "name" in fields and "title" not in fields:
            fields["title"] = cell
    return fields
