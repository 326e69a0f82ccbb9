"""At the door of the extraction stage: a record becomes an event with its origin, or is refused with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pydantic import TypeAdapter, ValidationError

from memstream.schemas import cloudevents
from memstream.schemas.base import Id
from memstream.schemas.errors import InvalidEvent, InvalidScope, Reason
from memstream.schemas.events import Event, recorded_at
from memstream.schemas.ids import event_key, order_key, utc_text
from memstream.schemas.limits import MAX_ID
from memstream.schemas.patch import REFUSED_GENERATION, Origin, Patch, Verdict
from memstream.schemas.scope import parse_scope
from memstream.schemas.topics import KEY_SEPARATOR, record_key
from memstream.streams.records import Output, Record, Refusal

NO_EXTRACTOR = "none"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ID = TypeAdapter(Id)
_SHOWN = 200

Identity = tuple[str, str, str, str]
"""Scope, source, id and type of an event."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A record that is an event of ours."""

    record: Record
    event: Event
    origin: Origin


def admit(record: Record) -> Admitted:
    """The event of a record. Raises InvalidEvent with a reason that a person understands."""
    event = cloudevents.decode(record.headers, record.value, record.topic)
    if record.key != event.record_key:
        raise InvalidEvent(
            Reason.WRONG_KEY,
            f"the record's key is {_shown(record.key)}, but this event belongs under {_shown(event.record_key)}: "
            "publish with the client, or key records by scope and session",
        )
    return Admitted(record, event, origin_of(event, record, recorded_at(event, _appended(record))))


def origin_of(event: Event, record: Record, recorded: datetime) -> Origin:
    """Where an event lies in the log, as its patch tells it."""
    return Origin(
        scope=event.scope,
        source=event.source,
        id=event.id,
        key=event.key,
        type=event.type,
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        time=utc_text(event.time),
        recorded_at=utc_text(recorded),
        order=event.order,
        subject=event.subject,
        session_id=getattr(event.data, "session_id", None),
        agent_id=getattr(event.data, "agent_id", None),
        traceparent=event.traceparent,
    )


def refuse(record: Record, refusal: Refusal, told: str | None = None) -> Output:
    """The dead letter of a record; with a patch that bears the verdict, where the record tells whose event it is.

    `told`: what the patch says was wrong, where that must not stand in clear.
    """
    identity = identity_of(record)
    if identity is None:
        return Output(record, refusal=refusal)
    recorded = appended_text(record)
    reason = f"{refusal.reason.value}: {refusal.message if told is None else told}"
    patch = without_rows(record, identity, Verdict.DEAD_LETTERED, reason, time=recorded, recorded_at=recorded)
    return Output(record, patch_key=record_key(patch.origin.scope), patch=patch.encode(), refusal=refusal)


def without_rows(
    record: Record,
    identity: Identity,
    verdict: Verdict,
    reason: str,
    *,
    time: str,
    recorded_at: str,
    sequence: str | None = None,
    subject: str | None = None,
    session_id: str | None = None,
) -> Patch:
    """The patch of a record that says nothing to the graph: that there was an event, and why nothing is read of it.

    It has the lowest generation: any patch of its event that says something counts before it.
    """
    scope, source, event_id, kind = identity
    origin = Origin(
        scope=scope,
        source=source,
        id=event_id,
        key=event_key(scope, source, event_id),
        type=kind,
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        time=time,
        recorded_at=recorded_at,
        order=order_key(time, sequence, source, event_id),
        subject=subject,
        session_id=session_id,
    )
    return Patch(generation=REFUSED_GENERATION, extractor=NO_EXTRACTOR, origin=origin, verdict=verdict, reason=reason)


def appended_text(record: Record) -> str:
    """When the broker took a record, as a text."""
    return utc_text(_appended(record))


def _appended(record: Record) -> datetime:
    return _EPOCH + timedelta(milliseconds=record.appended_ms)


def identity_of(record: Record) -> Identity | None:
    """Scope, source, id and type of a record that is no event otherwise; None where they can't be read."""
    attributes: dict[str, object] = {}
    for name, raw in record.headers:
        if name.lower().startswith("ce_"):
            try:
                attributes[name.lower()[3:]] = raw.decode()
            except UnicodeDecodeError:
                return None
    if "id" not in attributes:
        attributes = _structured(record)
    try:
        scope = parse_scope(str(attributes["scope"]))
        source = _ID.validate_python(attributes["source"])
        event_id = _ID.validate_python(attributes["id"])
    except (KeyError, InvalidScope, ValidationError):
        return None
    return scope, source, event_id, str(attributes.get("type", ""))[:MAX_ID]


def _structured(record: Record) -> dict[str, object]:
    try:
        cloudevents.check_size(len(record.value or b""))
        parsed = cloudevents.parse_json(record.value or b"")
    except InvalidEvent:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _shown(key: bytes | None) -> str:
    if key is None:
        return "missing"
    text = key[:_SHOWN].decode(errors="replace").replace(KEY_SEPARATOR, " + ")
    return repr(text)
