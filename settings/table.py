"""Every setting with its default, its present value and where that comes from: for people, so secrets are masked."""

from __future__ import annotations

import difflib
import json
import os
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from memstream.settings.model import ENV_PREFIX, Settings

# variables of the Makefile, of the command line, of docker-compose.yml, and of the local stack
_NOT_SETTINGS = {
    f"{ENV_PREFIX}{name}"
    for name in (
        "SHARED",
        "DEBUG",
        "KAFKA_PORT",
        "CONTROLLER_PORT",
        "BOLT_PORT",
        "HTTP_PORT",
        "STACK_MODE",
        "PART_TOKEN",
    )
}


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One line of the table."""

    variable: str
    default: str
    value: str
    source: str
    description: str


def describe(settings: Settings) -> list[SettingRow]:
    """All settings in the order of their definition; `source` is environment, stack.env or default."""
    stack_names = _names_in(settings)
    rows = []
    for name, field in Settings.model_fields.items():
        variable = ENV_PREFIX + name.upper()
        source = "environment" if os.environ.get(variable) else "stack.env" if variable in stack_names else "default"
        default = _default_of(field.default) if field.default_factory is None else "from the others"
        rows.append(SettingRow(variable, default, _shown(getattr(settings, name)), source, field.description or ""))
    return rows


def unknown_variables() -> dict[str, str | None]:
    """MEMSTREAM_ variables of the environment that nothing reads, each with the one that was probably meant."""
    known = [ENV_PREFIX + name.upper() for name in Settings.model_fields]
    strangers = sorted(name for name in os.environ if name.startswith(ENV_PREFIX) and name not in known)
    close = {name: difflib.get_close_matches(name, known, n=1) for name in strangers if name not in _NOT_SETTINGS}
    return {name: found[0] if found else None for name, found in close.items()}


def _names_in(settings: Settings) -> set[str]:
    if not settings.stack_file.is_file():
        return set()
    lines = settings.stack_file.read_text(encoding="utf-8").splitlines()
    return {line.partition("=")[0] for line in lines if "=" in line and not line.startswith("#")}


def _default_of(default: Any) -> str:
    return "" if default is None else _shown(default)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        return "********"
    if isinstance(value, dict):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
