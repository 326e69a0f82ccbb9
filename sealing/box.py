"""Seal and open bytes: AES-256-GCM with a synthetic nonce, under one key or under several at once.

A random nonce would make two extractions of one session differ, and a counter has nowhere to live. So the nonce is
made of what is sealed: the first 96 bits of an HMAC-SHA256, under a key of its own, over place and content. This is
the idea of SIV (RFC 5297) and of AES-GCM-SIV (RFC 8452), which not every OpenSSL offers: equal input gives equal
output, and that two are equal is all that is given away. GCM must never see one nonce with two contents; that would
take two contents under one key whose MACs begin alike, expected after some 2^48 records.

Under several keys (what was read with the help of others' events) the key is derived from all of them: where one is
destroyed, nobody has it any more.

    magic 4 | n 1 | n ids of 12 | how 1 | nonce 12 | ciphertext and tag
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import cramjam
import orjson

from memstream.schemas.errors import SettingsError
from memstream.sealing.errors import SealBroken
from memstream.sealing.keys import ID_BYTES, Key

MAGIC = b"\x00ms1"
MOST_KEYS = 200
_PLAIN, _ZSTD = b"\x00", b"\x01"
_WORTH_PACKING = 200  # bytes; sealed bytes can't be packed afterwards
_NONCE, _HEAD = 12, len(MAGIC) + 1


def place(kind: str, scope: str, *names: str) -> bytes:
    """Where something is sealed: what it is, of which scope, and of which event. It opens nowhere else."""
    return orjson.dumps([kind, scope, *names])


def seal(keys: Sequence[Key], where: bytes, content: bytes) -> bytes:
    """`content`, readable with all of the keys, at this place, and not otherwise."""
    ordered = sorted({key.id: key for key in keys}.values(), key=lambda key: key.id)
    if not 0 < len(ordered) <= MOST_KEYS:
        raise ValueError(f"{len(ordered)} keys: between 1 and {MOST_KEYS} seal something")
    cipher, nonces = derived(tuple(ordered))
    packed = bytes(cramjam.zstd.compress(content)) if len(content) >= _WORTH_PACKING else content
    how, body = (_ZSTD, packed) if len(packed) < len(content) else (_PLAIN, content)
    head = MAGIC + bytes([len(ordered)]) + b"".join(bytes.fromhex(key.id) for key in ordered) + how
    bound = head + where
    nonce = hmac.digest(nonces, len(bound).to_bytes(8, "big") + bound + body, "sha256")[:_NONCE]
    return head + nonce + bytes(cipher.encrypt(nonce, body, bound))


def is_sealed(value: bytes | None) -> bool:
    """Whether bytes are sealed."""
    return value is not None and value.startswith(MAGIC)


def key_ids(sealed: bytes) -> tuple[str, ...]:
    """The ids of all keys that it takes. Raises SealBroken."""
    if not is_sealed(sealed) or len(sealed) <= _HEAD:
        raise SealBroken("these bytes are not sealed: they were cut, or are of something else")
    end = _HEAD + sealed[_HEAD - 1] * ID_BYTES
    if end == _HEAD or len(sealed) < end + 1 + _NONCE:
        raise SealBroken("sealed bytes were cut")
    return tuple(sealed[at : at + ID_BYTES].hex() for at in range(_HEAD, end, ID_BYTES))


def open_sealed(keys: Sequence[Key], where: bytes, sealed: bytes) -> bytes:
    """What was sealed at this place; `keys` are those of `key_ids`. Raises SealBroken."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - of an extra

    ids = key_ids(sealed)
    by_id = {key.id: key for key in keys}
    cipher, _ = derived(tuple(by_id[one] for one in ids))
    start = _HEAD + len(ids) * ID_BYTES + 1
    nonce = sealed[start : start + _NONCE]
    try:
        body = bytes(cipher.decrypt(nonce, sealed[start + _NONCE :], sealed[:start] + where))
    except InvalidTag as error:
        raise SealBroken(
            "sealed bytes do not open: they were altered or moved from another place, or the key is another one"
        ) from error
    return bytes(cramjam.zstd.decompress(body)) if sealed[start - 1 : start] == _ZSTD else body


@lru_cache(maxsize=4_096)
def derived(keys: tuple[Key, ...]) -> tuple[Any, bytes]:
    """The cipher of these keys together, and the key of its nonces."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - of an extra
    except ImportError as error:
        raise SettingsError(
            "MEMSTREAM_KEYS is set, and sealing needs a package that is not installed: "
            "pip install 'memstream[encryption]'"
        ) from error
    secret = b"".join(key.secret for key in keys)
    return AESGCM(hkdf(secret, b"memstream seal v1")), hkdf(secret, b"memstream nonce v1")


def hkdf(secret: bytes, info: bytes) -> bytes:
    """32 bytes for one purpose from a secret: HKDF-SHA256 without salt (RFC 5869), one block."""
    extracted = hmac.digest(bytes(hashlib.sha256().digest_size), secret, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")
