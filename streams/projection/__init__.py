"""Event to patch: the pure functions of the extraction stage."""

from memstream.streams.projection.material import Findings, Material, merged, prepare
from memstream.streams.projection.project import copy_below, encode, project

__all__ = ["Findings", "Material", "copy_below", "encode", "merged", "prepare", "project"]
