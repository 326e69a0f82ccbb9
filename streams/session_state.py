"""What the extraction stage remembers of a session between chunks: small, and a function of the session's log alone."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field

import orjson

from memstream.schemas.errors import FatalError

VERSION = 1
KEPT_EVENTS = 256
_CHARS = 16  # hex digits kept of each event key: 64 bits tell 256 events apart


@dataclass(slots=True)
class SessionState:
    """The offset of the last record covered, the events seen last, and the extractor's own state."""

    covered: int = -1
    seen: dict[str, None] = field(default_factory=dict)
    extractor: bytes = b""

    def has_seen(self, event_key: str) -> bool:
        """Whether this event is among the last that were taken in."""
        return event_key[:_CHARS] in self.seen

    def take_in(self, event_key: str) -> None:
        """Remember an event; the oldest goes where there are too many."""
        self.seen[event_key[:_CHARS]] = None
        if len(self.seen) > KEPT_EVENTS:
            del self.seen[next(iter(self.seen))]

    def encode(self) -> bytes:
        """The value of the session's record in the state topic."""
        document = {
            "v": VERSION,
            "offset": self.covered,
            "seen": base64.b64encode(bytes.fromhex("".join(self.seen))).decode(),
            "state": base64.b64encode(self.extractor).decode(),
        }
        return orjson.dumps(document)

    @classmethod
    def decode(cls, value: bytes) -> SessionState:
        """The state of a record; a new one from b"". Raises FatalError for what this code can't read."""
        if not value:
            return cls()
        try:
            document = orjson.loads(value)
            if document["v"] != VERSION:
                raise FatalError(
                    f"a session state has version {document['v']}, this reads {VERSION}: run the newer worker, "
                    "or rebuild into a new lineage of topics"
                )
            seen = base64.b64decode(document["seen"], validate=True).hex()
            keys = [seen[i : i + _CHARS] for i in range(0, len(seen), _CHARS)]
            state = base64.b64decode(document["state"], validate=True)
            return cls(int(document["offset"]), dict.fromkeys(keys), state)
        except (orjson.JSONDecodeError, binascii.Error, KeyError, TypeError, ValueError) as error:
            raise FatalError(f"a session state can't be read ({error}): the state topic holds foreign bytes") from error
