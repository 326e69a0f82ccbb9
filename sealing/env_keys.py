"""Keys from a variable, for where secrets are handed in by whoever runs the processes. Read only.

`MEMSTREAM_KEYS_JSON` is a list: {"id": 24 hex digits, "scope": …, "subject": "" for the scope's own, "generation": 1,
"key": 32 bytes in base64}. A destroyed one stays as {"id", "scope", "subject", "destroyed": when}.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import orjson

from memstream.schemas.errors import SettingsError
from memstream.schemas.scope import is_within
from memstream.sealing.box import derived
from memstream.sealing.errors import KeyMissing, KeysReadOnly
from memstream.sealing.keys import ID_BYTES, SECRET_BYTES, Destroyed, Key, KeyRow

_VARIABLE = "MEMSTREAM_KEYS_JSON"


class EnvironmentKeys:
    """What the variable holds when the process starts."""

    def __init__(self, told: str) -> None:
        """Raises SettingsError where the text is no list of keys."""
        self._rows: dict[str, KeyRow] = {}
        self._keys: dict[str, Key] = {}
        try:
            for entry in orjson.loads(told or "[]"):
                self._take(entry)
        except (orjson.JSONDecodeError, binascii.Error, KeyError, TypeError, ValueError) as error:
            raise SettingsError(
                f'{_VARIABLE} is no list of {{"id", "scope", "subject", "generation", "key"}} with 24 hex digits as id '
                f"and 32 bytes of base64 as key ({type(error).__name__}): see docs/erasure.md"
            ) from error
        derived((Key("0" * 2 * ID_BYTES, bytes(SECRET_BYTES)),))  # says now what is not installed

    def current(self, scope: str, subject: str = "") -> Key:
        """The key of the highest generation. Raises KeysReadOnly where there is none."""
        own = [row for row in self._rows.values() if (row.scope, row.subject) == (scope, subject)]
        usable = [row for row in own if row.destroyed is None]
        if not usable:
            whose = f"subject {subject!r} of scope {scope!r}" if subject else f"scope {scope!r}"
            raise KeysReadOnly(
                f"there is no key for {whose}: add an entry with a new id and generation "
                f"{max((row.generation for row in own), default=0) + 1} to {_VARIABLE}, for publishers and workers"
            )
        return self._keys[max(usable, key=lambda row: row.generation).id]

    def get(self, ids: Sequence[str]) -> list[Key] | None:
        """The keys of these ids; None where one is destroyed. Raises KeyMissing."""
        unknown = [one for one in ids if one not in self._rows]
        if unknown:
            raise KeyMissing(
                f"{_VARIABLE} has no key {', '.join(unknown)}: give it here as well; where it was destroyed, its entry "
                "stays, with 'destroyed' in the place of 'key'"
            )
        return None if any(one not in self._keys for one in ids) else [self._keys[one] for one in ids]

    def destroy(self, scope: str, subject: str | None, *, below: bool = False) -> Destroyed:
        """Nothing is here to destroy, or KeysReadOnly says which entries to replace by what."""
        gone = [
            row
            for row in self.rows(scope, below=below)
            if row.destroyed is None and (subject is None or row.subject == subject)
        ]
        if gone:
            left = [{"id": row.id, "scope": row.scope, "subject": row.subject, "destroyed": "the date"} for row in gone]
            raise KeysReadOnly(
                f"keys in {_VARIABLE} are destroyed by whoever provides them: until then all that they seal can be "
                "read. In every place that holds it, replace the entries of these ids by "
                f"{orjson.dumps(left).decode()}, then restart publishers and workers"
            )
        return Destroyed()

    def rows(self, scope: str | None = None, *, below: bool = False) -> list[KeyRow]:
        """All keys, or those of a scope."""
        return [
            row
            for row in self._rows.values()
            if scope is None or row.scope == scope or (below and is_within(row.scope, scope))
        ]

    def close(self) -> None:
        """Nothing is open."""

    def _take(self, entry: dict[str, Any]) -> None:
        row = KeyRow(
            str(entry["id"]).lower(),
            str(entry["scope"]),
            str(entry.get("subject", "")),
            int(entry.get("generation", 1)),
            str(entry.get("made", "")),
            str(entry["destroyed"]) if entry.get("destroyed") else None,
        )
        if len(bytes.fromhex(row.id)) != ID_BYTES or row.id in self._rows:
            raise ValueError("an id that is none, or that is there twice")
        if row.destroyed is None:
            secret = base64.b64decode(entry["key"], validate=True)
            if len(secret) != SECRET_BYTES:
                raise ValueError("a key of another length")
            self._keys[row.id] = Key(row.id, secret)
        self._rows[row.id] = row
