"""Before the parser: what is no prose is masked, what is monstrous is cut. Offsets stay those of the original text.

The masked text is a window of the original in which every masked character is a space (UNKNOWN in a word that a control
character splits: no half of it may pass for a name), so that a token at position p of window w stands at `w.start + p`
of the original. All patterns are linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import orjson

from memstream.extractors.text.code import code_parts

HEAD_CHARS = 4_000  # parsed from the start of a text ...
TAIL_CHARS = 1_000  # ... and from its end; what lies between is not read
LONG_TOKEN = 100

_URL = re.compile(r"\b(?:https?|ftp|wss?|s3|jdbc|postgres(?:ql)?|redis|amqp)://[^\s<>\"')\]]+", re.I)
_BLOB = re.compile(rf"[^\s]{{{LONG_TOKEN},}}")
_TRACE_LINE = re.compile(
    r"^(?:[ \t]+at[ \t]+\S+\(|Traceback \(most recent|[ \t]*File \"[^\"]+\", line \d+|[ \t]*[\w.]*(?:Error"
    r"|Exception|Panic)\b[ \t]*[:(]"
    r"|E[ \t]{2,}\S|>[ \t]{3,}\S|[ \t]*Caused by:|goroutine \d+ \[|npm ERR!|thread '[^']+' panicked).*$",
    re.M,
)
_LOG_LINE = re.compile(
    r"^(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*\]?|\d\d:\d\d:\d\d(?:[.,]\d+)?|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d)\s.*$"
    r"|^[ \t]*\[?(?:FATAL|ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|CRITICAL|PANIC)\]?[\s:].*$",
    re.M,
)
_DIFF_LINE = re.compile(r"^(?:diff --git|index [0-9a-f]{6,}|@@ -|\+\+\+ |--- [ab]/).*$", re.M)
_ROLE_TAG = re.compile(r"[`*_]{1,3}(?=\S)|(?<=\S)[`*_]{1,3}(?=[\s.,;:!?)]|$)")
_PICTURE = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff]")
# what a broken transfer leaves: control characters and halves of characters
_BROKEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]+")
UNKNOWN = "\ue000"  # stands for a character inside a word that can't be known
_JSON_START = re.compile(r"^[ \t]*[\[{]", re.M)


@dataclass(frozen=True, slots=True)
class Window:
    """One piece that is parsed: `text` (masked) begins at `start` of the original."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A message made ready: its windows, and in words what was left out."""

    windows: tuple[Window, ...]
    cut: tuple[str, ...]
    code: tuple[tuple[int, int], ...]


def prepare(text: str) -> Prepared:
    """Mask and cut `text`. Bounded by HEAD_CHARS + TAIL_CHARS whatever it is."""
    cut: list[str] = []
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        head = _at_space(text, HEAD_CHARS)
        tail = len(text) - TAIL_CHARS
        cut.append(f"characters {head} to {tail} of {len(text)} were not read")
        pieces = [(0, text[:head]), (tail, text[tail:])]
    else:
        pieces = [(0, text)]
    windows = []
    code: list[tuple[int, int]] = []
    for start, piece in pieces:
        masked, spans = _mask(piece)
        code += [(start + a, start + b) for a, b in spans]
        windows += [Window(masked[a:b], start + a) for a, b in _paragraphs(masked)]
    return Prepared(tuple(windows), tuple(cut), tuple(code))


def parse_json(text: str) -> object | None:
    """The value of a text that is JSON as a whole (an object or an array), else None."""
    stripped = text.strip()
    if not stripped or stripped[0] not in "[{" or stripped[-1] not in "]}":
        return None
    try:
        value: object = orjson.loads(stripped.encode("utf-8", "surrogatepass"))
    except orjson.JSONDecodeError:
        return None
    return value


MAX_WINDOWS = 120
_LOWER = re.compile(r"[ \t]*[a-zà-ÿ(,;]")


def _paragraphs(text: str) -> list[tuple[int, int]]:
    """Lines, joined where one goes on in the next (a wrapped mail): each is parsed by itself."""
    out: list[tuple[int, int]] = []
    begin = at = 0
    for line in text.splitlines(keepends=True):
        end = at + len(line)
        done = line.rstrip()[-1:] in (".", "!", "?", ":", "") or not _LOWER.match(text, end)
        if done or end == len(text):
            if text[begin:end].strip():
                out.append((begin, begin + len(text[begin:end].rstrip())))
            begin = end
        at = end
    if len(out) > MAX_WINDOWS:
        out = [*out[: MAX_WINDOWS - 1], (out[MAX_WINDOWS - 1][0], out[-1][1])]
    return out or [(0, min(len(text), 1))]


def _at_space(text: str, limit: int) -> int:
    """A place to cut near `limit`, at white space where there is any in the last 200 characters."""
    for i in range(limit, max(limit - 200, 0), -1):
        if text[i].isspace():
            return i
    return limit


def _mask(text: str) -> tuple[str, list[tuple[int, int]]]:
    spans = code_parts(text)
    for pattern in (_TRACE_LINE, _LOG_LINE, _DIFF_LINE, _BLOB):
        spans += [m.span() for m in pattern.finditer(text)]
    spans += _json_spans(text)
    chars = list(text)
    for a, b in spans:
        _blank(chars, a, b)
    for m in _URL.finditer(text):
        _blank(chars, *m.span())
    for m in _ROLE_TAG.finditer(text):
        _blank(chars, *m.span())
    _hide_broken(chars)
    for i, c in enumerate(chars):
        if c in "\ufe0f\u200d" or (c >= "\u2600" and _PICTURE.match(c)):
            chars[i] = " "
    return "".join(chars), sorted(spans)


def _hide_broken(chars: list[str]) -> None:
    """Make a word with a broken character inside unknown but for its first letter; at a word's edge it is a space."""
    text = "".join(chars)
    done = 0
    for m in _BROKEN.finditer(text):
        if m.start() < done:
            continue
        a, b = m.span()
        while a > done and not chars[a - 1].isspace():
            a -= 1
        while b < len(text) and (_BROKEN.match(text[b]) or not text[b].isspace()):
            b += 1
        done = b
        for i in range(a, b):
            if _BROKEN.match(chars[i]):
                chars[i] = " "
        while a < b and not text[a].isalnum():
            a += 1
        while b > a and not text[b - 1].isalnum():
            b -= 1
        if _BROKEN.search(text, a, b):
            first = a + text[a].isalpha()
            chars[first:b] = UNKNOWN * (b - first)


def _json_spans(text: str) -> list[tuple[int, int]]:
    """Lines that begin a balanced JSON value of forty characters or more."""
    spans: list[tuple[int, int]] = []
    end = 0
    for m in _JSON_START.finditer(text):
        if m.start() < end:
            continue
        depth = 0
        for i in range(m.end() - 1, len(text)):
            c = text[i]
            if c in "[{":
                depth += 1
            elif c in "]}":
                depth -= 1
                if depth == 0:
                    if i - m.start() >= 40 and '"' in text[m.start() : i]:
                        spans.append((m.start(), i + 1))
                    end = i + 1  # what lies in one that is too small is smaller
                    break
        else:
            break
    return spans


def _blank(chars: list[str], a: int, b: int) -> None:
    for i in range(a, b):
        if chars[i] != "\n":
            chars[i] = " "
