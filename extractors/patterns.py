"""The verb patterns of patterns.toml, and how a clause is matched against them.

Patterns are indexed by verb, so that a clause is only tried against those of its own verb: the cost of a message grows
with its clauses and not with the catalogue.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

from memstream.extractors.frames import IMPLIED, Frame
from memstream.extractors.identifiers import identify
from memstream.extractors.reading import Reading, Ref
from memstream.extractors.values import first_money, first_version, language
from memstream.schemas.catalogue import catalogue
from memstream.schemas.errors import SettingsError

TEAM_NOUNS = frozenset(
    [
        "team",
        "squad",
        "guild",
        "crew",
        "department",
        "dept",
        "group",
        "club",
        "society",
        "board",
        "committee",
        "union",
        "band",
        "choir",
        "orchestra",
        "council",
        "association",
        "chapter",
        "tribe",
        "league",
        "collective",
        "desk",
        "eight",
        "seals",
        "rowers",
        "watch",
        "brigade",
        "troupe",
        "quartet",
        "ensemble",
    ]
)
_ENVIRONMENT = re.compile(
    r"\b(?:prod(?:uction)?|staging|stage|dev|development|qa|uat|preprod|pre-prod|preview|canary|sandbox|test|edge|site"
    r"|building|region|cluster|hall|plant|depot|warehouse|office|dc\d*)\b", re.I,
)  # fmt: skip
_OWNABLE = frozenset(
    [
        "service",
        "project",
        "repo",
        "repository",
        "app",
        "application",
        "system",
        "platform",
        "pipeline",
        "website",
        "site",
        "portal",
        "shop",
        "store",
        "studio",
        "business",
        "company",
        "brand",
        "building",
        "mill",
        "house",
        "hall",
        "farm",
        "restaurant",
        "café",
        "cafe",
        "bakery",
        "salon",
        "bar",
        "hotel",
        "startup",
        "bot",
        "database",
        "cluster",
        "domain",
        "api",
        "library",
        "product",
        "brewery",
        "vineyard",
        "pub",
        "theatre",
        "cinema",
        "mine",
        "ship",
        "ferry",
    ]
)
_WORKS = frozenset(
    [
        "book",
        "novel",
        "tool",
        "song",
        "album",
        "script",
        "library",
        "app",
        "poem",
        "story",
        "paper",
        "thesis",
        "report",
        "game",
        "website",
        "program",
        "plugin",
        "parser",
        "bot",
        "service",
        "song",
        "cookbook",
        "guide",
        "manual",
        "quilt",
        "mural",
        "sculpture",
        "opera",
        "symphony",
        "musical",
        "film",
        "documentary",
        "play",
        "memoir",
        "essay",
        "blog",
        "pamphlet",
        "table",
        "chair",
        "boat",
        "bench",
        "shed",
        "font",
        "map",
        "machine",
        "compiler",
        "language",
        "database",
        "framework",
    ]
)
_INCIDENT = frozenset(
    [
        "outage",
        "failure",
        "error",
        "crash",
        "leak",
        "incident",
        "problem",
        "issue",
        "bug",
        "delay",
        "fire",
        "flood",
        "breach",
        "slowdown",
        "jam",
        "alarm",
        "downtime",
        "spike",
        "timeout",
        "hiccup",
        "glitch",
        "fault",
        "blackout",
        "regression",
        "noise",
        "smell",
    ]
)
_CLOSING = frozenset(
    [
        "application",
        "registration",
        "cert",
        "certificate",
        "licence",
        "license",
        "contract",
        "offer",
        "lease",
        "call",
        "window",
        "booking",
        "warranty",
        "subscription",
        "grant",
        "tender",
        "passport",
        "visa",
        "permit",
        "policy",
        "signup",
        "sign-up",
        "enrolment",
        "enrollment",
    ]
)


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
            if all(CONDITIONS[c](reading, frame, s, o) for c in pattern.conditions):
                dated = pattern.object != "date"
                reading.say(s, pattern.predicate, o, frame, at=frame.head, rule=f"verb:{frame.lemma}", ended=pattern.negated, dated=dated)  # fmt: skip


def _sure(frame: Frame) -> Frame:
    return Frame(
        frame.head, frame.lemma, frame.subj, frame.obj, frame.attr, frame.preps, frame.particle, frame.passive, frame.negated,
        frame.no_longer, frame.used_to, True, frame.past, "", frame.told_by, frame.tokens,
    )  # fmt: skip


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


def is_team(name: str) -> bool:
    """Whether a name ends like a team, club or board: one is a member of it, not employed by it."""
    return name.lower().split()[-1] in TEAM_NOUNS


def _team(reading: Reading, _s: Ref, o: Ref) -> bool:
    if o.known is None:
        return False
    known = (
        {f[2] for f in reading.session.facts if f[0] == _s.known.name and f[3] == o.known.name} if _s.known else set()
    )
    if known & {"works_at", "member_of"}:
        return "member_of" in known
    before = reading.tree.lower[o.start - 1] if o.end and o.start else ""
    return is_team(o.known.name) or before == "the" or reading.tree.lower[o.start] == "the"


def _ownable(ref: Ref) -> bool:
    if ref.known is None:
        return False
    last = ref.known.name.lower().split()[-1]
    if ref.type == "Organization" or last in _OWNABLE or identify(ref.known.name) is not None:
        return True
    return ref.type == "Object" and not ref.fresh and len(ref.known.name.split()) > 1 and ref.known.name[:1].isupper()


def _incident(ref: Ref) -> bool:
    return ref.known is not None and (ref.type == "Event" or ref.known.name.lower().split()[-1] in _INCIDENT)


def _technical(ref: Ref) -> bool:
    return ref.known is not None and ref.type == "Object"


def _progressive(reading: Reading, frame: Frame) -> bool:
    tree = reading.tree
    kids = tree.kids[frame.head]
    if tree.tag[frame.head] == "VBG":
        return any(tree.dep[k] == "aux" and tree.lemma[k] == "be" for k in kids) or any(
            tree.lower[k] == "still" for k in kids
        )
    return any(tree.dep[k] == "auxpass" and tree.lower[k] == "being" for k in kids)


def _solid(reading: Reading, o: Ref) -> bool:
    if o.known is not None:
        return True
    return (bool(o.value) and o.value.lower().split()[-1] in _WORKS) or any(
        w in _WORKS for w in o.value.lower().split()[:3]
    )


def _done(_reading: Reading, frame: Frame, _s: Ref, _o: Ref) -> bool:
    return frame.past and not frame.future


Condition = Callable[[Reading, Frame, Ref, Ref], bool]
CONDITIONS: dict[str, Condition] = {
    "active": lambda r, f, s, o: not f.passive,
    "passive": lambda r, f, s, o: f.passive,
    "done": _done,
    "progressive": lambda r, f, s, o: _progressive(r, f),
    "dated": lambda r, f, s, o: r.dates(f, f.head)[0] is not None,
    "company": lambda r, f, s, o: not _team(r, s, o),
    "team": lambda r, f, s, o: _team(r, s, o),
    "ownable": lambda r, f, s, o: _ownable(s),
    "possession": lambda r, f, s, o: not _ownable(o),
    "solid": lambda r, f, s, o: _solid(r, o),
    "host": lambda r, f, s, o: o.known is not None or identify(o.value) is not None,
    "environment": lambda r, f, s, o: (
        bool(_ENVIRONMENT.search(o.known.name if o.known else o.value)) or o.type == "Location"
    ),
    "technical": lambda r, f, s, o: _technical(s),
    "tool": lambda r, f, s, o: o.known is not None and not o.fresh,
    "incident": lambda r, f, s, o: _incident(s),
    "ongoing": lambda r, f, s, o: not f.past and bool(f.subj or f.passive) and IMPLIED not in f.subj,
    "must": lambda r, f, s, o: True,
    "closing": lambda r, f, s, o: s.known is not None and s.known.name.lower().split()[-1] in _CLOSING,
    "coming": lambda r, f, s, o: o.value[:10] >= r.turn.time.date().isoformat()[: len(o.value[:10])],
    "place": lambda r, f, s, o: s.type != "Person",
}
