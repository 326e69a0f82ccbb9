"""Errors of the models that are asked over the network; what a setting gets wrong is a SettingsError."""

from __future__ import annotations

from memstream.schemas.errors import FatalError, TransientError


class EmbedderUnavailable(TransientError):
    """The embedding endpoint did not answer, or said that it is overloaded."""


class EmbedderRefused(FatalError):
    """The embedding endpoint refused, or answered with something else than the vectors that were asked for."""
