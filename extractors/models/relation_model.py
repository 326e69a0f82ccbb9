"""Which relation two arguments stand in, if any: a softmax over hashed features, fitted by `train_relations`.

The weights are sparse: a table leads from a feature's bucket to its row, row 0 (all zeros) where it has none.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from memstream.extractors.errors import ModelBroken
from memstream.extractors.models.hashing import hashed

BUCKETS = 1 << 18
NONE = ""
FILE = "relations.npz"

Scores = npt.NDArray[np.float32]


class RelationModel:
    """The fitted weights.

    `rows` of shape [BUCKETS] (row of each bucket), `weights` of shape [rows, classes]; `classes` begins with NONE;
    `allowed` are the (kinds of the pair, class) that were seen in training.
    """

    def __init__(
        self, rows: npt.NDArray[np.int32], weights: Scores, classes: list[str], allowed: dict[str, list[int]]
    ) -> None:
        self._rows, self._weights, self._allowed = rows, weights, allowed
        self.classes = classes
        self._index = {name: i for i, name in enumerate(classes)}

    def scores(self, named: list[list[str]]) -> Scores:
        """Probabilities of shape [pairs, classes], rounded so that no last bit decides."""
        out = np.stack([self._weights[self._rows[hashed(names, BUCKETS)]].sum(axis=0) for names in named])
        out = np.exp(out - out.max(axis=1, keepdims=True))
        return np.asarray(np.round(out / out.sum(axis=1, keepdims=True), 4), dtype=np.float32)

    def of(self, score: Scores, predicate: str) -> float | None:
        """The probability of a predicate; None for one that the model does not know."""
        i = self._index.get(predicate)
        return None if i is None else float(score[i])

    def relates(self, kinds: str) -> bool:
        """Whether a pair of these kinds may stand in any relation."""
        return kinds in self._allowed

    def best(self, score: Scores, kinds: str) -> tuple[str, float]:
        """The likeliest relation of a pair of these kinds and its probability; (NONE, 0) where none may be."""
        allowed = self._allowed.get(kinds)
        if not allowed:
            return NONE, 0.0
        i = max(allowed, key=lambda j: float(score[j]))
        return self.classes[i], float(score[i])


def model_of(stored: Mapping[str, npt.NDArray[Any]]) -> RelationModel:
    """The model of what `fit.train_relations.fit` gives. Raises KeyError or ValueError where it is broken."""
    rows = np.zeros(BUCKETS, dtype=np.int32)
    rows[stored["buckets"]] = np.arange(1, len(stored["buckets"]) + 1)
    weights = np.vstack([np.zeros((1, stored["weights"].shape[1])), stored["weights"]]).astype(np.float32)
    classes = [str(name) for name in stored["classes"]]
    allowed: dict[str, list[int]] = {}
    for kinds, i in zip(stored["kinds"], stored["kind_classes"], strict=True):
        allowed.setdefault(str(kinds), []).append(int(i))
    return RelationModel(rows, weights, classes, allowed)


@functools.cache
def relation_model() -> RelationModel:
    """The model that ships with Memstream, loaded once per process. Raises ModelBroken where its file is broken."""
    with (resources.files("memstream.extractors") / "data" / FILE).open("rb") as f:
        try:
            return model_of(np.load(f))
        except (KeyError, ValueError) as error:
            raise ModelBroken(f"the model of relations, {FILE}, can't be read: {error}; reinstall memstream") from error
