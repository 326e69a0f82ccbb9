"""Ports on loopback: the one asked for, the one used before, or a free one."""

from __future__ import annotations

import secrets
import socket

from memstream.schemas.errors import StackError

LOOPBACK = "127.0.0.1"
_FIRST, _COUNT, _TRIES = 20_000, 12_000, 1_000
_named: set[int] = set()


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of loopback now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def any_free() -> int:
    """A port that nobody listens on at this moment, and that this process has not named before.

    It lies below those that systems give to outgoing connections: one of these would take it before its server starts.
    """
    for _ in range(_TRIES):
        port = _FIRST + secrets.randbelow(_COUNT)
        if port not in _named and is_free(port):
            _named.add(port)
            return port
    raise StackError(f"No port between {_FIRST} and {_FIRST + _COUNT} is free: stop what listens there.")


def choose(
    what: str, wanted: int | None, usual: int, before: int | None = None, taken: frozenset[int] = frozenset()
) -> int:
    """The port for `what`: exactly `wanted` if given, else the one of before, the usual one, or any that is free.

    Raises StackError if `wanted` is taken.
    """
    if wanted is not None:
        if not is_free(wanted) or wanted in taken:
            raise StackError(f"Port {wanted} for {what} is taken by another process. Name another one, or none at all.")
        return wanted
    for port in (before, usual):
        if port is not None and port not in taken and is_free(port):
            return port
    return any_free()
