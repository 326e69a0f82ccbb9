"""Names that their form alone tells, beside what the model says: legal forms, titles, initials, handles, particles.

What is certain by its form needs no model, and the model has seen too few of them: "Okafor, J." is one name, "@mara" a
person, "Skagen Data Ltd." a firm, "Jan van der Berg" one person. The candidates that the model sees stay as they are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from memstream.extractors.parse.candidates import Candidate
from memstream.extractors.parse.tree import Tree
from memstream.extractors.text.identifiers import COMMIT, ERROR, ERROR_PATH, FILE, PACKAGE, identify
from memstream.extractors.text.lexicon import lexicon, words
from memstream.extractors.text.names import PLAIN_TITLES, abbreviates, has_legal_form, titled
from memstream.extractors.text.respell import common_names

CERTAIN = 0.95
_HALF = 0.5
SURE_OTHER = 0.75  # how sure the model must be of another type to keep it
_CAP = r"[^\W\d_a-z][\w'’]+(?:-[^\W\d_][\w'’]+)*"
_PARTICLES = (
    r"(?:van(?: de[rn]?| 't)?|von(?: de[rnm])?|vom|zu[mr]?|bin|ibn|bint|ben|abu|dos|das|da|del|della|di"
    r"|de(?: la| las| los)?|ter|ten|af|av|wa|ap|al|el|ul|ur)"
)
_PARTICLED = re.compile(
    rf"(?<![\w@#/.-])(?P<first>{_CAP}(?: {_CAP})?)(?P<part> {_PARTICLES}[ -]| (?:al|el|an|ad|as)-)"
    rf"(?P<last>{_CAP})(?![\w@/])"
)
# a surname with particles alone: "van der Berg"
_TAILED = re.compile(
    rf"(?<!\w )(?<![\w-])(?:van de[rn]|von(?: de[rnm])?|bin|ibn|de la|della|dos) (?P<last>{_CAP})", re.M
)
# hardly ever in a place's name
_PERSONAL = re.compile(r"(?:van(?: de[rn]| 't)|von|vom|bin|ibn|bint|dos|della|ter|ten|wa)", re.I)
_REVERSED = re.compile(rf"(?<![\w@#/.-])(?P<last>{_CAP}), (?P<first>[A-Z]\.(?: ?[A-Z]\.){{0,2}})(?! ?[A-Z][a-z])(?!\w)")
_HANDLE = re.compile(r"(?<![\w@/.+-])@[A-Za-z][\w-]{1,38}(?:\.\w+)*(?![\w/])")
_CHANNEL = re.compile(r"(?<![\w#&/])#[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+(?!\w)")
_REQUEST = re.compile(r"(?<!\w)(?:PR|MR|pull request|merge request|issue|ticket|bug) #\d{1,7}(?!\w)", re.I)
_BRACKET = re.compile(r" \((?P<inner>[^()\n]{2,80})\)")
_SHORT = re.compile(r"[A-Z][A-Za-z0-9.]{1,7}")
_SHORT_END = re.compile(r"(?<![\w.])[A-Z][A-Za-z0-9.]{1,7}$")
_LINK = r"(?:(?:of|and|the|for|de|la|&|und|für) ){0,2}"
_LONG = re.compile(rf"(?P<name>(?:{_CAP}|[A-Z])(?:[ -]{_LINK}(?:{_CAP}|[A-Z](?!\w)))+)")
_MARKS = re.compile(rf"[@#(]|, [A-Z]\.| (?:al|el|an|ad|as)-|\b{_PARTICLES} ", re.I)
_NOBODY = words(
    "all here everyone everybody channel team group ci cd oncall on-call user admin root dev ops infra me you"
)
_NO_FIRST = words("yesterday today tomorrow tonight ask tell met then so and but hi hey dear thanks")
_NAMES = frozenset({"PROPN", "X", "NOUN"})
_SPAN = tuple[int, int, str]
_ROWS = dict[Candidate, tuple[str, float]]


def by_form(
    tree: Tree, found: list[Candidate], types: list[tuple[str, float]]
) -> tuple[list[Candidate], list[tuple[str, float]]]:
    """The candidates and their types with those that the form tells; these take the place of what they overlap."""
    rows: _ROWS = dict(zip(found, types, strict=True))
    for c, (kind, sure) in list(rows.items()):
        told = _told(tree, c, kind, sure)
        if told is not None:
            rows[c] = told
    cover = {i: c for c in rows for i in range(c.start, c.end)}
    starts = {at: i for i, at in enumerate(tree.at)}
    ends = {tree.end_of(i): i + 1 for i in range(len(tree))}
    for a, b, kind in _spans(tree, rows, cover):
        start, end = starts.get(a, 0), ends.get(b, 0)
        for c in {cover[i] for i in range(start, end) if i in cover}:
            rows.pop(c, None)
        if start < end:
            made = Candidate(start, end, "form")
            rows[made] = (kind, CERTAIN)
            cover.update(dict.fromkeys(range(start, end), made))
    ordered = sorted(rows, key=lambda c: (c.start, c.end))
    return ordered, [rows[c] for c in ordered]


def expansions(text: str) -> dict[str, str]:
    """Abbreviations that a text introduces in brackets, either way round: "European Road Agency (ERA)"."""
    out: dict[str, str] = {}
    for m in _BRACKET.finditer(text):
        inner, before = m["inner"].strip(), text[max(0, m.start() - 90) : m.start()]
        if _SHORT.fullmatch(inner):
            long = _longest_before(inner, before)
            if long:
                out.setdefault(inner, long)
        elif _LONG.fullmatch(inner) and (short := _SHORT_END.search(before)) and abbreviates(short[0], inner):
            out.setdefault(short[0], inner)
    return out


def _longest_before(short: str, before: str) -> str:
    """The words that end a text and that `short` is made of."""
    parts = before.split(" ")
    for n in range(min(len(parts), 10), 1, -1):
        name = " ".join(parts[-n:]).strip()
        if name[:1].isupper() and _LONG.fullmatch(name) and abbreviates(short, name):
            return name
    return ""


def _told(tree: Tree, c: Candidate, kind: str, sure: float) -> tuple[str, float] | None:
    """What the form of one candidate says, or None."""
    text = tree.span_text(c.start, c.end)
    told = kind
    if c.end - c.start == 1:
        told = _told_by_word(text, kind, sure, small=tree.text.islower())
        if text in lexicon().abstract:
            return "", CERTAIN
    elif has_legal_form(text):
        return "Organization", CERTAIN
    elif (kind in ("", "Person") or sure < SURE_OTHER) and _after_title(text):
        told = "Person"
    if told != kind or (kind == "Event" and lexicon().class_nouns.get(tree.lower[c.end - 1]) == kind):
        return told, CERTAIN
    return None


def _told_by_word(text: str, kind: str, sure: float, *, small: bool) -> str:
    """The type that one word has by its form: a file's path, an error's class, a name of chat without capitals."""
    if not kind and any(form.fullmatch(text) for form in (ERROR, ERROR_PATH, COMMIT)):
        return "Object"
    if kind and "/" in text and FILE.fullmatch(text):
        return "Object"
    return (small and sure < SURE_OTHER and common_names().get(text)) or kind


def _after_title(text: str) -> bool:
    """Whether it is a title that only people have, and a name: "Frau Lund"."""
    titles, rest = titled(text)
    named = rest[:1].isupper() and text[:1].isupper()
    return bool(named and titles and titles[0] in PLAIN_TITLES and rest.lower().split()[0] not in lexicon().roles)


def _spans(tree: Tree, rows: _ROWS, cover: dict[int, Candidate]) -> Iterator[_SPAN]:
    text = tree.text
    if not _MARKS.search(text):
        return
    yield from _signs(text)
    yield from _people(tree, rows, cover)
    for short, long in expansions(text).items():
        yield from _both(tree, rows, cover, short, long)


def _signs(text: str) -> Iterator[_SPAN]:
    """Numbers of requests, channels, handles."""
    for pattern in (_REQUEST, _CHANNEL):
        for m in pattern.finditer(text):
            yield *m.span(), "Object"
    for m in _HANDLE.finditer(text):
        name = m[0][1:].lower()
        common = name in _NOBODY or name in lexicon().class_nouns or name in lexicon().roles or name in lexicon().kin
        if not common and not PACKAGE.match(text, m.start()):
            yield *m.span(), "Object" if identify(name) is not None else "Person"


def _people(tree: Tree, rows: _ROWS, cover: dict[int, Candidate]) -> Iterator[_SPAN]:
    """Names with initials behind them, and with particles."""
    text = tree.text
    for m in _REVERSED.finditer(text):
        if _kinds(tree, rows, cover, *m.span("last")) == {"Person"}:
            yield *m.span(), "Person"
    for m in _PARTICLED.finditer(text):
        first = bisect_left(tree.at, m.start())
        if tree.pos[first] not in _NAMES or tree.lower[first] in _NO_FIRST or (first and tree.dep[first - 1] == "det"):
            continue
        kinds = _kinds(tree, rows, cover, *m.span())
        personal = _PERSONAL.match(m["part"].strip()) is not None
        unknown = personal and kinds == {""} and _is_person(tree, *m.span())
        if unknown or ("Person" in kinds and kinds <= {"", "Person"}):
            yield *m.span(), "Person"
    for m in _TAILED.finditer(text):
        kinds = _kinds(tree, rows, cover, *m.span("last"))
        if kinds <= {"", "Person"}:
            yield *m.span(), "".join(kinds) if len(kinds) == 1 else "Person"


def _both(tree: Tree, rows: _ROWS, cover: dict[int, Candidate], short: str, long: str) -> Iterator[_SPAN]:
    """Every place of an abbreviation and of what it stands for, with the type that the model gives them."""
    text = tree.text
    places = [m.span() for m in re.finditer(rf"(?<!\w){re.escape(long)}(?!\w)", text)]
    places += [m.span() for m in re.finditer(rf"(?<![\w.-]){re.escape(short)}(?![\w-])", text)]
    weights: dict[str, float] = {}
    for a, b in places:
        for kind, sure in _types(tree, rows, cover, a, b):
            weights[kind] = weights.get(kind, 0.0) + sure
    weights.pop("", None)
    if weights:
        best = max(sorted(weights), key=lambda kind: weights[kind])
        yield from ((a, b, best) for a, b in places)


def _types(tree: Tree, rows: _ROWS, cover: dict[int, Candidate], a: int, b: int) -> list[tuple[str, float]]:
    """What the model says of the candidates inside [a, b)."""
    inside = range(bisect_left(tree.at, a), bisect_left(tree.at, b))
    return [rows[c] for c in dict.fromkeys(cover[i] for i in inside if i in cover) if c in rows]


def _kinds(tree: Tree, rows: _ROWS, cover: dict[int, Candidate], a: int, b: int) -> set[str]:
    """The types of the candidates inside [a, b); a type that the model is not sure of counts as none."""
    return {kind if sure >= _HALF else "" for kind, sure in _types(tree, rows, cover, a, b)} or {""}


def _is_person(tree: Tree, a: int, b: int) -> bool:
    """Whether spaCy's own names have a person there."""
    return any(e.label == "PERSON" and tree.at[e.start] < b and a < tree.end_of(e.end - 1) for e in tree.ents)
