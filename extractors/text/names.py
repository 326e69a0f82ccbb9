"""Names compared letter by letter: titles, legal forms, initials, handles, numbers of tickets, abbreviations.

Only what is certain by the form alone, inside one session. What it takes more to be sure of, and what was said in
different sessions, is for the derived layer to join.
"""

from __future__ import annotations

import functools
import re

from memstream.extractors.text.lexicon import words

# small words inside names; who reads names adds what is special there
PARTICLES = words("de da do dos das del della der den di du el la le van von bin ibn al af av zu ter ten")
TITLES = words(
    """
    mr mrs ms miss dr prof professor doctor sir dame lady lord herr frau fräulein señor señora señorita sr sra don doña
    monsieur madame mme mlle mademoiselle signor signora signorina sig senhor senhora dom dona meneer mevrouw mx rev
    reverend fr father pastor sister brother captain capt sergeant sgt lt lieutenant major maj colonel col general gen
    admiral dean judge justice senator sen rabbi imam sheikh sheik shaykh hajji sayyid pan pani paní ing dipl-ing mag
    """
)
PLAIN_TITLES = words(
    """
    mr mrs ms dr prof professor herr frau señor señora señorita sr sra monsieur madame mme mlle mademoiselle signor
    signora meneer mevrouw rev reverend sheikh sayyid
    """
)  # say of whatever follows that it is a person
_LEARNED = words("dr prof professor doctor ing dipl-ing mag")  # say nothing that "Mr" or "Frau" says
_SPELLED = {"doctor": "dr", "professor": "prof", "señor": "sr", "señora": "sra", "captain": "capt", "sheik": "sheikh"}
_GENDER = {
    **dict.fromkeys(words("mr sir lord herr señor sr don monsieur signor senhor dom meneer pan father"), "m"),
    **dict.fromkeys(
        words(
            "mrs ms miss dame lady frau fräulein señora señorita sra doña madame mme mlle mademoiselle signora"
            " signorina senhora dona mevrouw pani paní"
        ),
        "f",
    ),
}  # fmt: skip
_CALLED = words("aunt auntie tante uncle onkel oma opa brother sister father mother")  # part of the name
LEGAL = words(
    """
    gmbh ag kg kgaa ohg ug mbh ltd limited inc incorporated llc llp lp plc corp corporation co company sa sas sarl sàrl
    srl spa bv nv ab as asa oy oyj aps a/s kft zrt sro pte pty bhd sdn lda ltda sl slu e.v. ev s.a. s.l. s.p.a. s.r.l.
    b.v. n.v. s.r.o. a.s. k.k. kk
    """
)
_SURE_LEGAL = words(
    """
    gmbh kgaa ltd limited inc llc llp plc sarl sàrl srl s.r.l. s.p.a. s.r.o. s.a. b.v. bv n.v. a/s oyj kft zrt pte pty
    ltda e.v. ag corp
    """
)
_INITIAL = re.compile(r"(?:[^\W\d_]\.?-?){1,4}")
_NUMBERED = re.compile(r"(?:(?P<noun>pr|mr|pull request|merge request|issue|ticket|bug|incident) )?#?(?P<n>\d{1,7})")
_HASH = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}")
_SHORT_HASH = 7
_LINKS = words("of and the for de la le du des et und für der die y e & in on to von van")


@functools.lru_cache(maxsize=8_192)
def titled(name: str) -> tuple[tuple[str, ...], str]:
    """The titles that a person's name begins with, in lower case without dots, and the rest: "Prof. Dr. Ana Lund"."""
    rest = name.split()
    titles = []
    while len(rest) > 1 and (word := rest[0].lower().rstrip(".")) in TITLES:
        titles.append(_SPELLED.get(word, word))
        rest = rest[1:]
    return tuple(titles), " ".join(rest)


def without_title(name: str) -> str:
    """A title goes where a full name remains ("Dr. Ana Lund"), and stays elsewhere ("Dr. Lund")."""
    titles, rest = titled(name)
    return rest if len(rest.split()) > 1 and not set(titles) & _CALLED else name


def gender_of_title(name: str) -> str:
    """What a title says of the person: "f", "m" or nothing."""
    return next((g for t in titled(name)[0] if (g := _GENDER.get(t, ""))), "")


@functools.lru_cache(maxsize=8_192)
def without_legal(name: str) -> str:
    """An organization's name without its legal form: "Kestrel Freight GmbH & Co. KG"."""
    rest = name.replace(",", " ").split()
    while len(rest) > 1 and (rest[-1].lower().rstrip(".") in LEGAL or rest[-1].lower() in LEGAL or rest[-1] == "&"):
        rest = rest[:-1]
    return " ".join(rest)


