"""Dead letters of a sealed log: nothing of a refused event lies in their topic in clear.

A record that was sealed stays untouched. One that came in clear is sealed by the key of its subject where it tells one,
else of its scope, else by a key that is nobody's. What was wrong with it may quote it, and is sealed as well; the
reason's code stays. Who has the keys reads letters as if they had never been sealed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from memstream.schemas import cloudevents
from memstream.schemas.errors import InvalidEvent, InvalidScope
from memstream.schemas.limits import MAX_ID
from memstream.schemas.scope import parse_scope
from memstream.schemas.topics import KEY_SEPARATOR
from memstream.sealing import KeyStore, is_sealed, key_ids, open_sealed, place, seal
from memstream.sealing.patches import is_sealed_patch
from memstream.streams.dead_letters import PREFIX, Headers, Letter, LetterTold

MESSAGE_IS_SEALED = "what was wrong is sealed in its dead letter: memstream dlq list, with the keys"
DESTROYED = "it is sealed, and its key is destroyed"
_MESSAGE, _SCOPE = PREFIX + "message", PREFIX + "scope"
_SEALED_MESSAGE, _SEALED_VALUE = PREFIX + "sealed_message", PREFIX + "sealed_value"


def sealed_letter(store: KeyStore | None, letter: Letter) -> Letter:
    """A letter as it goes to a sealed log; the same where nothing is sealed. Raises what the store raises."""
    if store is None:
        return letter
    scope, subject = whose(letter.key, letter.value, letter.headers)
    keys = [store.current(scope, subject)]
    message = dict(letter.headers).get(_MESSAGE, b"")
    headers = (
        *((name, raw) for name, raw in letter.headers if name != _MESSAGE),
        (_MESSAGE, MESSAGE_IS_SEALED.encode()),
        (_SEALED_MESSAGE, seal(keys, place("letter", scope, "message"), message)),
        (_SCOPE, scope.encode()),
    )
    value = letter.value
    if value is not None and not is_sealed(value) and not is_sealed_patch(value):
        value = seal(keys, place("letter", scope, "value"), value)
        headers = (*headers, (_SEALED_VALUE, b"1"))
    return Letter(letter.key, value, headers)


def opened_letter(
    store: KeyStore | None, told: LetterTold, value: bytes | None, headers: Headers
) -> tuple[LetterTold, bytes | None, Headers]:
    """A letter as it was before it was sealed for its topic; a record that came sealed stays so.

    As it lies there where nobody has the keys any more, its message then says so, or where this process has none.
    """
    ours = dict(headers)
    if store is None or _SEALED_MESSAGE not in ours:
        return told, value, headers
    scope = ours.get(_SCOPE, b"").decode("utf-8", "replace")
    message = _open(store, place("letter", scope, "message"), ours[_SEALED_MESSAGE])
    if message is None:
        return replace(told, message=DESTROYED), value, headers
    if _SEALED_VALUE in ours and value is not None:
        value = _open(store, place("letter", scope, "value"), value)
    size = told.size if told.cut else len(value or b"")
    opened = replace(told, message=message.decode("utf-8", "replace"), size=size)
    return opened, value, tuple((name, raw) for name, raw in headers if name not in {_SEALED_MESSAGE, _SEALED_VALUE})


def is_sealed_letter(headers: Headers) -> bool:
    """Whether a dead letter was sealed for its topic."""
    return any(name == _SEALED_MESSAGE for name, _ in headers)


def whose(key: bytes | None, value: bytes | None, headers: Headers) -> tuple[str, str]:
    """Scope and subject of a record that was refused, "" where they can't be read."""
    told = {name.lower(): raw.decode("utf-8", "replace") for name, raw in headers}
    inside = _document(value) if "ce_id" not in told else {}
    origin = inside.get("origin")
    about: Mapping[str, Any] = origin if isinstance(origin, dict) else inside
    of_key = (key or b"").decode("utf-8", "replace").partition(KEY_SEPARATOR)[0]
    scope = _scope(told.get("ce_scope")) or _scope(about.get("scope")) or _scope(of_key)
    subject = told.get("ce_subject") or about.get("subject")
    return scope, subject if scope and isinstance(subject, str) and len(subject) <= MAX_ID else ""


def _open(store: KeyStore, where: bytes, sealed: bytes) -> bytes | None:
    keys = store.get(key_ids(sealed))
    return None if keys is None else open_sealed(keys, where, sealed)


def _scope(text: Any) -> str:
    try:
        return parse_scope(text) if isinstance(text, str) else ""
    except InvalidScope:
        return ""


def _document(value: bytes | None) -> dict[str, Any]:
    try:
        cloudevents.check_size(len(value or b""))
        parsed = orjson.loads(value or b"null")
    except (orjson.JSONDecodeError, InvalidEvent):
        return {}
    return parsed if isinstance(parsed, dict) else {}
