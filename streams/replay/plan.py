"""What a replay is asked for, and what follows: its name, its lineage of topics, the settings of its processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from memstream.schemas.errors import InvalidInput
from memstream.schemas.ids import hash_of
from memstream.settings import Settings
from memstream.streams.replay.window import Window

_NAME_CHARS = 8


class Source(StrEnum):
    """Where a replay begins."""

    PATCHES = "patches"
    EVENTS = "events"


@dataclass(frozen=True, slots=True)
class Plan:
    """One replay. `into` is another Neo4j; `name` tells its lineage from others (else it follows from the rest).

    The same plan is the same replay: begun again, it goes on.
    """

    source: Source
    window: Window = field(default_factory=Window)
    into: str | None = None
    wipe: bool = False
    extractor: str | None = None
    name: str | None = None

    def check(self) -> None:
        """Raise InvalidInput for what makes no sense together."""
        if self.source is Source.PATCHES and self.extractor is not None:
            raise InvalidInput("Patches are made already: another extractor needs a replay --from events")
        if self.into is None and not self.wipe:
            if self.source is Source.PATCHES:
                raise InvalidInput(
                    "The graph has these patches: say where to rebuild, --into another Neo4j (bolt://…), or --wipe it"
                )
            if self.window.until is not None:
                raise InvalidInput(
                    "--until makes a graph of its own: say where, --into another Neo4j or --wipe this one"
                )

    @property
    def live(self) -> bool:
        """Whether the patches go into the running graph, by way of its own patches topic."""
        return self.into is None and not self.wipe

    def run(self, settings: Settings) -> str:
        """What is the same for the same command."""
        parts = (self.source, self.window.encode(), self.extractor or "", self.name or "", settings.topic_prefix)
        return hash_of("replay", *parts, self.into or "", str(self.live))

    def lineage(self, settings: Settings) -> str:
        """The prefix of its topics and groups."""
        return f"{settings.topic_prefix}.replay-{self.name or self.run(settings)[:_NAME_CHARS]}"

    def target(self, settings: Settings) -> Settings:
        """The settings of the lineage that is rebuilt, with the Neo4j that it is rebuilt in.

        From patches that is the lineage there is, from events one of its own that reads the events of it. Raises
        InvalidInput where `into` is no address.
        """
        try:
            told = settings if self.into is None else settings.at(self.into)
        except ValueError as error:
            raise InvalidInput(f"--into: {error}") from error
        if self.source is Source.PATCHES:
            return told
        own: dict[str, Any] = {
            "topic_prefix": self.lineage(settings),
            "events_prefix": settings.events_prefix or settings.topic_prefix,
            "patches_prefix": (settings.patches_prefix or settings.topic_prefix) if self.live else None,
        }
        if self.extractor is not None:
            own["extractor"] = self.extractor
        return told.model_copy(update=own)

    def __str__(self) -> str:
        """In words, for a person."""
        by = f" with {self.extractor}" if self.extractor else ""
        return f"from {self.source}, {self.window}{by}"
