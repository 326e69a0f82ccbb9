"""Fit the entity model: `python -m memstream.extractors.train_entities TRAIN.jsonl [OUT.npz]`.

The same file gives the same weights: full-batch Adam from zero, no randomness.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memstream.extractors.candidates import candidates
from memstream.extractors.entity_model import BUCKETS, CLASSES, DENSE, dense, features, hashed
from memstream.extractors.pipeline import parse
from memstream.extractors.textprep import prepare
from memstream.extractors.tree import tree_of

STEPS = 60
RATE = 0.05
L2_SPARSE = 1e-3
L2_DENSE = 1e-2

Float = npt.NDArray[np.float32]


def _norm(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").strip(" .,;:!?\"'`()[]")
    for determiner in ("the ", "our ", "my ", "a ", "an "):
        plain = plain.removeprefix(determiner)
    return plain.removesuffix("'s").strip()


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
            ids.append(hashed(features(tree, c, lower_case)))
            vectors.append(dense(tree, c))
            classes.append(CLASSES.index(gold.get(_norm(tree.span_text(c.start, c.end)), "")))
    return ids, np.array(vectors, dtype=np.float32), np.array(classes)


def fit(ids: list[npt.NDArray[np.int32]], vectors: Float, classes: npt.NDArray[np.int64]) -> tuple[Float, Float]:
    """Softmax regression by Adam."""
    n, k = len(ids), len(CLASSES)
    rows = np.repeat(np.arange(n), [len(x) for x in ids])
    columns = np.concatenate(ids)
    target = np.eye(k, dtype=np.float32)[classes]
    scale = np.float32(vectors.std() or 1)
    parameters = [np.zeros((BUCKETS, k), np.float32), np.zeros((DENSE, k), np.float32)]
    first = [np.zeros_like(p) for p in parameters]
    second = [np.zeros_like(p) for p in parameters]
    for step in range(1, STEPS + 1):
        scores = np.zeros((n, k), np.float32)
        np.add.at(scores, rows, parameters[0][columns])
        scores += vectors @ parameters[1]
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        error = (p - target) / n
        sparse = np.zeros_like(parameters[0])
        np.add.at(sparse, columns, error[rows])
        gradients = [sparse + L2_SPARSE * parameters[0], vectors.T @ error / scale + L2_DENSE * parameters[1]]
        for i, g in enumerate(gradients):
            first[i] = 0.9 * first[i] + 0.1 * g
            second[i] = 0.999 * second[i] + 0.001 * g * g
            m, v = first[i] / (1 - 0.9**step), second[i] / (1 - 0.999**step)
            parameters[i] -= np.float32(RATE if i == 0 else RATE / 10) * m / (np.sqrt(v) + np.float32(1e-8))
    return parameters[0], parameters[1]


def main(arguments: list[str]) -> None:
    """Read, fit, write."""
    source = Path(arguments[0])
    out = Path(arguments[1]) if len(arguments) > 1 else Path(__file__).parent / "data" / "entity_types.npz"
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines() if line.strip()]
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
