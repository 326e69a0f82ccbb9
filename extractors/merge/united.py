"""Several extractors that read the same messages, as one. What they say together is for `merging` to decide."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import orjson

from memstream.extractors.merge.merging import Voice, unite
from memstream.extractors.options import SEPARATOR
from memstream.schemas.extraction import Extractor, SessionExtraction, SessionTurns

_VERSION = "united"
_Parts = dict[str, bytes]


class United:
    """The last of `parts` ranks highest. Its generation is the sum of theirs, so each better part makes a better whole.

    `names` are what they are called in the setting, under which their states are kept: a part may call itself by more
    than that. One that did not answer says so in the extraction, with what the generation lacks without it.
    """

    def __init__(self, parts: Sequence[Extractor], names: Sequence[str] | None = None) -> None:
        self.name = SEPARATOR.join(part.name for part in parts)
        self.generation = sum(part.generation for part in parts)
        self._parts = dict(zip(names or [part.name for part in parts], parts, strict=True))

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """One SessionExtraction for each, in order. See memstream.schemas.extraction.Extractor."""
        first, *others = self._parts
        states = [_decode(session.state, first) for session in sessions]

        def of(name: str) -> list[SessionExtraction]:
            own = [
                SessionTurns(state.get(name, b""), session.turns)
                for state, session in zip(states, sessions, strict=True)
            ]
            return self._parts[name].extract(own)

        # a model that is asked over the network is waited for while the first reads
        with ThreadPoolExecutor(max(len(others), 1)) as threads:
            asked = [threads.submit(of, name) for name in others]
            answers = [of(first), *(one.result() for one in asked)]
        return [self._together(list(each)) for each in zip(*answers, strict=True)]

    def _together(self, answers: list[SessionExtraction]) -> SessionExtraction:
        state = _encode({name: each.state for name, each in zip(self._parts, answers, strict=True)})
        turns = zip(*(each.extractions for each in answers), strict=True)
        return SessionExtraction(
            state,
            [
                unite([Voice(name, rank, one) for rank, (name, one) in enumerate(zip(self._parts, said, strict=True))])
                for said in turns
            ],
        )


def _encode(parts: _Parts) -> bytes:
    """The states as JSON, each as it is where it is text: events that it names can be found in it, as seals need."""
    told = {name: _text(state) for name, state in parts.items() if state}
    return orjson.dumps({"v": _VERSION, "parts": told}) if told else b""


def _text(state: bytes) -> str | dict[str, str]:
    try:
        return state.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(state).decode()}


def _decode(state: bytes, first: str) -> _Parts:
    """The states of the parts; one that is not of this form is the first one's, from when it read alone."""
    if not state:
        return {}
    try:
        told = orjson.loads(state)
    except orjson.JSONDecodeError:
        return {first: state}
    if not isinstance(told, dict) or told.get("v") != _VERSION:
        return {first: state}
    return {
        name: base64.b64decode(one["base64"]) if isinstance(one, dict) else one.encode()
        for name, one in told["parts"].items()
    }
