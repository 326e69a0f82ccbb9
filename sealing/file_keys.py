"""Keys in a file: SQLite, shared by publishers and workers of one machine, readable by its owner alone.

A destroyed key is overwritten where it lay (`secure_delete`), and the file is written anew without it (VACUUM). What a
disk keeps beneath a file system, and copies of the file, are its owner's to deal with: with a master key
(`MEMSTREAM_KEYS_MASTER`) copies are of no use without it.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from memstream.schemas.errors import SettingsError, TransientError
from memstream.schemas.ids import utc_text
from memstream.sealing.box import derived, hkdf
from memstream.sealing.errors import KeyMissing
from memstream.sealing.keys import ID_BYTES, SECRET_BYTES, Destroyed, Key, KeyRow

_WAIT_SECONDS = 10.0
_NONCE = 12
_MOST_HELD = 50_000  # keys in memory
_SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY, scope TEXT NOT NULL, subject TEXT NOT NULL, generation INTEGER NOT NULL,
    secret BLOB, made TEXT NOT NULL, destroyed TEXT, UNIQUE (scope, subject, generation)
)
"""
_MASTER = "CREATE TABLE IF NOT EXISTS master (name TEXT PRIMARY KEY, proof BLOB NOT NULL)"
_CURRENT = """
SELECT id, secret FROM keys WHERE scope = ? AND subject = ? AND secret IS NOT NULL ORDER BY generation DESC LIMIT 1
"""
_NEXT = "SELECT coalesce(max(generation), 0) + 1 FROM keys WHERE scope = ? AND subject = ?"
_INSERT = "INSERT INTO keys (id, scope, subject, generation, secret, made) VALUES (?, ?, ?, ?, ?, ?)"
_ROWS = "SELECT id, scope, subject, generation, made, destroyed FROM keys"
_OF = " WHERE (scope = ?1 OR (?2 AND substr(scope, 1, length(?1) + 1) = ?1 || '/'))"
_LIVING = _ROWS + _OF + " AND (?3 IS NULL OR subject = ?3) AND secret IS NOT NULL"
_DESTROY = "UPDATE keys SET secret = NULL, destroyed = ? WHERE id = ?"
_ORDER = " ORDER BY scope, subject, generation"


class StoreUnavailable(TransientError):
    """The file of keys is locked for long, or can't be read now."""


