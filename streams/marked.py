"""Events whose patches were made without one of their extractors, found in the topic of patches."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import orjson
from aiokafka import ConsumerRecord

from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.log_reader import read_to_end
from memstream.streams.replay.window import Window

_MARK = b'"missing"'  # inside of a text its quotation marks would be escaped


class Place(NamedTuple):
    """Where an event lies in the log; `topic` is without its prefix."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Marked:
    """An event, and the extractors that the best of its patches lacks."""

    scope: str
    key: str
    place: Place
    generation: int
    missing: tuple[str, ...]


async def find_marked(settings: Settings, window: Window, names: Collection[str] = ()) -> list[Marked]:
    """The events in the window whose best patch lacks one of these extractors (none: any), as they lie in the log.

    Raises BrokerUnavailable, and TopicMismatch where there is no topic of patches.
    """
    topic = settings.topic(Topic.PATCHES)
    best: dict[str, Marked] = {}
    partitions: set[int] = set()
    async for record in read_to_end(settings, topic):
        if _MARK in (record.value or b"") and (one := _told(record, window)) is not None and one.missing:
            _keep(best, one)
            partitions.add(record.partition)
    if not best:
        return []
    scopes = {one.scope.encode() for one in best.values()}
    # a better one may lie before as well as behind
    async for record in read_to_end(settings, topic, partitions):
        if record.key in scopes and (one := _told(record, window)) is not None and one.key in best:
            _keep(best, one)
    wanted = [one for one in best.values() if (set(names) & set(one.missing) if names else one.missing)]
    return sorted(wanted, key=lambda one: one.place)


def _keep(best: dict[str, Marked], one: Marked) -> None:
    held = best.get(one.key)
    if held is None or one.generation > held.generation:
        best[one.key] = one


def _told(record: ConsumerRecord, window: Window) -> Marked | None:
    """What a patch tells in clear, sealed or not; None for what is no patch, or outside of the window."""
    try:
        raw = orjson.loads(record.value or b"")
        origin = raw["origin"]
        place = Place(origin["topic"], int(origin["partition"]), int(origin["offset"]))
        one = Marked(origin["scope"], origin["key"], place, int(raw["generation"]), tuple(raw.get("missing", ())))
        return one if window.takes(one.scope, origin["recorded_at"]) else None
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return None  # the sink has made it a dead letter
