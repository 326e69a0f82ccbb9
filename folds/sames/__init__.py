"""Which entities of a scope are one, by their names and by what is known of them: pure, and no matter of order."""

from memstream.folds.sames.profile import LIKELY, SURE, Known, Profile, Same, Status
from memstream.folds.sames.resolve import resolve

__all__ = ["LIKELY", "SURE", "Known", "Profile", "Same", "Status", "resolve"]
