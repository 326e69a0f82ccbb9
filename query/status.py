"""How the service is: live, ready, its metrics, and how far the graph has come. Nothing of any scope's content."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request, Response

from memstream.query.metrics import Metrics
from memstream.query.models import Out
from memstream.query.params import graph_of
from memstream.query.problems import Kind, Problem
from memstream.query.switch import Switchboard

router = APIRouter(tags=["service"])


class Health(Out):
    """A state in a word."""

    status: str


class PartitionStatus(Out):
    """How far a partition of the patches topic is in the graph."""

    partition: int
    applied: int | None = None
    sealed: int | None = None


class Status(Out):
    """How far the graph is."""

    schema_version: int | None
    graph: str = ""
    switch_refused: str | None = None
    partitions: list[PartitionStatus]


@router.get("/live", summary="The process runs")
async def live() -> Health:
    """Answers without the database."""
    return Health(status="live")


@router.get("/ready", summary="The service can answer")
async def ready(request: Request) -> Health:
    """Answers ready when Neo4j answers and was migrated; 503 otherwise."""
    graph = graph_of(request)
    await graph.ping()
    if await graph.schema_version() is None:
        raise Problem(Kind.UNAVAILABLE, "Neo4j answers, but the graph was never migrated: run `memstream migrate`")
    return Health(status="ready")


@router.get("/metrics", summary="Prometheus metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Requests by route and status, and their durations."""
    found: Metrics = request.app.state.metrics
    return found.expose()


@router.get("/v1/status", summary="How far the graph is")
async def status(request: Request) -> Status:
    """The schema's version, which Neo4j is read, and each partition's applied and sealed offset.

    It needs no scope: it tells of none. `switch_refused` says why a chosen graph is not read.
    """
    graph = graph_of(request)
    version, offsets = await asyncio.gather(graph.schema_version(), graph.offsets())
    board: Switchboard = request.app.state.board
    return Status(
        schema_version=version,
        graph=board.address,
        switch_refused=board.refused,
        partitions=[PartitionStatus(**row) for row in offsets],
    )
