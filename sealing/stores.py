"""Which store of keys the settings name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self
from urllib.parse import unquote, urlsplit

from memstream.sealing.env_keys import EnvironmentKeys
from memstream.sealing.file_keys import FileKeys
from memstream.sealing.keys import KeyStore
from memstream.settings import Settings

ENVIRONMENT = "env:"


@dataclass(frozen=True, slots=True)
class KeysPlace:
    """Where the keys lie, as plain values that can be sent to a child process; nowhere where nothing is sealed."""

    url: str = ""
    master: str | None = field(default=None, repr=False)
    told: str = field(default="", repr=False)

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The place that settings name."""
        master, told = settings.keys_master, settings.keys_json
        return cls(
            settings.keys,
            master.get_secret_value() if master is not None else None,
            told.get_secret_value() if told is not None else "",
        )

    def open(self) -> KeyStore | None:
        """The store of keys; None where nothing is sealed. Raises SettingsError where it can't be used."""
        if not self.url:
            return None
        if self.url == ENVIRONMENT:
            return EnvironmentKeys(self.told)
        return FileKeys(unquote(urlsplit(self.url).path), self.master)


def open_keys(settings: Settings) -> KeyStore | None:
    """The store of keys that settings name, like `KeysPlace.open`."""
    return KeysPlace.of(settings).open()
