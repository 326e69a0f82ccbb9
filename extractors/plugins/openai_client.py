"""One request to an endpoint that speaks OpenAI's protocol (`POST {url}/chat/completions`): tries, limits, outages.

Whatever keeps the answer away ends as Unanswered, within the time that one message may take. After several in a row,
or one that says that the next would fare no better, nothing is asked for a while: an outage costs the pipeline little.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Annotated

import httpx
import structlog
from pydantic import BaseModel, Field, ValidationError

from memstream.extractors.options import OpenAiOptions
from memstream.extractors.plugins.ledger import Ledger, Limits, OverSpending

log = structlog.get_logger(__name__)

TRIES = 4
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 8.0
REST_SECONDS = 30.0
_LONGEST_REST = 600.0
FAILURES = 5  # in a row, before nothing is asked for a while
_RETRY_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_HOPELESS = frozenset({401, 402, 403, 404, 405})
_CHARS_A_TOKEN = 3
_MILLION = 1_000_000

OVER_SPENDING, TIMEOUT, UNREACHABLE, RESTING, MALFORMED, RATE_LIMIT = (
    "over_spending", "timeout", "unreachable", "resting", "malformed", "rate_limit",
)  # fmt: skip


class Unanswered(Exception):
    """There is no answer, and why: a word for metrics."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class _Again(Exception):
    """The try has failed; another may not, after `pause` seconds at least."""

    def __init__(self, why: str, pause: float = 0.0) -> None:
        super().__init__(why)
        self.why = why
        self.pause = pause


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None

    @property
    def refuses(self) -> bool:
        """Whether the model won't say."""
        return bool(self.message.refusal) or self.finish_reason == "content_filter"


class _Usage(BaseModel):
    prompt_tokens: Annotated[int, Field(ge=0)]
    completion_tokens: Annotated[int, Field(ge=0)]


class _Reply(BaseModel):
    """What is read of an answer of this protocol; there may be more in it."""

    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage | None = None


