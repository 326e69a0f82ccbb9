"""The conditions that a verb pattern may set beside its slots (`with` in patterns.toml)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.parse.frames import IMPLIED, Frame
from memstream.extractors.text.identifiers import identify
from memstream.extractors.text.lexicon import words

TEAM_NOUNS = words(
    """
    team squad guild crew department dept group club society board committee union band choir orchestra council
    association chapter tribe league collective desk eight seals rowers watch brigade troupe quartet ensemble
    """
)


_ENVIRONMENT = re.compile(
    r"\b(?:prod(?:uction)?|staging|stage|dev|development|qa|uat|preprod|pre-prod|preview|canary|sandbox|test|edge|site"
    r"|building|region|cluster|hall|plant|depot|warehouse|office|dc\d*)\b", re.I,
)  # fmt: skip


_OWNABLE = words(
    """
    service project repo repository app application system platform pipeline website site portal shop store studio
    business company brand building mill house hall farm restaurant café cafe bakery salon bar hotel startup bot
    database cluster domain api library product brewery vineyard pub theatre cinema mine ship ferry
    """
)


_WORKS = words(
    """
    book novel tool song album script library app poem story paper thesis report game website program plugin parser
    bot service song cookbook guide manual quilt mural sculpture opera symphony musical film documentary play memoir
    essay blog pamphlet table chair boat bench shed font map machine compiler language database framework
    """
)


INCIDENT = words(
    """
    outage failure error crash leak incident problem issue bug delay fire flood breach slowdown jam alarm downtime
    spike timeout hiccup glitch fault blackout regression noise smell
    """
)


_CLOSING = words(
    """
    application registration cert certificate licence license contract offer lease call window booking warranty
    subscription grant tender passport visa permit policy signup sign-up enrolment enrollment
    """
)


@dataclass(frozen=True, slots=True)
class Case:
    """A clause with the subject and object that a pattern found in it."""

    reading: Reading
    frame: Frame
    subject: Ref
    object: Ref


def is_team(name: str) -> bool:
    """Whether a name ends like a team, club or board: one is a member of it, not employed by it."""
    return name.lower().split()[-1] in TEAM_NOUNS


def _last_word(ref: Ref) -> str:
    return ref.known.name.lower().split()[-1] if ref.known else ""


def _team(c: Case) -> bool:
    """A team by what the session said before, by its name, or by its article."""
    if c.object.known is None or c.subject.known is None:
        return False
    said = {f[2] for f in c.reading.session.facts if f[0] == c.subject.known.name and f[3] == c.object.known.name}
    if said & {"works_at", "member_of"}:
        return "member_of" in said
    lower, start = c.reading.tree.lower, c.object.start
    before = lower[start - 1] if c.object.end and start else ""
    return is_team(c.object.known.name) or "the" in (before, lower[start])


def _ownable(ref: Ref) -> bool:
    """Organizations, services and structures have an owner; other things are possessions."""
    if ref.known is None:
        return False
    if ref.type == "Organization" or _last_word(ref) in _OWNABLE or identify(ref.known.name) is not None:
        return True
    return ref.type == "Object" and not ref.fresh and len(ref.known.name.split()) > 1 and ref.known.name[:1].isupper()


def _progressive(c: Case) -> bool:
    tree, head = c.reading.tree, c.frame.head
    kids = tree.kids[head]
    if tree.tag[head] == "VBG":
        return any((tree.dep[k] == "aux" and tree.lemma[k] == "be") or tree.lower[k] == "still" for k in kids)
    return any(tree.dep[k] == "auxpass" and tree.lower[k] == "being" for k in kids)


def _solid(c: Case) -> bool:
    """Something that is made: a thing with a name, or a noun of works."""
    if c.object.known is not None:
        return True
    value = c.object.value.lower().split()
    return bool(value) and (value[-1] in _WORKS or any(w in _WORKS for w in value[:3]))


def _coming(c: Case) -> bool:
    value = c.object.value[:10]
    return value >= c.reading.turn.time.date().isoformat()[: len(value)]


def _environment(c: Case) -> bool:
    name = c.object.known.name if c.object.known else c.object.value
    return c.object.type == "Location" or bool(_ENVIRONMENT.search(name))


def _ongoing(c: Case) -> bool:
    return not c.frame.past and bool(c.frame.subj or c.frame.passive) and IMPLIED not in c.frame.subj


CONDITIONS: dict[str, Callable[[Case], bool]] = {
    "active": lambda c: not c.frame.passive,
    "passive": lambda c: c.frame.passive,
    "done": lambda c: c.frame.past and not c.frame.future,
    "progressive": _progressive,
    "ongoing": _ongoing,
    "dated": lambda c: c.reading.dates(c.frame, c.frame.head)[0] is not None,
    "company": lambda c: not _team(c),
    "team": _team,
    "ownable": lambda c: _ownable(c.subject),
    "possession": lambda c: not _ownable(c.object),
    "solid": _solid,
    "host": lambda c: c.object.known is not None or identify(c.object.value) is not None,
    "environment": _environment,
    "technical": lambda c: c.subject.type == "Object",
    "tool": lambda c: c.object.known is not None and not c.object.fresh,
    "incident": lambda c: c.subject.type == "Event" or _last_word(c.subject) in INCIDENT,
    "closing": lambda c: _last_word(c.subject) in _CLOSING,
    "coming": _coming,
    "place": lambda c: c.subject.type != "Person",
    "must": lambda _: True,  # lets "must" and "has to" pass: see patterns.py
}
