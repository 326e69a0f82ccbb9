"""Reading the settings, with errors that name the variable and what it should be."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from memstream.schemas.errors import SettingsError
from memstream.settings.model import ENV_PREFIX, Settings


def load(**overrides: Any) -> Settings:
    """The settings of this process. `overrides` are fields by name and win over everything else.

    Raises SettingsError if a variable of the environment, of stack.env or an override is not valid.
    """
    try:
        return Settings(**overrides)
    except ValidationError as error:
        raise SettingsError(_explain(error)) from error


def _explain(error: ValidationError) -> str:
    lines = []
    for item in error.errors(include_input=False, include_url=False):
        if item["type"] == "default_factory_not_called":
            continue  # follows from another field's error
        name = ENV_PREFIX + str(item["loc"][0]).upper() if item["loc"] else "together"
        lines.append(f"{name}: {item['msg'].removeprefix('Value error, ')}")
    wrong = "\n  ".join(lines)
    return f"The settings are not valid.\n  {wrong}\nMend or unset what is named; `memstream settings` then lists all."
