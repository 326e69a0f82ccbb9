"""The log sealed per subject: what the topics hold can be read with a key, and an erasure destroys the key.

A key is of (scope, subject, generation); what names no subject is of the scope's own, the subject "". Who publishes and
who works on the log share a store of keys (`MEMSTREAM_KEYS`): a file, or a variable that is read only. Destroying a key
leaves a tombstone, so that a key that is gone can be told from one of another store.

Sealing is deterministic: the same key, place and bytes give the same sealed bytes (see `box`), since a session that is
extracted twice must give the same patches. What is sealed is bound to its place, and can't be moved to another.
"""

from memstream.sealing.box import is_sealed, key_ids, open_sealed, place, seal
from memstream.sealing.errors import KeyMissing, KeysReadOnly, SealBroken
from memstream.sealing.keys import Destroyed, Key, KeyRow, KeyStore
from memstream.sealing.stores import KeysPlace, open_keys

__all__ = [
    "Destroyed",
    "Key",
    "KeyMissing",
    "KeyRow",
    "KeyStore",
    "KeysPlace",
    "KeysReadOnly",
    "SealBroken",
    "is_sealed",
    "key_ids",
    "open_keys",
    "open_sealed",
    "place",
    "seal",
]
