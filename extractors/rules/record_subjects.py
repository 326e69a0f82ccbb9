"""Who or what a record is about: the field that says so, or what holds the record ("incident": {...})."""

from __future__ import annotations

import functools
import re
import tomllib
from importlib import resources
from typing import Any

from memstream.extractors.text.identifiers import COMMIT, TICKET, identify
from memstream.extractors.text.lexicon import words
from memstream.schemas.extraction import EntityName, EntityType

MAX_VALUE = 120
_P, _O, _E, _X = EntityType.PERSON, EntityType.ORGANIZATION, EntityType.EVENT, EntityType.OBJECT
_PERSONAL = words(
    "dob date_of_birth title rank role position manager line_manager languages employer email dept department"
)
_EVENTLIKE = frozenset(["start", "starts", "starts_at", "when", "venue", "date", "begins"])
_EMPTY = frozenset({"", "null", "none", "n/a", "-", "unknown", "???", "?", "tbd", "false", "true"})
_TASKLIKE = words("assignee blocked_by blocks due due_date deadline reporter priority summary epic sprint")
_INCIDENTLIKE = words("root_cause cause fixed_by resolution resolved_by severity sev started_at resolved_at impact")
# what holds a record, in the singular
_HOLDERS = {
    "incident": _E, "outage": _E, "ticket": _X, "issue": _X, "commit": _X, "service": _X, "host": _X, "node": _X,
    "server": _X, "deployment": _X, "pull_request": _X, "pr": _X, "repo": _X, "repository": _X,
}  # fmt: skip
_IDS = ("key", "id", "number", "sha", "hash", "name", "title")
_NUMBERED = {"pull_request": "PR", "pr": "PR"}


@functools.cache
def _subjects() -> dict[str, EntityType]:
    raw = tomllib.loads((resources.files("memstream.extractors.rules") / "records.toml").read_text(encoding="utf-8"))
    return {key: EntityType(kind) for key, kind in raw["subjects"].items()}


def subject_of(record: dict[str, Any], path: str = "$") -> tuple[EntityName, str] | None:  # noqa: PLR0911 (one decision after the other)
    """Who or what a record at `path` is about, and the field that says so."""
    if "error" in record:
        return None
    if "type" in record and _EVENTLIKE & set(record) and "start" in record and text_of(record["type"]):
        return EntityName(_E, text_of(record["type"])), "type"
    noted = _noted(record)
    if noted is not None:
        return noted
    for key, kind in _subjects().items():
        if key in record and text_of(record[key]) and not (key == "host" and "service" in record):
            return EntityName(kind, text_of(record[key]).split(" (")[0]), key
    held = _held(record, path)
    if held is not None:
        return held
    name = text_of(record.get("name"))
    if name:
        keys = set(record)
        if keys & {"founder", "parent_company", "hq"}:
            return EntityName(_O, name), "name"
        if keys & _PERSONAL and " " in name:
            return EntityName(_P, name), "name"
        if identify(name) or keys & {"version", "release", "requires", "platform"}:
            return EntityName(_X, name), "name"
    if text_of(record.get("number")) and "title" in record and ("author" in record or "merged_at" in record):
        return EntityName(_X, f"PR {text_of(record['number'])}"), "number"
    if (
        text_of(record.get("title"))
        and set(record) & {"maker", "location", "author"}
        and not set(record) & {"email", "dob"}
    ):
        return EntityName(_X, text_of(record["title"])), "title"
    return None


def is_incidental(subject: EntityName) -> bool:
    """Whether a record's subject can have a cause and a remedy: an event or a ticket."""
    return subject.type is _E or TICKET.fullmatch(subject.name) is not None


def _noted(record: dict[str, Any]) -> tuple[EntityName, str] | None:
    """A ticket or an incident with fields that only these have is about itself, and not about its component."""
    for key, kind, own in (("ticket", _X, _TASKLIKE), ("issue", _X, _TASKLIKE), ("incident", _E, _INCIDENTLIKE)):
        name = text_of(record.get(key))
        if name and own & set(record):
            return EntityName(kind, name), key
    for key in ("commit", "sha", "hash"):
        name = text_of(record.get(key))
        if COMMIT.fullmatch(name) and {"author", "message"} & set(record):
            return EntityName(_X, name), key
    return None


def _held(record: dict[str, Any], path: str) -> tuple[EntityName, str] | None:
    """As in "incident": {"id": "INC-204", "title": ...}, or in a list "services": [{"name": ...}]."""
    holder = re.sub(r"\[\d+\]$", "", path).rpartition(".")[2].lower().replace("-", "_")
    singular = holder if holder in _HOLDERS else holder.removesuffix("s")
    kind = _HOLDERS.get(singular)
    if kind is None:
        return None
    for key in _IDS:
        name = text_of(record.get(key))
        if not name or (name.isdigit() and singular not in _NUMBERED):
            continue
        if name.isdigit():
            name = f"{_NUMBERED[singular]} {name}"
        elif key in ("id", "key", "sha", "hash") and identify(name) is None:
            continue
        return EntityName(kind, name), key
    return None


def text_of(value: Any) -> str:
    """A field's value as a short text, "" where it says nothing."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = " ".join(str(value).split()).strip("'\"")
    return "" if text.lower() in _EMPTY or len(text) > MAX_VALUE else text
