"""Code inside a message: where it stands, and the tables, hosts and services that it names beyond doubt.

Nothing is said of what stands in code: no parser of English sees it. A table is what follows FROM, JOIN, INTO, UPDATE
or TABLE in a statement; a host or a service is what a well-known command is given in its place for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memstream.extractors.text.lexicon import words

MOST = 60  # names of one message
_SQL = r"(?:SELECT|INSERT\s+INTO|UPDATE|DELETE\s+FROM|(?:CREATE|ALTER|DROP|TRUNCATE)\s+TABLE|WITH)"
_COMMANDS = (
    r"(?:ssh|scp|rsync|ping|psql|mysql|pg_dump|redis-cli|mongosh?|kubectl|helm|docker|podman|systemctl|journalctl|service"
    r"|sudo|git|curl|wget|npm|pip|make|terraform|ansible|tail|grep|cat|ls|cd|rm|cp|mv|python3?|node|export)"
)
FENCE = re.compile(r"```.*?(?:```|\Z)", re.S)
INLINE = re.compile(r"`[^`\n]{2,300}`")
_LINE = re.compile(
    rf"^[ \t]*(?:\$ [^\n]+|{_SQL}\b[^\n]*(?:[;(*=]|\bFROM\b)[^\n]*)$", re.M
)  # "$ kubectl get pods", "SELECT * FROM orders;"
_COMMAND = re.compile(rf"\s*(?:\$ )?(?:{_COMMANDS}\s+\S|(?i:{_SQL}\s+\S))")
_OPERATOR = re.compile(r"[;={}<>|$]|(?<!\w)--?[a-z]")

_STATEMENT = re.compile(rf"(?<![\w.])(?:{_SQL})\s", re.I)
_HIDDEN = re.compile(r"'(?:[^'\n]|'')*'|--[^\n]*|/\*.{0,500}?\*/", re.S)
_IDENT = r"[\"`\[]?[A-Za-z_][\w$]{1,62}[\"`\]]?"
_TABLE = re.compile(
    r"(?<![\w.])(?P<k>FROM|JOIN|INTO|UPDATE|TABLE)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+|ONLY\s+)?"
    rf"(?P<t>{_IDENT}(?:\.{_IDENT}){{0,2}})(?!\s+import\b)",
    re.I,
)
_WITH = re.compile(r"(?:\bWITH|,)\s+(?:RECURSIVE\s+)?([A-Za-z_]\w*)\s+AS\s*\(", re.I)
_NOT_BEFORE = re.compile(r"(?:\b(?:for|on|do|key|distinct)|\((?:[^()]*\s)?)\s*$", re.I)
_INSIDE = re.compile(r"\b(?:extract|substring|trim|overlay|position)\s*\([^()]*$", re.I)
_NO_TABLE = words("select lateral unnest values set dual where only generate_series json_each stdin stdout")

_NAME = r"(?P<n>[A-Za-z][A-Za-z0-9]*(?:[.-][A-Za-z0-9]+)*)"
_OPTIONS = r"(?:-{1,2}[\w-]+(?:[= ](?![-'\"])[\w./~@:-]+(?= ))?\s+)*?"
_END = r"(?=[\s'\"`;:]|$)"
_REST = r"[^\n|;]{0,200}?"  # of a command
_START = r"(?<![\w./-])"
_ACTIONS = r"(?:start|stop|restart|reload|status|enable|disable)"
_HOSTS = tuple(
    re.compile(_START + command + _NAME + end)
    for command, end in (
        (rf"ssh\s+{_OPTIONS}(?:[\w.-]+@)?", _END),
        (rf"(?:psql|mysql|pg_dump|redis-cli|mongosh?)\b{_REST}\s(?:-h\s*|--host[= ])", _END),
        (rf"(?:scp|rsync)\s{_REST}\s(?:[\w.-]+@)?", r"(?=:[/~])"),
        (r"ping\s+(?:-\w+ (?:\d+ )?)*", _END),
    )
)
_SERVICES = tuple(
    re.compile(_START + command + _NAME + _END)
    for command in (
        rf"systemctl\s+(?:--\w+ )?{_ACTIONS}\s+",
        rf"journalctl\s{_REST}-\w?u\s*",
        rf"kubectl\s{_REST}\b(?:deployments?|deploy|svc|services?|statefulset|sts)[/ ]",
        r"(?:docker|podman)\s+(?:compose\s+)?(?:restart|stop|start|logs)\s+",
        r"helm\s+(?:upgrade|rollback|uninstall)\s+",
    )
)
_NOBODY = words("localhost host hostname server name service container deployment example foo bar all root")


@dataclass(frozen=True, slots=True)
class CodeName:
    """A table, a host or a service at text[start:end] of the message."""

    start: int
    end: int
    name: str
    subtype: str


def code_parts(text: str) -> list[tuple[int, int]]:
    """Where code stands: fences, commands and statements between backticks, lines after a prompt, lines of SQL."""
    parts = [m.span() for m in FENCE.finditer(text)]
    for pattern in (_LINE, INLINE):
        for m in pattern.finditer(text):
            inline = pattern is INLINE
            if not any(a < m.end() and m.start() < b for a, b in parts) and (not inline or _is_code(m[0][1:-1])):
                parts.append(m.span())
    return sorted(parts)


def _is_code(text: str) -> bool:
    """Whether what stands between backticks is more than a name: a command, a statement, an expression."""
    return " " in text.strip() and (_COMMAND.match(text) is not None or _OPERATOR.search(text) is not None)


def code_names(text: str) -> list[CodeName]:
    """The tables, hosts and services that the code of a text names, from left to right; at most MOST."""
    found: dict[int, CodeName] = {}
    for start, end in code_parts(text):
        part = text[start:end]
        names = (*_tables(part), *_of(_HOSTS, part, "host"), *_of(_SERVICES, part, "service"))
        for a, b, subtype in names:
            found.setdefault(start + a, CodeName(start + a, start + b, part[a:b], subtype))
    return [found[at] for at in sorted(found)][:MOST]


def _tables(part: str) -> Iterator[tuple[int, int, str]]:
    plain = _HIDDEN.sub(lambda m: " " * len(m[0]), part)
    if not _STATEMENT.search(plain):
        return
    made = {name.lower() for name in _WITH.findall(plain)}
    for m in _TABLE.finditer(plain):
        before = plain[max(0, m.start() - 60) : m.start()]
        name = m["t"].strip('"`[]')
        lead = len(m["t"]) - len(m["t"].lstrip('"`['))
        if name.lower() in _NO_TABLE or name.lower() in made or _INSIDE.search(before):
            continue
        if (m["k"].lower() == "update" and _NOT_BEFORE.search(before)) or before.lower().rstrip().endswith("distinct"):
            continue
        if m["k"].lower() in ("from", "join") and plain[m.end() : m.end() + 1] == "(":
            continue  # a function
        yield m.start("t") + lead, m.start("t") + lead + len(name), "table"


def _of(patterns: tuple[re.Pattern[str], ...], part: str, subtype: str) -> Iterator[tuple[int, int, str]]:
    for pattern in patterns:
        for m in pattern.finditer(part):
            name = m["n"].removesuffix(".service")
            if len(name) > 2 and name.lower() not in _NOBODY:
                yield m.start("n"), m.start("n") + len(name), subtype
