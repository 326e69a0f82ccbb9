"""Field types and the base model that every event's data shares."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from memstream.schemas.extraction import EntityType
from memstream.schemas.limits import MAX_EVENT_BYTES, MAX_ID, MAX_LIST, MAX_NAME, MAX_SHORT_TEXT


class Model(BaseModel):
    """Frozen, strict, and without room for fields that nobody reads."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", ser_json_inf_nan="null")


def _no_controls(text: str) -> str:
    bad = next((c for c in text if unicodedata.category(c) in {"Cc", "Cs"}), None)
    if bad is not None:
        raise ValueError(f"holds the control character U+{ord(bad):04X}: remove it")
    if not text.strip():
        raise ValueError("is blank")
    return text


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("has no offset from UTC: write 2026-03-01T09:00:00Z or 2026-03-01T10:00:00+01:00")
    return moment


Id = Annotated[str, Field(min_length=1, max_length=MAX_ID), AfterValidator(_no_controls)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(_no_controls)]
ShortText = Annotated[str, Field(max_length=MAX_SHORT_TEXT)]
Text = Annotated[str, Field(max_length=MAX_EVENT_BYTES)]
Moment = Annotated[datetime, AfterValidator(_aware)]
When = Annotated[
    str,
    Field(
        pattern=r"^\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?)?)?)?$",
        description="A date as precise as it is known: 2026, 2026-03, 2026-03-06 or 2026-03-06T14:00",
        examples=["2026-03"],
    ),
]
Confidence = Annotated[float, Field(ge=0.0, le=1.0, strict=False)]
Metadata = Annotated[dict[str, Any], Field(default_factory=dict, max_length=MAX_LIST)]
Ids = Annotated[tuple[Id, ...], Field(strict=False, max_length=MAX_LIST)]
Names = Annotated[tuple[Name, ...], Field(strict=False, max_length=MAX_LIST)]
ShortTexts = Annotated[tuple[ShortText, ...], Field(strict=False, max_length=MAX_LIST)]


class EntityRef(Model):
    """An entity as its publisher names it: the type and a name."""

    type: EntityType
    name: Name


class EventRef(Model):
    """Another event, by its identity; `source` is the citing event's own where it is left out."""

    id: Id
    source: Id | None = None


class Data(Model):
    """Base of the data of every event type."""

    def key_part(self) -> str:
        """What keys the event inside its scope ("" where the scope alone does): see topics."""
        return ""

    def extra_metadata(self) -> dict[str, Any]:
        """The publisher's own metadata, if the type has room for it."""
        metadata: dict[str, Any] = getattr(self, "metadata", {})
        return metadata
