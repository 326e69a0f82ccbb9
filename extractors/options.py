"""What extractors are told by the settings: plain values, which go to the processes of a pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memstream.schemas.errors import SettingsError
from memstream.settings import ENV_PREFIX, Settings

SEPARATOR = "+"
OPENAI, GLINER = "openai", "gliner"
CALL_TIMES = 4  # of the time for one message, for all of a call

Options = Mapping[str, Any]
"""By the name of an extractor, what its `create` is given; those that are not in it are given nothing."""


@dataclass(frozen=True, slots=True)
class OpenAiOptions:
    """How the model is asked, and what it may cost. Prices are of a million tokens; a limit of 0 is none."""

    url: str
    model: str
    ledger: Path
    api_key: str | None = field(default=None, repr=False)
    generation: int = 1
    context: int = 6
    seconds: float = 30.0
    parallel: int = 8
    requests_a_minute: int = 0
    tokens_a_minute: int = 0
    cost_in: float = 0.0
    cost_out: float = 0.0
    spend_a_day: float = 0.0
    answer_tokens: int = 2_000
    body: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings) -> OpenAiOptions:
        """As the settings say. Raises SettingsError where address or model are not set."""
        lacking = [
            f"{ENV_PREFIX}{name.upper()}" for name in ("openai_url", "openai_model") if getattr(settings, name) is None
        ]
        if lacking or settings.openai_url is None or settings.openai_model is None:
            raise SettingsError(
                f"The extractor openai needs {' and '.join(lacking)}: set which model to ask, and where"
            )
        key = settings.openai_api_key
        return cls(
            url=settings.openai_url,
            model=settings.openai_model,
            ledger=settings.data_dir / "run" / "openai.sqlite",
            api_key=key.get_secret_value() if key is not None else None,
            generation=settings.openai_generation,
            context=settings.openai_context,
            seconds=settings.openai_seconds,
            parallel=settings.openai_parallel,
            requests_a_minute=settings.openai_requests_a_minute,
            tokens_a_minute=settings.openai_tokens_a_minute,
            cost_in=settings.openai_cost_in,
            cost_out=settings.openai_cost_out,
            spend_a_day=settings.openai_spend_a_day,
            answer_tokens=settings.openai_answer_tokens,
            body=settings.openai_body,
        )


@dataclass(frozen=True, slots=True)
class GlinerOptions:
    """Where the model lies, and how sure it must be."""

    folder: Path
    generation: int = 1
    threshold: float = 0.5

    @classmethod
    def of(cls, settings: Settings) -> GlinerOptions:
        """As the settings say. Raises SettingsError where the folder is not set."""
        if settings.gliner_dir is None:
            raise SettingsError(f"The extractor gliner needs {ENV_PREFIX}GLINER_DIR: the folder of a GLiNER model")
        return cls(settings.gliner_dir, settings.gliner_generation, settings.gliner_threshold)


def parts_of(name: str) -> list[str]:
    """The extractors that a setting names: `spacy+openai` are two. Raises SettingsError for one named twice."""
    parts = name.split(SEPARATOR)
    if not all(parts) or len(set(parts)) < len(parts):
        raise SettingsError(
            f"extractor {name!r}: write names with {SEPARATOR} between, each once, such as spacy+openai"
        )
    return parts


def options_of(settings: Settings) -> dict[str, Any]:
    """The options of those extractors that are set and have any. Raises SettingsError for what is not set."""
    made: dict[str, Callable[[Settings], Any]] = {OPENAI: OpenAiOptions.of, GLINER: GlinerOptions.of}
    return {name: made[name](settings) for name in parts_of(settings.extractor) if name in made}


def longest_call(settings: Settings) -> float:
    """Seconds that a call may wait for a model that is asked over the network."""
    return CALL_TIMES * settings.openai_seconds if OPENAI in parts_of(settings.extractor) else 0.0