class FileKeys:
    """One connection to the file. What it has read is forgotten when another process has changed the file."""

    def __init__(self, path: str, master: str | None = None) -> None:
        """Makes the file where there is none. Raises SettingsError where it can't be used."""
        self._path = path
        self._lock = threading.RLock()
        self._by_id: dict[str, Key] = {}
        self._current: dict[tuple[str, str], Key] = {}
        self._version = -1
        derived((Key("0" * 2 * ID_BYTES, bytes(SECRET_BYTES)),))  # says now what is not installed
        self._wrapping = hkdf(master.encode(), b"memstream keys master v1") if master else None
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA secure_delete = ON")
            self._db.execute(_SCHEMA)
            self._db.execute(_MASTER)
            self._check_master()
        except (OSError, sqlite3.Error) as error:
            raise SettingsError(f"MEMSTREAM_KEYS: the file of keys {path} can't be used: {error}") from error

    def current(self, scope: str, subject: str = "") -> Key:
        """The key to seal with, made on first use."""
        with self._fresh():
            key = self._current.get((scope, subject))
            if key is None:
                key = self._current[scope, subject] = self._find(scope, subject) or self._make(scope, subject)
                self._by_id[key.id] = key
            return key

    def get(self, ids: Sequence[str]) -> list[Key] | None:
        """The keys of these ids; None where one is destroyed. Raises KeyMissing."""
        with self._fresh():
            keys = [self._by_id.get(one) or self._read(one) for one in ids]
            found = [key for key in keys if key is not None]
            return found if len(found) == len(keys) else None

    def destroy(self, scope: str, subject: str | None, *, below: bool = False) -> Destroyed:
        """Destroy the secrets; a tombstone of each key stays."""
        with self._fresh():
            now = utc_text(datetime.now(UTC))
            with self._transaction():
                rows = [KeyRow(*row) for row in self._db.execute(_LIVING + _ORDER, (scope, below, subject))]
                self._db.executemany(_DESTROY, [(now, row.id) for row in rows])
            self._forget()
            self._write_anew()
            return Destroyed(tuple(KeyRow(r.id, r.scope, r.subject, r.generation, r.made, now) for r in rows))

    def rows(self, scope: str | None = None, *, below: bool = False) -> list[KeyRow]:
        """All keys, or those of a scope, the destroyed ones too."""
        with self._fresh():
            found = self._db.execute(_ROWS + _ORDER) if scope is None else None
            return [KeyRow(*row) for row in found or self._db.execute(_ROWS + _OF + _ORDER, (scope, below))]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._forget()
            self._db.close()

    def _write_anew(self) -> None:
        try:
            self._db.execute("VACUUM")
        except sqlite3.Error as error:
            raise StoreUnavailable(
                f"the keys are destroyed and overwritten, but the file {self._path} could not be written anew "
                f"({error}): destroy them once more when nobody holds it"
            ) from error

    @contextmanager
    def _fresh(self) -> Iterator[None]:
        """Alone, and with nothing in memory that another process has changed since."""
        with self._lock:
            try:
                (version,) = self._db.execute("PRAGMA data_version").fetchone()
                if version != self._version or len(self._by_id) > _MOST_HELD:
                    self._forget()
                    self._version = version
                yield
            except sqlite3.Error as error:
                raise StoreUnavailable(f"the file of keys {self._path} can't be used now: {error}") from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:  # whatever it is goes on as it is: the file stays as it was
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _forget(self) -> None:
        self._by_id.clear()
        self._current.clear()
        derived.cache_clear()

    def _find(self, scope: str, subject: str) -> Key | None:
        row = self._db.execute(_CURRENT, (scope, subject)).fetchone()
        return None if row is None else Key(row[0], self._unwrapped(*row))

    def _make(self, scope: str, subject: str) -> Key:
        with self._transaction():
            key = self._find(scope, subject)  # somebody else may have made it meanwhile
            if key is None:
                (generation,) = self._db.execute(_NEXT, (scope, subject)).fetchone()
                key = Key(secrets.token_hex(ID_BYTES), secrets.token_bytes(SECRET_BYTES))
                made = utc_text(datetime.now(UTC))
                self._db.execute(_INSERT, (key.id, scope, subject, generation, self._wrapped(key), made))
        return key

    def _read(self, one: str) -> Key | None:
        row = self._db.execute("SELECT secret FROM keys WHERE id = ?", (one,)).fetchone()
        if row is None:
            raise KeyMissing(
                f"the file of keys {self._path} does not know the key {one}, and nothing shows that it was destroyed: "
                "MEMSTREAM_KEYS must name the file that the publishers use, or an older copy was put back"
            )
        if row[0] is None:
            return None
        key = self._by_id[one] = Key(one, self._unwrapped(one, row[0]))
        return key

    def _check_master(self) -> None:
        """A file is wrapped from its first day on, or never: and always by the same master."""
        proof = b"" if self._wrapping is None else hkdf(self._wrapping, b"proof")
        self._db.execute("INSERT OR IGNORE INTO master (name, proof) VALUES ('proof', ?)", (proof,))
        (kept,) = self._db.execute("SELECT proof FROM master").fetchone()
        if kept != proof:
            wrong = "has another one" if proof and kept else "was made without one" if proof else "needs one"
            raise SettingsError(f"MEMSTREAM_KEYS_MASTER: the file of keys {self._path} {wrong}")

    def _wrapped(self, key: Key) -> bytes:
        if self._wrapping is None:
            return key.secret
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - of an extra

        nonce = secrets.token_bytes(_NONCE)
        return nonce + AESGCM(self._wrapping).encrypt(nonce, key.secret, key.id.encode())

    def _unwrapped(self, one: str, kept: bytes) -> bytes:
        if self._wrapping is None:
            return kept
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - of an extra

        return AESGCM(self._wrapping).decrypt(kept[:_NONCE], kept[_NONCE:], one.encode())
