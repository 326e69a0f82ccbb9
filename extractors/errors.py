"""Errors of models: those that are asked over the network and those that ship; a wrong setting is a SettingsError."""

from __future__ import annotations

from memstream.schemas.errors import FatalError, TransientError


class EmbedderUnavailable(TransientError):
    """The embedding endpoint did not answer, or said that it is overloaded."""


class EmbedderRefused(FatalError):
    """The embedding endpoint refused, or answered with something else than the vectors that were asked for."""


class ModelBroken(FatalError):
    """A file of fitted weights that ships with Memstream can't be read."""
