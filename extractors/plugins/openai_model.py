"""An extractor that asks a model which speaks OpenAI's protocol, with structured output: names, facts, preferences.

It asks for what users and named participants say, and for nothing else: what an assistant guesses is no fact, what a
tool printed is read by its structure. Messages of a call are asked for side by side. One that gets no answer in its
time is `missing` in the extraction. What it answers is no function of the message, so a replay from events may say
something else; a replay from patches never does.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Coroutine
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import orjson

from memstream.extractors.options import CALL_TIMES, OpenAiOptions
from memstream.extractors.plugins.openai_answer import NAME, NoAnswer, believed
from memstream.extractors.plugins.openai_client import MALFORMED, TIMEOUT, OpenAiClient, Unanswered
from memstream.extractors.plugins.openai_request import EARLIER_CHARS, MOST_CHARS, Earlier, request_of
from memstream.extractors.text.lru import LruCache
from memstream.extractors.text.textprep import parse_json
from memstream.schemas.extraction import Extraction, Missing, SessionExtraction, SessionTurns, Turn
from memstream.settings import load

GENERATION = 1
STEP = 1_000_000_000  # above GLiNER's millions and what the default one counts to
_VERSION = 1
_REMEMBERED = 2_048  # answers: what is read again, since something else failed, is not paid for again
_REFUSED = Extraction(outcomes=((NAME, "refused"),))

T = TypeVar("T")


def create(options: OpenAiOptions | None = None) -> OpenAiExtractor:
    """A new extractor, by its options or by the settings of this process."""
    return OpenAiExtractor(options or OpenAiOptions.of(load()))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A message to ask for: where its answer goes, and what was said before it."""

    session: int
    turn: int
    said: Turn
    earlier: tuple[Earlier, ...]


class OpenAiExtractor:
    """See the module. `close` gives its thread and its connections back."""

    name = NAME

    def __init__(self, options: OpenAiOptions) -> None:
        self.generation = STEP * (GENERATION + options.generation - 1)
        self._options = options
        self._client = OpenAiClient(options)
        self._answers: LruCache[bytes, Extraction] = LruCache(_REMEMBERED)
        self._loop = _Loop()

    def close(self) -> None:
        """End its thread."""
        self._loop.run(self._client.close())
        self._loop.close()

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """One SessionExtraction for each, in order. See memstream.schemas.extraction.Extractor."""
        found = [SessionExtraction(b"", [Extraction()] * len(session.turns)) for session in sessions]
        asked: list[_Asked] = []
        for number, session in enumerate(sessions):
            earlier = _decode(session.state)
            for place, turn in enumerate(session.turns):
                if _worth_asking(turn):
                    shown = earlier[-self._options.context :] if self._options.context else ()
                    asked.append(_Asked(number, place, turn, tuple(shown)))
                earlier = _with(earlier, turn, self._options.context)
            found[number].state = _encode(earlier)
        if asked:
            for one, said in zip(asked, self._loop.run(self._ask_all(asked)), strict=True):
                found[one.session].extractions[one.turn] = said
        return found

    async def _ask_all(self, asked: list[_Asked]) -> list[Extraction]:
        """Side by side; what has no answer when the time of the whole call is over goes without."""
        room = asyncio.Semaphore(self._options.parallel)

        async def one(each: _Asked) -> Extraction:
            async with room:
                return await self._ask(each)

        tasks = [asyncio.ensure_future(one(each)) for each in asked]
        await asyncio.wait(tasks, timeout=CALL_TIMES * self._options.seconds)
        late = [task for task in tasks if not task.done()]
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return [self._missing(TIMEOUT) if task.cancelled() else task.result() for task in tasks]

    async def _ask(self, asked: _Asked) -> Extraction:
        body = request_of(asked.said, asked.earlier, self._options)
        events = "\n".join((asked.said.event_id, *(one.event_id for one in asked.earlier)))
        key = hashlib.sha256(body + events.encode()).digest()
        known = self._answers.get(key)
        if known is not None:
            return replace(known, outcomes=((NAME, "remembered"),))
        try:
            content = await self._client.ask(body)
            said = _REFUSED if content is None else _cut(believed(content, asked.said, asked.earlier), asked.said)
        except Unanswered as unanswered:
            return self._missing(unanswered.why)
        except NoAnswer:
            return self._missing(MALFORMED)
        self._answers.put(key, said)
        return said

    def _missing(self, why: str) -> Extraction:
        return Extraction(missing=(Missing(NAME, self.generation, why),), outcomes=((NAME, why),))


def _worth_asking(turn: Turn) -> bool:
    """Whether what somebody asserts may be in it."""
    speaks = turn.role == "user" or (turn.named and turn.role == "assistant")
    wanted = speaks and turn.asserts and not turn.silent
    return wanted and any(char.isalpha() for char in turn.text) and parse_json(turn.text) is None


def _cut(said: Extraction, turn: Turn) -> Extraction:
    answered = (NAME, "answered")
    if len(turn.text) <= MOST_CHARS:
        return replace(said, outcomes=(answered, *said.outcomes))
    note = f"characters {MOST_CHARS} to {len(turn.text)} were not shown to the model"
    return replace(said, outcomes=(answered, *said.outcomes), cut=(note,))


def _with(earlier: tuple[Earlier, ...], turn: Turn, most: int) -> tuple[Earlier, ...]:
    """The earlier messages after one more: what a tool printed, and what memory served, explains nothing."""
    known = any(one.event_id == turn.event_id for one in earlier)
    if known or not most or turn.role not in ("user", "assistant") or not turn.asserts:
        return earlier
    text = turn.text[:EARLIER_CHARS].encode("utf-8", "replace").decode()
    return (*earlier, Earlier(turn.event_id, turn.role, turn.speaker, text))[-most:]


def _encode(earlier: tuple[Earlier, ...]) -> bytes:
    if not earlier:
        return b""
    return orjson.dumps({"v": _VERSION, "earlier": [list(asdict(one).values()) for one in earlier]})


def _decode(state: bytes) -> tuple[Earlier, ...]:
    """The earlier messages; none where the state is another extractor's or another version's."""
    if not state:
        return ()
    try:
        told = orjson.loads(state)
    except orjson.JSONDecodeError:
        return ()
    if not isinstance(told, dict) or told.get("v") != _VERSION or "earlier" not in told:
        return ()
    return tuple(Earlier(*row) for row in told["earlier"])


class _Loop:
    """An event loop in a thread of its own, for callers that have none or are inside of one."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=NAME, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work gives, when it is done."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Stop the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
