"""Matrix products for the spaCy pipeline, by onnxruntime.

Half the time of a parse is matrix products. The library that spaCy brings for them knows few processors; on the others
it falls back to code several times slower than they allow. onnxruntime, which the embedder needs anyway, is quick on
all of them. And the product of a row does not depend on the rows beside it, bit for bit: without that a text would be
read differently in another batch. It is tried when the pipeline is made; where it does not hold, spaCy's own is kept.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from spacy.language import Language
from thinc.api import NumpyOps

Floats = npt.NDArray[np.float32]

# A model of one node, z = x · yᵀ, with all sizes open: Gemm(transB=1), opset 13, as its 116 bytes in ONNX's format.
_GEMM = bytes.fromhex(
    "080712003a680a1e0a01780a017912017a220447656d6d2a0d0a067472616e73421801a001021201675a150a017812100a0e0801120a0a"
    "0312016d0a0312016b5a150a017912100a0e0801120a0a0312016e0a0312016b62150a017a12100a0e0801120a0a0312016d0a0312016e"
    "42040a00100d"
)
_TRIED_ROWS = (*range(1, 34), 64, 100, 257, 1_000)
_TRIED_SHAPES = ((288, 288), (480, 288), (96, 64), (96, 1_664), (64, 74))  # inner and outer size, as in spaCy's models


class RowwiseOps(NumpyOps):  # type: ignore[misc] # thinc is compiled
    """thinc's operations on a CPU, with x · yᵀ by onnxruntime."""

    def __init__(self) -> None:
        super().__init__()
        self._product = _session()

    def gemm(
        self, x: Floats, y: Floats, *, out: Floats | None = None, trans1: bool = False, trans2: bool = False
    ) -> Floats:
        """The product of two matrices; the form that models need to predict is the quick one."""
        if trans1 or not trans2 or not len(x):
            return self._usual(x, y, out=out, trans1=trans1, trans2=trans2)
        found = product(self._product, x, y)
        if out is None:
            return found
        out[:] = found
        return out

    def _usual(self, x: Floats, y: Floats, **how: Any) -> Floats:
        found: Floats = super().gemm(x, y, **how)
        return found


def quicken(nlp: Language) -> None:
    """Let the pipeline's models use RowwiseOps, if that gives every row the same whatever is beside it."""
    if not is_rowwise():
        return
    ops = RowwiseOps()
    for _, component in nlp.pipeline:
        model = getattr(component, "model", None)
        for layer in model.walk() if model is not None else ():
            layer.ops = ops


def product(session: onnxruntime.InferenceSession, x: Floats, y: Floats) -> Floats:
    """X · yᵀ. One row alone would go another way, so it is given a companion."""
    rows = np.concatenate([x, x]) if len(x) == 1 else x
    found: Floats = np.asarray(session.run(None, {"x": rows, "y": y})[0], dtype=np.float32)
    return found[: len(x)]


@functools.cache
def is_rowwise() -> bool:
    """Whether on this processor a row has the same product in any number of others."""
    session = _session()
    numbers = np.random.default_rng(0)
    for inner, outer in _TRIED_SHAPES:
        weights = numbers.standard_normal((outer, inner), dtype=np.float32)
        rows = numbers.standard_normal((max(_TRIED_ROWS), inner), dtype=np.float32)
        whole = product(session, rows, weights)
        if any(not np.array_equal(product(session, rows[-n:], weights), whole[-n:]) for n in _TRIED_ROWS):
            return False
    return True


@functools.cache
def _session() -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(_GEMM, options, providers=["CPUExecutionProvider"])
