"""Scope paths: `acme/fleet-7/user-42`, most general segment first.

Segments are case-sensitive, NFC, without control characters and without `/`. Scopes are compared by whole segments:
`acme/a` is not above `acme/ab`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from memstream.schemas.errors import InvalidScope
from memstream.schemas.limits import MAX_SCOPE, MAX_SCOPE_SEGMENTS, MAX_SEGMENT

# Cc control, Cf format (zero-width, bidi), Cs surrogate, Co private, Cn unassigned, Zl/Zp separators
_REFUSED = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@lru_cache(maxsize=8_192)
def parse_scope(text: str) -> str:
    """The scope itself if it is well formed.

    Raises InvalidScope with what is wrong and how to mend it.
    """
    if not text:
        raise InvalidScope("the scope is empty: give a path of at least one segment, such as 'acme/user-42'")
    if len(text) > MAX_SCOPE:
        raise InvalidScope(f"the scope has {len(text)} characters, at most {MAX_SCOPE} are allowed")
    segments = text.split("/")
    if len(segments) > MAX_SCOPE_SEGMENTS:
        raise InvalidScope(f"the scope has {len(segments)} segments, at most {MAX_SCOPE_SEGMENTS} are allowed")
    for number, segment in enumerate(segments, start=1):
        _check_segment(segment, number, text)
    return text


def _check_segment(segment: str, number: int, scope: str) -> None:
    where = f"segment {number} of scope {scope!r}"
    if not segment:
        raise InvalidScope(f"{where} is empty: no leading, trailing or doubled '/'")
    if len(segment) > MAX_SEGMENT:
        raise InvalidScope(f"{where} has {len(segment)} characters, at most {MAX_SEGMENT} are allowed")
    bad = next((c for c in segment if unicodedata.category(c) in _REFUSED), None)
    if bad is not None:
        raise InvalidScope(f"{where} holds U+{ord(bad):04X}, a control, format or unassigned character: remove it")
    if segment != segment.strip():
        raise InvalidScope(f"{where} begins or ends with a space: remove it")
    if segment in {".", ".."}:
        raise InvalidScope(f"{where} is {segment!r}, which paths read as a direction: choose another name")
    if not unicodedata.is_normalized("NFC", segment):
        raise InvalidScope(f"{where} is not in Unicode form NFC: normalise it before publishing")


def scope_of(segments: Sequence[str]) -> str:
    """The scope of a namespace tuple; `/` and `%` inside a segment are percent-encoded."""
    return parse_scope("/".join(s.replace("%", "%25").replace("/", "%2F") for s in segments))


def segments_of(scope: str) -> tuple[str, ...]:
    """The namespace tuple of a scope: the inverse of scope_of."""
    return tuple(s.replace("%2F", "/").replace("%25", "%") for s in parse_scope(scope).split("/"))


def is_within(scope: str, ancestor: str) -> bool:
    """True if `scope` is `ancestor` or below it, by whole segments."""
    return scope == ancestor or scope.startswith(ancestor + "/")
