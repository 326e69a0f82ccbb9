"""Ports on loopback: the one asked for, the one used before, or a free one."""

from __future__ import annotations

import socket

from memstream.schemas.errors import StackError

LOOPBACK = "127.0.0.1"


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
    """A port that nobody listens on at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
    return port


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
