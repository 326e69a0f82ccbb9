"""Cursors: where a listing goes on, as of which position, and of which question. Opaque to callers, and checked."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import orjson

from memstream.query.problems import Kind, Problem
from memstream.schemas.ids import hash_of

_VERSION = 1
_MAX_CHARS = 4_096
_CHECK = 8

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a listing: the position it is of, and the sort key of the last row that was given."""

    offset: int
    after: Key


def encode(cursor: Cursor, question: str) -> str:
    """The cursor as text, bound to the question (see `question_of`)."""
    body = orjson.dumps([_VERSION, cursor.offset, list(cursor.after), question])
    return base64.urlsafe_b64encode(_check(body) + body).decode().rstrip("=")


def decode(text: str, question: str) -> Cursor:
    """The cursor of a text. Raises Problem where it is malformed or was given for another question."""
    malformed = Problem(Kind.BAD_CURSOR, "the cursor is malformed: take 'next_cursor' of an answer as it stands")
    if len(text) > _MAX_CHARS:
        raise malformed
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        if raw[:_CHECK] != _check(raw[_CHECK:]):
            raise malformed
        version, offset, after, asked = orjson.loads(raw[_CHECK:])
    except (binascii.Error, ValueError, UnicodeError) as error:
        raise malformed from error
    if not _is_cursor(version, offset, after):
        raise malformed
    if asked != question:
        raise Problem(
            Kind.BAD_CURSOR,
            "the cursor belongs to another question or another graph: keep scope, path and filters as they were, or "
            "begin again",
        )
    return Cursor(offset, tuple(after))


def question_of(path: str, parameters: list[tuple[str, str]]) -> str:
    """What a cursor is bound to: the path and all parameters but the cursor and the limit."""
    kept = sorted((name, value) for name, value in parameters if name not in {"cursor", "limit"})
    return hash_of("question", path, *(part for pair in kept for part in pair))


def _is_cursor(version: object, offset: object, after: object) -> bool:
    if version != _VERSION or type(offset) is not int or not -1 <= offset < 2**63 or not isinstance(after, list):
        return False
    return all(isinstance(part, str) for part in after)


def _check(body: bytes) -> bytes:
    return hash_of("cursor", body.decode("utf-8", "surrogateescape"))[:_CHECK].encode()
