"""Prometheus metrics of the service: requests by route and status, their durations, reads that found no graph."""

from __future__ import annotations

import time

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """The metrics of one app; a registry of its own, so that two apps in a process do not collide."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "memstream_query_requests_total", "Requests answered.", ["route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "memstream_query_seconds", "Seconds to answer.", ["route"], buckets=_BUCKETS, registry=self.registry
        )

    def expose(self) -> Response:
        """All metrics in the text format."""
        return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_LATEST)


class MeasureRequests:
    """ASGI middleware that counts and times every request by its route's template, never by its path."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request and measure it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.requests.labels(route, str(status)).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - began)
