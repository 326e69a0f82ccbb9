"""How long an embedder's vectors are, told without loading the model where its name says it."""

from __future__ import annotations

from memstream.extractors.vectors.embedders import create_embedder

MINILM_DIMS = 384


def dimensions_of(spec: str) -> int:
    """The dimensions of the embedder that `spec` names; 0 where nothing is embedded.

    Loads the model only for sentence-transformers, whose names do not tell. Raises SettingsError as create_embedder.
    """
    kind, _, argument = spec.partition(":")
    if kind == "minilm":
        return MINILM_DIMS
    last = argument.rpartition("#")[2]
    if kind == "openai" and last.isdigit():
        return int(last)
    return create_embedder(spec, cache_size=0).dims
