"""Quicker matrix products: the same answers, and a row that does not depend on its neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from thinc.api import NumpyOps

from memstream.extractors.parse.matmul import RowwiseOps, is_rowwise
from memstream.extractors.parse.pipeline import load_bare, pipeline

TEXTS = [
    "Mara moved to Leipzig in May and now works at Fenwick.",
    "The checkout service depends on payments-gw, which Tom owns.",
    "ok",
    "Don't deploy on Fridays. Ana's brother, Luis, broke staging twice last week!",
    "",
]
PARTS: list[int | str] = ["TAG", "POS", "DEP", "HEAD", "LEMMA", "ENT_TYPE", "ENT_IOB"]


@pytest.fixture(scope="module")
def numbers() -> np.random.Generator:
    """The same on every run."""
    return np.random.default_rng(7)


def test_products_are_those_of_thinc(numbers: np.random.Generator) -> None:
    """Close to the last digits in the form that models use, into a given array too, and the very same in others."""
    ours, usual = RowwiseOps(), NumpyOps()
    x = numbers.standard_normal((37, 96), dtype=np.float32)
    y = numbers.standard_normal((64, 96), dtype=np.float32)
    wanted = usual.gemm(x, y, trans2=True)
    assert np.allclose(ours.gemm(x, y, trans2=True), wanted, atol=1e-4)
    out = np.zeros_like(wanted)
    assert ours.gemm(x, y, trans2=True, out=out) is out
    assert np.allclose(out, wanted, atol=1e-4)
    assert np.array_equal(ours.gemm(x, y.T.copy()), usual.gemm(x, y.T.copy()))
    assert ours.gemm(x[:0], y, trans2=True).shape == (0, 64)


def test_a_row_has_the_same_product_in_any_company(numbers: np.random.Generator) -> None:
    """Bit for bit, alone too: that is what lets a text be read the same in any batch."""
    assert is_rowwise()
    ops = RowwiseOps()
    x = numbers.standard_normal((50, 288), dtype=np.float32)
    y = numbers.standard_normal((288, 288), dtype=np.float32)
    whole = ops.gemm(x, y, trans2=True)
    for rows in (slice(0, 1), slice(3, 5), slice(7, 50), slice(49, 50)):
        assert np.array_equal(ops.gemm(x[rows], y, trans2=True), whole[rows])


def test_the_models_say_what_they_say_bare() -> None:
    """Tags, trees, lemmas and names are those of the pipeline as spaCy loads it."""
    ours, bare = pipeline()[0], load_bare()[0]
    bare.tokenizer = ours.tokenizer
    for ours_doc, bare_doc in zip(ours.pipe(TEXTS), bare.pipe(TEXTS), strict=True):
        assert np.array_equal(ours_doc.to_array(PARTS), bare_doc.to_array(PARTS))


def test_all_layers_are_quickened() -> None:
    """None is left with the slow product, and vectors do not depend on the batch."""
    nlp, _ = pipeline()
    models = [model for _, part in nlp.pipeline if (model := getattr(part, "model", None))]
    layers = [layer for model in models for layer in model.walk()]
    assert layers
    assert all(isinstance(layer.ops, RowwiseOps) for layer in layers)
    alone = [nlp(text).tensor.tobytes() for text in TEXTS]
    assert [doc.tensor.tobytes() for doc in nlp.pipe(TEXTS[::-1])][::-1] == alone
