"""Field types and the base model that every event's data shares."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timezone
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo

from memstream.schemas.extraction import EntityType
from memstream.schemas.json_values import as_json
from memstream.schemas.limits import MAX_EVENT_BYTES, MAX_ID, MAX_LIST, MAX_NAME, MAX_SHORT_TEXT

_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?([Zz]|[+-]\d{2}:?\d{2})?", re.ASCII)

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # Unicode's Cc and Cs


class Model(BaseModel):
    """Frozen, strict, and without room for fields that nobody reads."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


def _no_controls(text: str) -> str:
    bad = _CONTROL.search(text)
    if bad is not None:
        raise ValueError(f"holds the control character U+{ord(bad.group()):04X}: remove it")
    if not text.strip():
        raise ValueError("is blank")
    return text


def _written_out(value: Any) -> Any:
    # a number would be read as seconds since 1970, and so would a string of digits
    if not isinstance(value, datetime) and not (isinstance(value, str) and _MOMENT.fullmatch(value)):
        raise ValueError("is not a time such as 2026-03-01T09:00:00Z or 2026-03-01T10:00:00+01:00")
    return value


def _aware(moment: datetime) -> datetime:
    offset = moment.utcoffset()
    if offset is None:
        raise ValueError("has no offset from UTC: write 2026-03-01T09:00:00Z or 2026-03-01T10:00:00+01:00")
    try:
        in_utc = moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("lies outside the years 1 to 9999 in UTC") from error
    # offsets are written in whole minutes, and local mean times of old have seconds; a fixed offset, since a zone's
    # ambiguous hours equal nothing in another zone
    return in_utc if offset.seconds % 60 or offset.microseconds else moment.astimezone(timezone(offset))


def _calendar_date(text: str) -> str:
    year, month, day = ([int(part) for part in text[:10].split("-")] + [1, 1])[:3]
    try:
        date(year, month, day)
    except ValueError as error:
        raise ValueError(f"is no date of the calendar: {error}") from error
    return text


def _json_value(value: Any, info: ValidationInfo) -> Any:
    # what was parsed from JSON is JSON already; its numbers were looked at with the bytes
    return value if info.mode == "json" else as_json(value)


Id = Annotated[str, Field(min_length=1, max_length=MAX_ID), AfterValidator(_no_controls)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(_no_controls)]
ShortText = Annotated[str, Field(max_length=MAX_SHORT_TEXT)]
Text = Annotated[str, Field(max_length=MAX_EVENT_BYTES)]
Moment = Annotated[datetime, Field(strict=False), BeforeValidator(_written_out), AfterValidator(_aware)]
When = Annotated[
    str,
    Field(
        pattern=r"^\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?)?)?)?$",
        description="A date as precise as it is known: 2026, 2026-03, 2026-03-06 or 2026-03-06T14:00",
        examples=["2026-03"],
    ),
    AfterValidator(_calendar_date),
]
Confidence = Annotated[float, Field(ge=0.0, le=1.0)]
JsonValue = Annotated[Any, AfterValidator(_json_value)]
JsonObject = Annotated[dict[str, Any], AfterValidator(_json_value)]
Metadata = Annotated[JsonObject, Field(max_length=MAX_LIST)]
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
