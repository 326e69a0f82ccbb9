"""Names that are codes and not words: hashes, addresses, hosts, files. They are one where they are the same code."""

from __future__ import annotations

import ipaddress
import re

from memstream.folds.sames.profile import NOTHING, Likeness

_HASH = re.compile(r"^(?:commit\s+)?([0-9a-f]{7,40})$")
_HOST = re.compile(r"^(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)+$")
_FILE = re.compile(r"^(?:\.{0,2}/)?(?:[\w.@+-]+/)+[\w.@+-]+$")
_EXTENSION = re.compile(r"\.[A-Za-z]{1,5}$")


def same_code(a: str, b: str) -> Likeness | None:
    """How like two codes of one kind are; None where they are not both of one kind."""
    for reads, compares in ((_hash, _same_hash), (_address, _same_whole), (_file, _same_file), (_host, _same_host)):
        one, other = reads(a), reads(b)
        if one and other:
            return compares(one, other)
        if (one or other) and reads in {_hash, _address}:
            return NOTHING
    return None


def _hash(name: str) -> str:
    found = _HASH.match(name.strip().lower())
    digits = found.group(1) if found else ""
    return digits if any(c.isdigit() for c in digits) and any(c.isalpha() for c in digits) else ""


def _address(name: str) -> str:
    try:
        return str(ipaddress.ip_address(name.strip()))
    except ValueError:
        return ""


def _file(name: str) -> str:
    text = name.strip()
    return re.sub(r"^\.{0,2}/", "", text) if _FILE.match(text) else ""


def _host(name: str) -> str:
    text = name.strip().lower().rstrip(".")
    return text if _HOST.match(text) and not _is_version(text) else ""


def _is_version(text: str) -> bool:
    return re.fullmatch(r"v?\d+(\.\d+)+(-?[a-z]+\d*)?", text) is not None


def _same_whole(a: str, b: str) -> Likeness:
    return Likeness(0.97, "the same address") if a == b else NOTHING


def _same_hash(a: str, b: str) -> Likeness:
    short, long = sorted((a, b), key=len)
    if short == long or (long.startswith(short) and len(long) == _WHOLE_HASH):
        return Likeness(0.97, "the same hash")
    return Likeness(0.92, "one hash begins with the other") if long.startswith(short) else NOTHING


_WHOLE_HASH = 40


def _same_file(a: str, b: str) -> Likeness:
    return Likeness(0.97, "the same path") if a == b else NOTHING


def _same_host(a: str, b: str) -> Likeness | None:
    """Hosts by their full name, or by the beginning of it: db-1.prod and db-1.prod.example.net."""
    if a == b:
        return Likeness(0.97, "the same host")
    short, long = sorted((a.split("."), b.split(".")), key=len)
    if long[: len(short)] == short and len(short) > 1:
        return Likeness(0.92, "one name is the beginning of the other's")
    return NOTHING
