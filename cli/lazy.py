"""A group of commands that imports the module of a command when it is called, and not before."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from memstream.cli.table import COMMANDS, Entry
from memstream.schemas.errors import UsageError

_ENTRIES = {entry.name: entry for entry in COMMANDS}


class MissingExtra(UsageError):
    """A command needs packages that are not installed; the message says which command installs them."""


class LazyGroup(TyperGroup):
    """The commands of the table. Help lists them from the table alone."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the table, as far as their modules are there."""
        del ctx
        return [entry.name for entry in COMMANDS if importlib.util.find_spec(_module_of(entry)) is not None]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command itself; while help is written, only its name and summary."""
        del ctx
        entry = _ENTRIES.get(cmd_name)
        if entry is None or importlib.util.find_spec(_module_of(entry)) is None:
            return None
        if self._listing:
            return TyperCommand(entry.name, help=entry.help, rich_help_panel=entry.panel)
        return load_command(entry)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write help without importing any command."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False


def load_command(entry: Entry) -> Any:
    """Import a command. Raises MissingExtra if a package of its extra is not installed."""
    module_name, _, attribute = entry.target.partition(":")
    try:
        target = getattr(importlib.import_module(module_name), attribute)
    except ModuleNotFoundError as error:
        raise missing_extra(error, entry.name) from error
    if not isinstance(target, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode="rich")
        app.command(entry.name)(target)
        target = app
    command = typer.main.get_command(target)
    command.name = entry.name
    return command


def missing_extra(error: ModuleNotFoundError, command: str | None) -> Exception:
    """What to tell when an import failed; the error itself if it is a module of ours, which is a bug."""
    if error.name is None or error.name.split(".")[0] == "memstream":
        return error
    entry = _ENTRIES.get(command or "")
    extra = entry.extra if entry is not None and entry.extra else "all"
    called = f"`memstream {entry.name}`" if entry is not None else "This"
    return MissingExtra(f"{called} needs {error.name}, which is not installed: pip install 'memstream[{extra}]'")


def _module_of(entry: Entry) -> str:
    return entry.target.partition(":")[0]
