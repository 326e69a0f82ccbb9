"""Waiting until the graph has an event: what a writer asks who reads what it wrote."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from memstream.client.receipt import Receipt
from memstream.schemas.errors import NotVisibleError, QueryError

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.5
_DEAD = "dead_lettered"
_UNREADABLE = "unreadable"
_NOT_FOUND = 404
_FINAL = {400, 401, 403, 422}


@dataclass(frozen=True, slots=True)
class Visible:
    """What became of an event: `verdict` is applied or empty (nothing in it to keep), `position` what to read as of."""

    verdict: str
    partition: int | None = None
    offset: int | None = None


async def wait_until_visible(http: httpx.AsyncClient, receipt: Receipt, seconds: float) -> Visible:
    """Ask the query service until reads see the event.

    Raises NotVisibleError at the deadline, and at once if the event went to the dead letters (with the reason);
    QueryError if the service refuses to answer.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    pause, last = FIRST_PAUSE, "the query service was not asked"
    while (left := deadline - loop.time()) > 0:
        try:
            answer = await http.get(
                f"/v1/events/{quote(receipt.event_id, safe='')}",
                params={"scope": receipt.scope, "source": receipt.source},
                timeout=max(min(left, 10.0), 0.1),
            )
        except httpx.HTTPError as error:
            last = f"the query service at {http.base_url} does not answer: {error or type(error).__name__}"
        else:
            found, last = _read(answer, receipt)
            if found is not None:
                return found
        await asyncio.sleep(min(pause, max(deadline - loop.time(), 0)))
        pause = min(pause * 2, LONGEST_PAUSE)
    raise NotVisibleError(
        f"event {receipt.event_id} is not visible after {seconds:g} s: {last}. Its record is offset {receipt.offset} "
        f"of {receipt.topic}, partition {receipt.partition}; `memstream status` shows whether the workers run."
    )


def _read(answer: httpx.Response, receipt: Receipt) -> tuple[Visible | None, str]:
    if answer.status_code == _NOT_FOUND:
        return None, "the graph does not have it yet"
    if answer.status_code in _FINAL:
        raise problem(answer)
    if not answer.is_success:
        return None, str(problem(answer))
    body = answer.json()
    if body.get("verdict") == _DEAD:
        raise NotVisibleError(
            f"event {receipt.event_id} went to the dead letters and never becomes visible: {body.get('reason')}"
        )
    if body.get("verdict") == _UNREADABLE:
        raise NotVisibleError(f"event {receipt.event_id} never becomes visible: {body.get('reason')}")
    if not body.get("visible"):
        return None, "the graph has it, but has not sealed it yet"
    position = body.get("position") or {}
    return Visible(str(body.get("verdict")), position.get("partition"), position.get("offset")), ""


def problem(answer: httpx.Response) -> QueryError:
    """The error that an answer of the service tells of, problem+json or not."""
    told: dict[str, Any] = {}
    if answer.headers.get("content-type", "").startswith(("application/problem+json", "application/json")):
        parsed = answer.json()
        told = parsed if isinstance(parsed, dict) else {}
    detail = told.get("detail") or told.get("title") or answer.text[:200] or answer.reason_phrase
    return QueryError(f"{answer.request.url.path}: {detail} (HTTP {answer.status_code})", answer.status_code)