def has_legal_form(name: str) -> bool:
    """Whether a name ends with what only an organization has: "GmbH", "Ltd.", "S.p.A."."""
    parts = name.replace(",", " ").split()
    if len(parts) < 2:
        return False
    last = parts[-1]
    return (last.lower().rstrip(".") in _SURE_LEGAL or last.lower() in _SURE_LEGAL) and last[:1].isupper()


def same_person(a: str, b: str) -> bool:
    """Whether titles and initials make two names one person's: "Dr. Lund" and "Dr Lund", "J. Oke" and "Jo Oke"."""
    (titles, left), (others, right) = titled(a), titled(b)
    if _contradict(titles, others):
        return False
    if left.casefold() == right.casefold():
        return True
    one, other = _parts(left), _parts(right)
    if len(one) < 2 or len(other) < 2 or one[-1] != other[-1] or len(one[-1]) < 2:
        return False
    mine, theirs = one[:-1], other[:-1]
    short = any(len(part) == 1 for part in (*mine, *theirs))
    return short and all(_begins(x, y) for x, y in zip(mine, theirs, strict=False))


def _contradict(titles: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether two rows of titles are of two people: "Herr" and "Frau", "Dr." and "Mrs"."""
    left, right = set(titles), set(others)
    if not left or not right or left & right:
        return False
    return not (left <= _LEARNED and right <= _LEARNED)


def _parts(name: str) -> list[str]:
    """The words of a name, each initial by itself, without dots."""
    out: list[str] = []
    for word in name.casefold().split():
        if "." in word and _INITIAL.fullmatch(word):
            out += [c for c in word if c.isalpha()]
        else:
            out.append(word.rstrip("."))
    return [part for part in out if part]


def _begins(a: str, b: str) -> bool:
    return a == b or (min(len(a), len(b)) == 1 and a[0] == b[0])


def same_body(a: str, b: str) -> bool:
    """Whether two names of organizations differ by their legal form alone."""
    return without_legal(a).casefold() == without_legal(b).casefold()


def same_thing(a: str, b: str) -> bool:
    """Whether two names are of one ticket or one commit: "PR 381" and "#381", a short and a long hash."""
    one, other = a.casefold(), b.casefold()
    if _HASH.fullmatch(one) and _HASH.fullmatch(other):
        return one.startswith(other) or other.startswith(one)
    left, right = _NUMBERED.fullmatch(one), _NUMBERED.fullmatch(other)
    if left is None or right is None or left["n"] != right["n"]:
        return False
    marked = all("#" in text or m["noun"] for text, m in ((one, left), (other, right)))
    nouns = {_request(m["noun"]) for m in (left, right) if m["noun"]}
    return marked and len(nouns) < 2


def _request(noun: str) -> str:
    return {"pull request": "pr", "merge request": "mr"}.get(noun, noun)


_REVERSED = re.compile(r"(?P<last>[^,]+), (?P<first>[^\W\d_]\.?(?: ?[^\W\d_]\.?){0,2})")


def kept_name(name: str, kind: str) -> str:
    """A name as a session keeps it: "Okafor, J." the way it is read, a full name without its title."""
    if kind != "Person":
        return name
    m = _REVERSED.fullmatch(name)
    if m is None:
        return without_title(name)
    return f"{'. '.join(c for c in m['first'] if c.isalpha())}. {m['last']}"


def fuller(name: str, other: str, kind: str) -> bool:
    """Whether a name tells more than another of the same thing, and is to be kept."""
    if kind != "Person":
        return len(name) > len(other)
    if name.startswith("@") or other.startswith("@"):
        return not name.startswith("@") and other.startswith("@")
    left, right = (sum(len(part) for part in _parts(titled(n)[1]) if len(part) > 1) for n in (name, other))
    return left > right or (left == right and len(name) > len(other))


def alike_by_form(a: str, b: str, kind: str) -> bool:
    """Whether two different spellings are one name of a thing of this type."""
    if kind == "Person":
        return same_person(a, b)
    if kind == "Organization":
        return same_body(a, b)
    return kind in ("Object", "Event") and same_thing(a, b)


def abbreviates(short: str, name: str) -> bool:
    """Whether the letters of `short` are the first ones of the words of `name`: "ERA", "European Road Agency"."""
    letters = short.replace(".", "")
    if not 2 <= len(letters) <= 8 or not letters.isalnum() or sum(c.isupper() for c in letters) < 2:
        return False
    parts = [part for part in re.split(r"[\s-]+", name) if part[:1].isalnum()]
    if len(parts) < 2:
        return False
    letters = letters.casefold()
    every = "".join(part[0] for part in parts).casefold()
    main = "".join(part[0] for part in parts if part.casefold() not in _LINKS).casefold()
    return letters in (every, main)
