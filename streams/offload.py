"""The store of whole tool results: written by event and hash, fetched back and checked against the hash.

A handle is `<scope token>/<event key>-<sha256>`: a scope's results lie together, and no handle of one scope opens
another's. The same bytes of two events lie there twice: else the erasure of one could take them from the other, whose
patch is still on its way to the graph.
"""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from memstream.schemas.errors import InvalidInput, PoisonError, SettingsError, TransientError
from memstream.schemas.ids import scope_token

_HANDLE = re.compile(r"z[0-9a-f]{32}/([0-9a-f]{32}-)?[0-9a-f]{64}")  # the event was left out once


class OffloadUnavailable(TransientError):
    """The store does not take or give bytes: no space, no network, no rights."""


class OffloadMissing(PoisonError):
    """Nothing is stored under the handle."""


class OffloadDamaged(PoisonError):
    """What is stored under the handle is not what was written."""


class OffloadStore:
    """A folder by default, or any file system that fsspec knows (s3://bucket/prefix, gs://…)."""

    def __init__(self, url: str) -> None:
        """Raises SettingsError where the URL names no file system that is installed."""
        try:
            self._fs, path = fsspec.core.url_to_fs(url)
        except (ValueError, ImportError) as error:
            raise SettingsError(
                f"offload store {url!r} can't be used: {error}; give a file:// folder, or install fsspec's part for it"
            ) from error
        self._root = str(path).rstrip("/")

    @staticmethod
    def handle(scope: str, event: str, sha256: str) -> str:
        """The handle under which an event's bytes of this hash lie; the event by its key."""
        return f"{scope_token(scope)}/{event}-{sha256}"

    def put(self, scope: str, event: str, data: bytes) -> str:
        """Write an event's bytes durably and return their handle; writing the same bytes again changes nothing.

        Raises OffloadUnavailable.
        """
        handle = self.handle(scope, event, hashlib.sha256(data).hexdigest())
        path = self._path(handle)
        try:
            if not self._has(path, len(data)):
                self._write(path, data)
        except OSError as error:
            raise OffloadUnavailable(
                f"the offload store did not take {len(data):,} bytes at {path}: {error}"
            ) from error
        return handle

    def fetch(self, handle: str) -> bytes:
        """The bytes of a handle. Raises InvalidInput, OffloadMissing, OffloadDamaged or OffloadUnavailable."""
        if not _HANDLE.fullmatch(handle):
            raise InvalidInput(f"{handle[:120]!r} is no handle of the offload store: it looks like z…/…-<sha256>")
        path = self._path(handle)
        try:
            data: bytes = self._fs.cat_file(path)
        except FileNotFoundError as error:
            raise OffloadMissing(f"nothing is stored at {path}: it was erased, or the store is another one") from error
        except OSError as error:
            raise OffloadUnavailable(f"the offload store did not give {path}: {error}") from error
        if not handle.endswith(hashlib.sha256(data).hexdigest()):
            raise OffloadDamaged(
                f"{path} holds {len(data):,} bytes of another hash: it was changed or cut after writing"
            )
        return data

    def delete(self, handle: str) -> None:
        """Remove the bytes of a handle, if they are there. Raises InvalidInput or OffloadUnavailable."""
        if not _HANDLE.fullmatch(handle):
            raise InvalidInput(f"{handle[:120]!r} is no handle of the offload store: it looks like z…/…-<sha256>")
        path = self._path(handle)
        try:
            self._fs.rm_file(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise OffloadUnavailable(f"the offload store did not delete {path}: {error}") from error

    def all(self, scope: str) -> list[str]:
        """The handles of all that a scope has stored. Raises OffloadUnavailable."""
        root = f"{self._root}/{scope_token(scope)}"
        try:
            names = [str(path).rpartition("/")[2] for path in self._fs.find(root)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise OffloadUnavailable(f"the offload store did not list {root}: {error}") from error
        handles = [f"{scope_token(scope)}/{name}" for name in names]
        return sorted(handle for handle in handles if _HANDLE.fullmatch(handle))

    def _path(self, handle: str) -> str:
        token, _, name = handle.partition("/")
        return f"{self._root}/{token}/{name[:2]}/{name}"

    def _has(self, path: str, size: int) -> bool:
        try:
            return bool(self._fs.info(path)["size"] == size)
        except FileNotFoundError:
            return False

    def _write(self, path: str, data: bytes) -> None:
        """Under a name of its own first: a crash leaves no half file under the hash."""
        self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        if not isinstance(self._fs, LocalFileSystem):
            self._fs.pipe_file(path, data)  # object stores show an object only when it is whole
            return
        part = f"{path}.{uuid.uuid4().hex}.part"
        with self._fs.open(part, "wb") as file:
            file.write(data)
            _sync(file)
        self._fs.mv(part, path)


def _sync(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())