class OpenAiClient:
    """Asks, as often and as dearly as the options allow. Used inside one event loop; `close` after use."""

    def __init__(self, options: OpenAiOptions) -> None:
        self._options = options
        self._url = f"{options.url}/chat/completions"
        limits = Limits(options.requests_a_minute, options.tokens_a_minute, options.spend_a_day)
        self._ledger = Ledger(options.ledger, limits)
        headers = {"content-type": "application/json"}
        if options.api_key:
            headers["authorization"] = f"Bearer {options.api_key}"
        limits_of_http = httpx.Limits(max_connections=options.parallel)
        self._http = httpx.AsyncClient(headers=headers, timeout=options.seconds, limits=limits_of_http)
        self._failed = 0
        self._rests_until = 0.0
        self._not_before = 0.0

    async def close(self) -> None:
        """Give the connections and the ledger back."""
        await self._http.aclose()
        self._ledger.close()

    async def ask(self, body: bytes) -> str | None:
        """The content of the answer; None where the model refuses to give one. Raises Unanswered."""
        if time.monotonic() < self._rests_until:
            raise Unanswered(RESTING)
        if self._failed >= FAILURES:  # it has rested: one failure more, and it rests again
            self._failed = FAILURES - 1
        last = TIMEOUT
        pause = FIRST_PAUSE
        try:
            async with asyncio.timeout(self._options.seconds):
                for attempt in range(TRIES):
                    last = RATE_LIMIT
                    await self._wait_for_room(body)
                    last = TIMEOUT
                    try:
                        content = await self._once(body)
                    except _Again as again:
                        last = again.why
                        self._ask_no_sooner(again.pause)
                        if attempt == TRIES - 1 or again.pause > self._options.seconds:
                            break
                        await asyncio.sleep(pause)
                        pause = min(2 * pause, LONGEST_PAUSE)
                    else:
                        self._failed = 0
                        return content
        except TimeoutError:
            if last == RATE_LIMIT:
                raise Unanswered(last) from None
        self._count_failure(last)
        raise Unanswered(last)

    async def _wait_for_room(self, body: bytes) -> None:
        """Wait until the limits and the endpoint leave room. Raises Unanswered where that takes too long."""
        tokens, cost = self._most(body)
        while True:
            wait = self._not_before - time.monotonic()
            if wait <= 0:
                try:
                    wait = self._ledger.take(tokens, cost)
                except OverSpending:
                    raise Unanswered(OVER_SPENDING) from None
                if not wait:
                    return
            if wait > self._options.seconds:
                raise Unanswered(RATE_LIMIT)
            await asyncio.sleep(wait)

    def _most(self, body: bytes) -> tuple[int, float]:
        """The tokens and the price of a request at most, by a careful guess."""
        tokens_in = len(body) // _CHARS_A_TOKEN + 1
        return tokens_in + self._options.answer_tokens, self._price(tokens_in, self._options.answer_tokens)

    def _price(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self._options.cost_in + tokens_out * self._options.cost_out) / _MILLION

    async def _once(self, body: bytes) -> str | None:
        """One try, whose room is reserved. Raises _Again, Unanswered."""
        used = self._most(body)  # of one that is given up it is not known what it has cost: the most, then
        try:
            answer = await self._http.post(self._url, content=body)
            if answer.status_code == httpx.codes.OK:
                content, used = self._read(answer, used)
                return content
            used = (0, 0.0)
            raise self._failure(answer)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            used = (0, 0.0)
            raise _Again(UNREACHABLE) from error
        except httpx.TimeoutException as error:
            raise _Again(TIMEOUT) from error
        except httpx.HTTPError as error:
            raise _Again(UNREACHABLE) from error
        finally:
            tokens, cost = self._most(body)
            self._ledger.settle(used[0] - tokens, used[1] - cost)

    def _failure(self, answer: httpx.Response) -> Exception:
        why = f"http_{answer.status_code}"
        if answer.status_code in _RETRY_STATUS:
            return _Again(why, _retry_after(answer))
        if answer.status_code in _HOPELESS:
            self._failed = FAILURES
            self._rest_at_least(REST_SECONDS)
        # the text of an error may quote what was asked, and goes nowhere
        log.warning("model_refused_a_request", model=self._options.model, status=answer.status_code)
        return Unanswered(why)

    def _read(self, answer: httpx.Response, most: tuple[int, float]) -> tuple[str | None, tuple[int, float]]:
        """The content, and what it has cost. Raises _Again where it is no answer of this protocol."""
        try:
            told = _Reply.model_validate_json(answer.content)
        except ValidationError as error:
            raise _Again(MALFORMED) from error
        if told.usage is not None:
            tokens_in, tokens_out = told.usage.prompt_tokens, told.usage.completion_tokens
            most = tokens_in + tokens_out, self._price(tokens_in, tokens_out)
        choice = told.choices[0]
        if not choice.refuses and (choice.message.content is None or choice.finish_reason not in (None, "stop")):
            return "", most  # cut off, or something else than a text: nothing that could be read, tried again or not
        return None if choice.refuses else choice.message.content, most

    def _ask_no_sooner(self, seconds: float) -> None:
        self._not_before = max(self._not_before, time.monotonic() + min(seconds, _LONGEST_REST))

    def _rest_at_least(self, seconds: float) -> None:
        self._rests_until = max(self._rests_until, time.monotonic() + min(seconds, _LONGEST_REST))

    def _count_failure(self, why: str) -> None:
        self._failed += 1
        if self._failed >= FAILURES:
            self._rest_at_least(REST_SECONDS)
            log.warning("model_does_not_answer", model=self._options.model, why=why, rests_seconds=REST_SECONDS)


def _retry_after(answer: httpx.Response) -> float:
    """Seconds after which the endpoint wants to be asked again, as a number or as a date."""
    told = answer.headers.get("retry-after", "")
    try:
        return max(float(told), 0.0)
    except ValueError:
        pass
    try:
        return max((parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return 0.0
