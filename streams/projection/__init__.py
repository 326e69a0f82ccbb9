"""Event to patch: the pure functions of the extraction stage."""

from memstream.streams.projection.material import Findings, Material, merged, prepare
from memstream.streams.projection.project import encode, project

__all__ = ["Findings", "Material", "encode", "merged", "prepare", "project"]
