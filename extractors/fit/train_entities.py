"""Fits the entity model to annotated dialogues: `python -m memstream.extractors.fit.train_entities TRAIN.jsonl…`.

The same files give the same weights: all samples in each step, from zero, no randomness. Needs scipy (`pip install
memstream[train]`).
"""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memstream.extractors.fit.fitting import Block, Float, hashed_matrix, softmax_regression
from memstream.extractors.models.entity_model import BUCKETS, CLASSES, dense, features
from memstream.extractors.models.hashing import hashed
from memstream.extractors.parse.candidates import candidates
from memstream.extractors.parse.pipeline import parse
from memstream.extractors.parse.tree import tree_of
from memstream.extractors.text.textprep import prepare

STEPS = 120
RATE = 0.05
L2_SPARSE = 1e-4
L2_DENSE = 1e-2


def _norm(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").strip(" .,;:!?\"'`()[]")
    for determiner in ("the ", "our ", "my ", "a ", "an "):
        plain = plain.removeprefix(determiner)
    return plain.removesuffix("'s").strip()


def dialogues(files: list[str]) -> list[dict[str, Any]]:
    """The annotated dialogues of these files."""
    return [json.loads(line) for f in files for line in Path(f).read_text("utf-8").splitlines() if line.strip()]


def samples(rows: list[dict[str, Any]]) -> tuple[list[npt.NDArray[np.int32]], Float, npt.NDArray[np.int64]]:
    """Hashed features, dense features and class of every candidate of the annotated dialogues."""
    messages = [(row, m, w) for row in rows for m in row["messages"] for w in prepare(m["text"]).windows]
    ids: list[npt.NDArray[np.int32]] = []
    vectors = []
    classes = []
    for (row, message, window), doc in zip(messages, parse([w.text for _, _, w in messages]), strict=True):
        tree = tree_of(doc, window.start)
        gold: dict[str, str] = {}
        for entity in row["entities"]:
            gold.setdefault(_norm(entity["name"]), entity["type"])
            for mention in entity["mentions"]:
                if mention["message"] == message["id"]:
                    gold[_norm(mention["text"])] = entity["type"]
        lower_case = not any(c.isupper() for c in tree.text)
        for c in candidates(tree):
            ids.append(hashed(features(tree, c, lower_case), BUCKETS))
            vectors.append(dense(tree, c))
            classes.append(CLASSES.index(gold.get(_norm(tree.span_text(c.start, c.end)), "")))
    return ids, np.array(vectors, dtype=np.float32), np.array(classes)


def fit(ids: list[npt.NDArray[np.int32]], vectors: Float, classes: npt.NDArray[np.int64]) -> tuple[Float, Float]:
    """Weights of the hashed features and of the vectors."""
    blocks = [
        Block(hashed_matrix(ids, BUCKETS), RATE, L2_SPARSE),
        Block(vectors, RATE / 10, L2_DENSE, float(vectors.std() or 1)),
    ]
    sparse, dense_weights = softmax_regression(blocks, classes, len(CLASSES), STEPS)
    return sparse, dense_weights


def main(arguments: list[str]) -> None:
    """Read, fit, write."""
    out = Path(__file__).parents[1] / "data" / "entity_types.npz"
    rows = dialogues(arguments)
    ids, vectors, classes = samples(rows)
    sparse, weights = fit(ids, vectors, classes)
    scores = np.array([sparse[i].sum(axis=0) for i in ids]) + vectors @ weights
    right = float((scores.argmax(axis=1) == classes).mean())
    np.savez_compressed(out, sparse=sparse.astype(np.float16), vectors=weights.astype(np.float16))
    sys.stdout.write(
        f"{len(ids)} candidates of {len(rows)} dialogues, {right:.3f} right on them, written to {out.name}\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
