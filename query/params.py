"""The parameters that routes share. Scope is taken here and nowhere else: a route gets a Reader, never a scope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Query, Request

from memstream.query.cursors import Cursor, Key, decode, encode, question_of
from memstream.query.graph import Graph, Reader
from memstream.query.problems import Kind, Problem
from memstream.query.switch import STATE_KEY
from memstream.schemas.scope import parse_scope

MAX_LIMIT = 200
DEFAULT_LIMIT = 50
MAX_SCOPES = 16

_SCOPE_TEXT = "The scope to read: a path, most general segment first. Other scopes are not seen."
_Scope = Annotated[str, Query(description=_SCOPE_TEXT, examples=["acme/user-42"])]
_Scopes = Annotated[
    list[str],
    Query(
        description="The scopes to read, the nearest first: your own, then boards. Repeat the parameter.",
        examples=[["acme/user-42", "acme/boards/launch"]],
    ),
]
_AsOf = Annotated[
    int | None,
    Query(ge=-1, lt=2**63, description="Answer as of this offset (an earlier answer's position) and not as of now."),
]
_LimitQuery = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="How many items at most.")]
_CursorQuery = Annotated[str | None, Query(description="`next_cursor` of the page before.", max_length=8_192)]


def graph_of(request: Request) -> Graph:
    """The connection to Neo4j that this request reads by, from its beginning to its end."""
    return cast(Graph, getattr(request.state, STATE_KEY))


async def one_reader(request: Request, scope: _Scope, as_of: _AsOf = None) -> Reader:
    """A reader of the scope that the request names."""
    if len(request.query_params.getlist("scope")) > 1:
        raise Problem(Kind.BAD_SCOPE, "this route reads one scope: give 'scope' once")
    return graph_of(request).reader(parse_scope(scope), as_of)


async def several_readers(request: Request, scope: _Scopes) -> list[Reader]:
    """A reader for each scope that the request names, in its order, each scope once."""
    scopes = list(dict.fromkeys(parse_scope(text) for text in scope))
    if len(scopes) > MAX_SCOPES:
        raise Problem(Kind.BAD_PARAMETER, f"{len(scopes)} scopes are more than the {MAX_SCOPES} that one read may name")
    graph = graph_of(request)
    return [graph.reader(text) for text in scopes]


OneReader = Annotated[Reader, Depends(one_reader)]
SeveralReaders = Annotated[list[Reader], Depends(several_readers)]


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a listing: all its pages are as of the position of the first."""

    reader: Reader
    limit: int
    after: Key | None
    _question: str

    def start(self, *defaults: str) -> Key:
        """The sort key to go on after; `defaults` sort before every row and stand for the first page."""
        if self.after is None:
            return defaults
        if len(self.after) != len(defaults):
            raise Problem(Kind.BAD_CURSOR, "the cursor belongs to another listing")
        return self.after

    def next_cursor(self, last: Key) -> str:
        """The cursor of the page after the row with this key."""
        return encode(Cursor(self.reader.position.offset, last), self._question)


async def listing(
    request: Request, reader: OneReader, limit: _LimitQuery = DEFAULT_LIMIT, cursor: _CursorQuery = None
) -> Listing:
    """A page of the scope that the request names, as of its cursor's position if it has one."""
    # a cursor holds a position, which means nothing in a graph of another log
    where = f"{graph_of(request).topic} {request.url.path}"
    question = question_of(where, request.query_params.multi_items())
    if cursor is None:
        return Listing(reader, limit, None, question)
    place = decode(cursor, question)
    return Listing(graph_of(request).reader(reader.scope, place.offset), limit, place.after, question)


OneListing = Annotated[Listing, Depends(listing)]


async def only_known_parameters(request: Request) -> None:
    """Refuse a parameter that the route does not have: a misspelt filter must not look like an answer."""
    route = request.scope["route"]
    known: set[str] = request.app.state.parameters.get(getattr(route, "path_format", ""), set())
    strangers = sorted(set(request.query_params) - known)
    if strangers:
        names = ", ".join(sorted(known)) or "none"
        raise Problem(Kind.BAD_PARAMETER, f"unknown parameter {strangers[0]!r}; this route knows: {names}")
