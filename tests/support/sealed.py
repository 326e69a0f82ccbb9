"""Sealed events of several people, as records of a log, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memstream.schemas import cloudevents
from memstream.schemas.base import Data
from memstream.schemas.conversation import Message, Role
from memstream.schemas.events import Event
from memstream.sealing import KeysPlace, KeyStore
from memstream.sealing.events import seal_event
from memstream.streams.chunk import ChunkConfig, ChunkWorker
from memstream.streams.records import Output, Record, SessionResult, SessionWork

SCOPE, SOURCE = "acme/team", "agent://scout"
TIME = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def keys_at(folder: Path) -> tuple[KeysPlace, KeyStore]:
    """A file of keys in a folder, and the store."""
    place = KeysPlace((folder / "keys.db").as_uri())
    store = place.open()
    assert store is not None
    return place, store


def event(number: int, about: str | None, data: Data) -> Event:
    """An event about somebody."""
    return Event.of(
        data, id=f"e{number}", source=SOURCE, time=TIME + timedelta(seconds=number), scope=SCOPE, subject=about
    )


def said(number: int, about: str | None, text: str, session: str = "s") -> Event:
    """A message of somebody, who is its user."""
    return event(number, about, Message(session_id=session, role=Role.USER, content=text, user_id=about))


def records(events: Iterable[Event], store: KeyStore | None) -> list[Record]:
    """The events as their topics hold them, sealed where there is a store; their ids' numbers are their offsets."""
    made = []
    for one in events:
        key, value, headers = cloudevents.encode(one)
        if store is not None:
            value, headers = seal_event(store, one, value, headers)
        offset = int(one.id[1:])
        appended = int(one.time.timestamp() * 1000)
        made.append(Record(one.kind.topic.value, 0, offset, appended, key, value, tuple(headers)))
    return made


def extraction(folder: Path, keys: KeysPlace | None = None, extractor: object | None = None) -> ChunkWorker:
    """The extraction that ships, without vectors."""
    config = ChunkConfig(folder.as_uri(), embedder="none", keys=keys or KeysPlace())
    return ChunkWorker(config, extractor=extractor)  # type: ignore[arg-type] # what a test takes for one


def session(worker: ChunkWorker, log: Sequence[Record], state: bytes = b"") -> SessionResult:
    """A session's records at once."""
    [result] = worker.process([SessionWork(log[0].key, state, list(log))])
    return result


def one_by_one(worker: ChunkWorker, log: Sequence[Record]) -> tuple[list[Output], bytes]:
    """A session's records, each on its own: what they became, and the state in the end."""
    outputs: list[Output] = []
    state = b""
    for record in log:
        result = session(worker, [record], state)
        state = result.state if result.state is not None else state
        outputs += result.outputs
    return outputs, state


def patches(outputs: Iterable[Output]) -> list[bytes]:
    """The patches of outputs that have one."""
    return [output.patch for output in outputs if output.patch is not None]
