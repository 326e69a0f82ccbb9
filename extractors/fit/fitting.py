"""Softmax regression by Adam, for the small models that ship: same input, same weights. Needs scipy.

Adam: Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2015); all samples in each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Float = npt.NDArray[np.float32]
_FIRST, _SECOND = np.float32(0.9), np.float32(0.999)


@dataclass(frozen=True, slots=True)
class Block:
    """Features of all samples: a matrix [samples, features], sparse or not, with its own step size and penalty."""

    matrix: Any
    rate: float
    l2: float
    scale: float = 1.0


def hashed_matrix(rows: Sequence[npt.NDArray[np.integer[Any]]], columns: int) -> Any:
    """The 0/1 matrix [len(rows), columns] whose row i has the columns rows[i]."""
    ends = np.cumsum([0, *(len(row) for row in rows)])
    return sparse.csr_matrix(
        (np.ones(int(ends[-1]), np.float32), np.concatenate(rows), ends), shape=(len(rows), columns)
    )


def softmax_regression(blocks: Sequence[Block], labels: npt.NDArray[np.int64], classes: int, steps: int) -> list[Float]:
    """Weights of shape [features, classes] for each block."""
    target = np.eye(classes, dtype=np.float32)[labels]
    turned = [b.matrix.T.tocsr() if sparse.issparse(b.matrix) else b.matrix.T for b in blocks]
    weights = [np.zeros((b.matrix.shape[1], classes), np.float32) for b in blocks]
    first, second = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    for step in range(1, steps + 1):
        p = sum(b.matrix @ w for b, w in zip(blocks, weights, strict=True))
        p = np.exp(p - p.max(axis=1, keepdims=True))
        error = (p / p.sum(axis=1, keepdims=True) - target) / np.float32(len(labels))
        for i, block in enumerate(blocks):
            g = turned[i] @ error / np.float32(block.scale) + np.float32(block.l2) * weights[i]
            first[i] = _FIRST * first[i] + (1 - _FIRST) * g
            second[i] = _SECOND * second[i] + (1 - _SECOND) * g * g
            m, v = first[i] / (1 - _FIRST**step), second[i] / (1 - _SECOND**step)
            weights[i] -= np.float32(block.rate) * m / (np.sqrt(v) + np.float32(1e-8))
    return weights
