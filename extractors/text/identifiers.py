"""The field's own names: services, hosts, tickets, commits, files, packages, regions. And what only looks like one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memstream.extractors.text.lexicon import words

KEBAB = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+")
EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
PHONE = re.compile(
    r"(?<![\w.-])(?:\+\d[\d ()-]{6,18}\d|0\d[\d -]{5,14}\d|\(?\d{3}\)?[ -]\d{3,4}(?:[ -]\d{3,4})?)(?![\w.-])"
)
HANDLE = re.compile(r"@[A-Za-z][\w.-]{1,38}")
TICKET = re.compile(r"[A-Z][A-Z0-9]{1,9}-\d{1,6}")
COMMIT = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}")
PACKAGE = re.compile(r"@[a-z0-9-]+/[\w.-]+")
FILE = re.compile(
    r"(?:[\w.@~-]*/)*[\w@-][\w.@-]*\.(?:py|js|ts|tsx|jsx|go|rs|java|kt|rb|c|cc|cpp|h|hpp|cs|php|sh|bash|sql|md|rst|txt"
    r"|json|ya?ml|toml|ini|cfg|conf|env|lock|csv|tsv|xlsx?|docx?|pdf|html?|css|log|xml|tf|ipynb|proto)"
)
REGION = re.compile(
    r"(?:us|eu|ap|ca|sa|me|af|il|cn|uk|asia|europe|australia)(?:-gov)?-(?:[a-z]+-?\d?[a-z]?|[a-z]+\d)(?:-\d)?"
)
ERROR_CODE = re.compile(r"(?:E[A-Z]{4,}|ORA-\d{3,5}|[A-Z]+_ERROR|[A-Z][a-zA-Z]+(?:Error|Exception))")
ERROR = re.compile(r"(?:[A-Za-z_]\w{0,30}\.){0,6}[A-Z][a-z]\w{1,50}(?:Error|Exception)")  # of a class
# an error with the names of its modules: "psycopg2.errors.UniqueViolation", "java.lang.OutOfMemoryError"
ERROR_PATH = re.compile(
    r"(?:[A-Za-z_]\w{0,30}\.){1,6}[A-Z]\w{1,50}(?:Error|Exception|Violation|Timeout|Failure|Fault|Interrupt|Refused)"
)
HOST = re.compile(
    r"(?=[a-z0-9.]*[a-z])(?:[a-z0-9][a-z0-9-]{0,40}\.){1,5}"
    r"(?:com|net|org|io|dev|cloud|local|internal|intern|lan|corp|example|test|svc|de|uk|eu|fr|nl|ch|at|no|se)"
)
VERSION = re.compile(r"v?\d+(?:\.\d+)+(?:[-+.][0-9A-Za-z.]+)?|v\d+|\d+\.\d+")
_COMMON = words(
    """
    a an and as at back bed by co cut de down end ex eyed for free full great half hand high home in kick law life
    like line long low made mail mid non of off on one open out over part past person pre re read same self semi set
    short side sign sub term the third time to two under up us well wide year stand follow call sit check drop plug
    pop log run thank spin grown old year t e g so first second last tax three four five six seven eight nine ten
    twenty thirty forty fifty sixty seventy eighty ninety
    """
)
_NOUNS = words("feed seed shed embed table billing pricing reporting routing logging")
_SUFFIXES = ("ed", "ing", "ly", "able", "ish")
_CLOUD = words(
    "us-east us-west eu-west eu-central eu-north eu-south ap-south ap-east ap-southeast ap-northeast ca-central"
)


@dataclass(frozen=True, slots=True)
class Identifier:
    """A technical name: its entity type and what it is."""

    type: str
    subtype: str


def is_identifier_token(text: str) -> bool:
    """Whether the tokenizer must leave this string in one piece."""
    if len(text) < 2 or len(text) > 80:
        return False
    if text[0] == "#" and text[1:].isdigit():
        return True
    if PACKAGE.fullmatch(text) or TICKET.fullmatch(text) or EMAIL.fullmatch(text) or FILE.fullmatch(text):
        return True
    return ERROR_PATH.fullmatch(text) is not None or is_host(text) or _kebab_name(text)


def is_host(text: str) -> bool:
    """Whether it is a machine's full name, and no site's: "web-3.example.com", "db.prod.internal"."""
    if not HOST.fullmatch(text) or text.startswith("www."):
        return False
    first = text.partition(".")[0]
    inside = text.endswith((".internal", ".intern", ".local", ".lan", ".corp", ".svc"))
    return inside or (text.count(".") > 1 and ("-" in first or any(c.isdigit() for c in first)))


def identify(text: str) -> Identifier | None:  # noqa: PLR0911 (one decision after the other)
    """What a token is, if it is a technical name."""
    if REGION.fullmatch(text) and (text in _CLOUD or text[-1].isdigit() or text.rsplit("-", 1)[0] in _CLOUD):
        return Identifier("Location", "region")
    if TICKET.fullmatch(text) or (text[:1] == "#" and text[1:].isdigit() and len(text) > 1):
        return Identifier("Object", "ticket")
    if PACKAGE.fullmatch(text):
        return Identifier("Object", "package")
    if FILE.fullmatch(text):
        return Identifier("Object", "file")
    if COMMIT.fullmatch(text):
        return Identifier("Object", "commit")
    if is_host(text):
        return Identifier("Object", "host")
    if ERROR_CODE.fullmatch(text) or ERROR_PATH.fullmatch(text):
        return Identifier("Object", "error")
    if _kebab_name(text):
        return Identifier("Object", "agent" if text.endswith("-bot") else "service")
    return None


def _kebab_name(text: str) -> bool:
    if not KEBAB.fullmatch(text):
        return False
    if "_" in text or any(c.isdigit() for c in text):
        return not text[0].isdigit() and not re.fullmatch(r"(?:over|under|mid|pre|post)-\d+s?", text)
    parts = text.split("-")
    if any(p in _COMMON for p in parts) and parts[-1] not in ("bot", "gw", "api", "db", "svc", "web"):
        return False
    return (parts[-1] in _NOUNS or not text.endswith(_SUFFIXES)) and len(text) >= 5
