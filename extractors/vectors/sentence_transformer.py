"""Embeddings by the sentence-transformers library, where someone has installed it."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from memstream.extractors.vectors.embedders import Vectors, normalised
from memstream.schemas.errors import SettingsError


class SentenceTransformerEmbedder:
    """A model of sentence-transformers, on the CPU. The library is imported when one is made."""

    def __init__(self, model: str) -> None:
        if not model:
            raise SettingsError("embedder 'sentence-transformers' needs a model: 'sentence-transformers:NAME'")
        try:
            library = importlib.import_module("sentence_transformers")
        except ImportError as error:
            raise SettingsError(
                f"embedder 'sentence-transformers:{model}' needs the package sentence-transformers, which is not"
                " installed here; run 'pip install sentence-transformers' or use the embedder 'minilm'"
            ) from error
        self._model: Any = library.SentenceTransformer(model, device="cpu")
        self.name = f"sentence-transformers:{model}"
        self.dims = int(self._model.get_sentence_embedding_dimension())

    def embed(self, texts: list[str]) -> Vectors:
        """Vectors of shape [len(texts), dims]."""
        if not texts:
            return np.zeros((0, self.dims), dtype=np.float32)
        return normalised(self._model.encode(texts, convert_to_numpy=True, show_progress_bar=False))
