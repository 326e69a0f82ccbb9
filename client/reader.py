"""Readers of the query service: thin, over HTTP. They give the service's JSON as it is."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Any, Generic, Self
from urllib.parse import quote

import httpx

from memstream.client.minting import Handed
from memstream.client.visible import problem
from memstream.schemas.errors import QueryError
from memstream.settings import load

Json = dict[str, Any]


class Questions(Generic[Handed]):
    """What can be asked. `scope` falls back to the reader's own; further arguments are the service's parameters."""

    _scope: str | None

    def recall(self, prompt: str, scope: str | Sequence[str] | None = None, **parameters: Any) -> Handed:
        """What memory holds for a prompt, in one scope or several: a context block, its items, and their sources."""
        return self._ask("/v1/recall", scope, prompt=prompt, **parameters)

    def sessions(self, scope: str | None = None, **parameters: Any) -> Handed:
        """The sessions of a scope."""
        return self._ask("/v1/sessions", scope, **parameters)

    def session(self, session_id: str, scope: str | None = None, **parameters: Any) -> Handed:
        """One session."""
        return self._ask(f"/v1/sessions/{_part(session_id)}", scope, **parameters)

    def transcript(self, session_id: str, scope: str | None = None, **parameters: Any) -> Handed:
        """The messages of a session, in order."""
        return self._ask(f"/v1/sessions/{_part(session_id)}/messages", scope, **parameters)

    def entity(self, name: str, scope: str | None = None, **parameters: Any) -> Handed:
        """What is known of a name."""
        return self._ask(f"/v1/entities/{_part(name)}", scope, **parameters)

    def facts(self, scope: str | None = None, **parameters: Any) -> Handed:
        """Facts (`subject`, `predicate`, `object`, `valid_at`, `known_at`)."""
        return self._ask("/v1/facts", scope, **parameters)

    def sources(self, fact_id: str, scope: str | None = None, **parameters: Any) -> Handed:
        """Where a fact comes from."""
        return self._ask(f"/v1/facts/{_part(fact_id)}/sources", scope, **parameters)

    def traces(self, scope: str | None = None, **parameters: Any) -> Handed:
        """The traces of a scope, or of a `session`."""
        return self._ask("/v1/traces", scope, **parameters)

    def trace(self, trace_id: str, scope: str | None = None, **parameters: Any) -> Handed:
        """One trace with its steps and tool calls."""
        return self._ask(f"/v1/traces/{_part(trace_id)}", scope, **parameters)

    def event(self, event_id: str, scope: str | None = None, **parameters: Any) -> Handed:
        """What became of an event (`source` where two have the same id)."""
        return self._ask(f"/v1/events/{_part(event_id)}", scope, **parameters)

    def get(self, path: str, scope: str | None = None, **parameters: Any) -> Handed:
        """Any other path of the service."""
        return self._ask(path, scope, **parameters)

    def _ask(self, path: str, scope: str | Sequence[str] | None, **parameters: Any) -> Handed:
        chosen = scope if scope is not None else self._scope
        if chosen is None:
            raise QueryError("no scope: give the reader one, or the call (scope='acme/user-42')")
        given = {name: value for name, value in parameters.items() if value is not None}
        return self._send(path, {"scope": chosen, **given})

    def _send(self, path: str, parameters: Json) -> Handed:
        raise NotImplementedError


class AsyncReader(Questions[Coroutine[Any, Any, Json]]):
    """Asks from code with an event loop. Without a `url` it is the setting query_url. Questions raise QueryError."""

    def __init__(self, scope: str | None = None, *, url: str | None = None, timeout: float = 30.0) -> None:
        self._scope = scope
        self._http = httpx.AsyncClient(base_url=url or load().query_url, timeout=timeout)

    def _send(self, path: str, parameters: Json) -> Coroutine[Any, Any, Json]:
        return self._fetch(path, parameters)

    async def _fetch(self, path: str, parameters: Json) -> Json:
        try:
            answer = await self._http.get(path, params=parameters)
        except httpx.HTTPError as error:
            raise _silent(self._http.base_url, error) from error
        return _json(answer)

    async def close(self) -> None:
        """Close the connection."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Reader(Questions[Json]):
    """Asks from code without an event loop. Without a `url` it is the setting query_url. Questions raise QueryError."""

    def __init__(self, scope: str | None = None, *, url: str | None = None, timeout: float = 30.0) -> None:
        self._scope = scope
        self._http = httpx.Client(base_url=url or load().query_url, timeout=timeout)

    def _send(self, path: str, parameters: Json) -> Json:
        try:
            answer = self._http.get(path, params=parameters)
        except httpx.HTTPError as error:
            raise _silent(self._http.base_url, error) from error
        return _json(answer)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _part(text: str) -> str:
    return quote(text, safe="")


def _json(answer: httpx.Response) -> Json:
    if not answer.is_success:
        raise problem(answer)
    parsed: Json = answer.json()
    return parsed


def _silent(url: httpx.URL, error: httpx.HTTPError) -> QueryError:
    return QueryError(
        f"the query service at {url} does not answer ({error or type(error).__name__}): does `memstream serve` run?"
    )
