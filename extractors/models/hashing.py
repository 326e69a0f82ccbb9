"""Names of features as bucket numbers: the same on every machine, which stored weights need.

Hashed features: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning" (2009).
"""

from __future__ import annotations

import functools
import zlib

import numpy as np
import numpy.typing as npt


def hashed(names: list[str], buckets: int) -> npt.NDArray[np.int32]:
    """The buckets of the names below `buckets`: each once, in order."""
    return np.array(sorted({_checksum(name) % buckets for name in names}), dtype=np.int32)


@functools.lru_cache(maxsize=1 << 16)
def _checksum(name: str) -> int:
    """CRC-32; most features of a text were seen in another one not long ago."""
    return zlib.crc32(name.encode("utf-8", "replace"))
