"""What the service answers where it can't: problem details (RFC 9457), one kind of problem for each mistake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from memstream.schemas.errors import GraphUnavailable, InvalidScope, QueryError

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 5


class Kind(Enum):
    """A kind of problem: its name in the `type` URI, its HTTP status, its title."""

    BAD_SCOPE = ("bad-scope", 400, "The scope is malformed")
    BAD_CURSOR = ("bad-cursor", 400, "The cursor can't be used")
    BAD_POSITION = ("bad-position", 400, "The position is not readable")
    BAD_PARAMETER = ("bad-parameter", 422, "A parameter is missing or wrong")
    UNKNOWN_SCOPE = ("unknown-scope", 404, "No such scope")
    NOT_FOUND = ("not-found", 404, "Not in this scope")
    AMBIGUOUS = ("ambiguous", 409, "More than one fits")
    UNAVAILABLE = ("graph-unavailable", 503, "The graph does not answer")
    TIMEOUT = ("timeout", 504, "The graph took too long")
    HTTP = ("http", 400, "The request can't be served")
    INTERNAL = ("internal", 500, "The service failed")

    def __init__(self, slug: str, status: int, title: str) -> None:
        self.slug = slug
        self.status = status
        self.title = title


class Problem(QueryError):
    """A request that can't be answered. The text says what was wrong, where, and what to do."""

    def __init__(self, kind: Kind, detail: str) -> None:
        super().__init__(detail, kind.status)
        self.kind = kind


class ProblemOut(BaseModel):
    """Problem details (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:memstream:problem:unknown-scope",
                    "title": "No such scope",
                    "status": 404,
                    "detail": "nothing was ever said in scope 'acme/user-43': check its spelling",
                    "instance": "/v1/recall",
                }
            ]
        }
    )

    type: str = Field(description="The kind of problem, as a URN.")
    title: str
    status: int
    detail: str = Field(description="What was wrong, where, and what to do about it.")
    instance: str = Field(description="The path that was asked.")


def unknown_scope(scope: str) -> Problem:
    """Nothing was ever said in this scope, or it is not spelt so."""
    return Problem(Kind.UNKNOWN_SCOPE, f"nothing was ever said in scope {scope!r}: check its spelling")


def not_found(what: str, name: str, scope: str) -> Problem:
    """The scope holds no such thing; what another scope holds is not told."""
    return Problem(Kind.NOT_FOUND, f"there is no {what} {name!r} in scope {scope!r}")


def response(request: Request, kind: Kind, detail: str, status: int | None = None) -> JSONResponse:
    """The answer for a problem, as application/problem+json."""
    code = status or kind.status
    body = ProblemOut(
        type=f"urn:memstream:problem:{kind.slug}",
        title=kind.title,
        status=code,
        detail=detail,
        instance=request.url.path,
    )
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)} if code == Kind.UNAVAILABLE.status else None
    return JSONResponse(body.model_dump(), status_code=code, media_type=MEDIA_TYPE, headers=headers)


def install(app: FastAPI) -> None:
    """Make every error of the app a problem: ours, the framework's, and what nobody thought of."""

    async def ours(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, Problem)  # noqa: S101 - the handler is registered for this class alone
        return response(request, error.kind, str(error))

    async def bad_scope(request: Request, error: Exception) -> JSONResponse:
        return response(request, Kind.BAD_SCOPE, str(error))

    async def unavailable(request: Request, error: Exception) -> JSONResponse:
        return response(request, Kind.UNAVAILABLE, f"{error}; try again in {RETRY_AFTER_SECONDS} seconds")

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
        return response(request, Kind.BAD_PARAMETER, describe(error.errors()))

    async def http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # noqa: S101 - as above
        known = {
            404: f"there is no route {request.url.path!r}; /docs lists them",
            405: "this service only reads: use GET",
        }
        return response(request, Kind.HTTP, known.get(error.status_code, str(error.detail)), error.status_code)

    async def failed(request: Request, error: Exception) -> JSONResponse:
        log.error("request_failed", path=request.url.path, exc_info=error)
        return response(request, Kind.INTERNAL, "an unexpected error; the service's log has it under this path")

    app.add_exception_handler(Problem, ours)
    app.add_exception_handler(InvalidScope, bad_scope)
    app.add_exception_handler(GraphUnavailable, unavailable)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, failed)


def describe(errors: Sequence[Any]) -> str:
    """Validation errors in words, one sentence each."""
    return "; ".join(_describe_one(error) for error in errors)


def _describe_one(error: Mapping[str, Any]) -> str:
    where, name = str(error["loc"][0]), ".".join(str(part) for part in error["loc"][1:])
    if error["type"] == "missing" and name == "scope":
        return "the query parameter 'scope' is missing: every read names its scope, such as ?scope=acme/user-42"
    if error["type"] == "missing":
        return f"the {where} parameter {name!r} is missing"
    got = repr(error.get("input"))
    return f"the {where} parameter {name!r}: {error['msg']}, got {got if len(got) <= 80 else got[:77] + '...'}"


RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ProblemOut, "description": text, "content": {MEDIA_TYPE: {}}}
    for status, text in (
        (400, "The scope or the cursor is malformed"),
        (404, "The scope, or what was asked for in it, is unknown"),
        (422, "A parameter is missing or out of its limits"),
        (503, "Neo4j does not answer; Retry-After says when to come back"),
        (504, "Neo4j took too long"),
    )
}
"""What every data route may answer besides its result, for the OpenAPI document."""
