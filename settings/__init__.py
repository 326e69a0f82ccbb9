"""What a process is told from outside: `load()` gives the frozen `Settings`. Importable from everywhere."""

from memstream.schemas.errors import SettingsError
from memstream.settings.load import load
from memstream.settings.model import ENV_PREFIX, Settings, usable_cores

__all__ = ["ENV_PREFIX", "Settings", "SettingsError", "load", "usable_cores"]
