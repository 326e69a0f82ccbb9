"""What the extraction stage remembers of a session between chunks: small, and a function of the session's log alone."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from memstream.schemas.errors import FatalError
from memstream.sealing import Key

VERSION = 1
SEALED_VERSION = 2
KEPT_EVENTS = 256
_CHARS = 16  # hex digits kept of each event key: 64 bits tell 256 events apart


@dataclass(slots=True)
class SessionState:
    """The offset of the last record covered, the events seen last, and the extractor's own state.

    Where the log is sealed, `keys` are those of all whose words the extractor's state may hold, `by_event` says whose
    events it still names, and `sealed` is what was read and is not opened yet. Offset and events stay in clear.
    """

    covered: int = -1
    seen: dict[str, None] = field(default_factory=dict)
    extractor: bytes = b""
    keys: dict[str, Key] = field(default_factory=dict)
    by_event: dict[str, Key] = field(default_factory=dict)
    sealed: bytes = b""

    def has_seen(self, event_key: str) -> bool:
        """Whether this event is among the last that were taken in."""
        return event_key[:_CHARS] in self.seen

    def take_in(self, event_key: str) -> None:
        """Remember an event; the oldest goes where there are too many."""
        self.seen[event_key[:_CHARS]] = None
        if len(self.seen) > KEPT_EVENTS:
            del self.seen[next(iter(self.seen))]

    def remember(self, event_key: str, key: Key) -> None:
        """What the extractor keeps from now on may be of this event, which is sealed with this key."""
        self.keys[key.id] = key
        self.by_event[event_key] = key

    def begin_anew(self) -> None:
        """Nothing that was said before explains anything any more."""
        self.extractor, self.sealed = b"", b""
        self.keys.clear()
        self.by_event.clear()

    def unseal(self, told: Mapping[str, Any], keys: Mapping[str, Key]) -> None:
        """Take in what was sealed, with the keys that it took."""
        self.sealed = b""
        self.extractor = base64.b64decode(told["state"])
        self.keys = {one: keys[one] for one in told["keys"]}
        self.by_event = {event: keys[one] for event, one in told["by"].items()}

    def encode(self, seal: Callable[[bytes], bytes] | None = None) -> bytes:
        """The value of the session's record in the state topic; `seal` seals what the extractor keeps."""
        document: dict[str, Any] = {
            "v": VERSION,
            "offset": self.covered,
            "seen": base64.b64encode(bytes.fromhex("".join(self.seen))).decode(),
            "state": base64.b64encode(self.extractor).decode(),
        }
        if self.sealed or (self.keys and seal is not None):
            sealed = self.sealed or (seal(self._to_seal()) if seal is not None else b"")
            document |= {"v": SEALED_VERSION, "state": "", "sealed": base64.b64encode(sealed).decode()}
        return orjson.dumps(document)

    def _to_seal(self) -> bytes:
        # events that the extractor does not name any more can't be used: so it makes no difference when this is written
        named = {event: key.id for event, key in self.by_event.items() if event.encode() in self.extractor}
        told = {"state": base64.b64encode(self.extractor).decode(), "keys": list(self.keys), "by": named}
        return orjson.dumps(told)

    @classmethod
    def decode(cls, value: bytes) -> SessionState:
        """The state of a record; a new one from b"". Raises FatalError for what this code can't read."""
        if not value:
            return cls()
        try:
            document = orjson.loads(value)
            if document["v"] not in {VERSION, SEALED_VERSION}:
                raise FatalError(
                    f"a session state has version {document['v']}, this reads {SEALED_VERSION}: run the newer worker, "
                    "or rebuild into a new lineage of topics"
                )
            seen = base64.b64decode(document["seen"], validate=True).hex()
            keys = [seen[i : i + _CHARS] for i in range(0, len(seen), _CHARS)]
            state = base64.b64decode(document["state"], validate=True)
            sealed = base64.b64decode(document.get("sealed", ""), validate=True)
            return cls(int(document["offset"]), dict.fromkeys(keys), state, sealed=sealed)
        except (orjson.JSONDecodeError, binascii.Error, KeyError, TypeError, ValueError) as error:
            raise FatalError(f"a session state can't be read ({error}): the state topic holds foreign bytes") from error
