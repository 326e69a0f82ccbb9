"""Names of features as bucket numbers: the same on every machine, which stored weights need.

Hashed features: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning" (2009).
"""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt


def hashed(names: list[str], buckets: int) -> npt.NDArray[np.int32]:
    """The bucket of each name, of shape [len(names)], below `buckets`."""
    return np.array([zlib.crc32(name.encode("utf-8", "replace")) % buckets for name in names], dtype=np.int32)
