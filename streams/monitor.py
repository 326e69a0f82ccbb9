"""The port of a stage process: /metrics for Prometheus, /live and /ready for whoever runs it.

Served by a thread, so that a scrape costs the loop nothing. Live means that the loop turns, ready that the stage works.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from memstream.schemas.errors import SettingsError

_OWN = "stage"
_BEAT_SECONDS = 1.0
_DEAD_AFTER = 30.0


class Readiness:
    """Whether a stage does its work, and why not: one reason for each thing that it needs."""

    def __init__(self, reason: str) -> None:
        self._reasons = {_OWN: reason}

    @property
    def reason(self) -> str | None:
        """Why the stage does not work, in a few words; None when it does."""
        reasons = list(self._reasons.values())  # at once: the monitor's thread asks while the loop tells
        return reasons[0] if reasons else None

    def lacks(self, reason: str, what: str = _OWN) -> None:
        """The stage does not work, for the sake of `what` (by default, of where it is itself)."""
        self._reasons[what] = reason

    def has(self, what: str = _OWN) -> None:
        """`what` is there again."""
        self._reasons.pop(what, None)


class Monitor:
    """Serves one stage's health and metrics until `close`."""

    def __init__(self, host: str, port: int, stage: str, readiness: Readiness) -> None:
        self._readiness = readiness
        self._stage = stage
        self._beat = time.monotonic()
        self._server = self._listen(host, port)
        self._thread = threading.Thread(target=self._server.serve_forever, name="monitor", daemon=True)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    async def run(self) -> None:
        """Serve, and beat for as long as the loop turns. Ends by being cancelled."""
        self._thread.start()
        try:
            while True:
                self._beat = time.monotonic()
                await asyncio.sleep(_BEAT_SECONDS)
        finally:
            self._server.shutdown()
            self._server.server_close()

    def _listen(self, host: str, port: int) -> ThreadingHTTPServer:
        monitor = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, kind, body = monitor._answer(self.path)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
                """Say nothing: probes come every few seconds."""

        try:
            return ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            raise SettingsError(
                f"The metrics port {port} of the {self._stage} stage can't be used ({error.strerror}): "
                f"set MEMSTREAM_METRICS_PORT_{self._stage.upper()} to a free one"
            ) from error

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        if path == "/metrics":
            return 200, CONTENT_TYPE_LATEST, generate_latest()
        if path == "/live":
            still = time.monotonic() - self._beat
            return self._health("the loop has not turned for " + f"{still:.0f} s" if still > _DEAD_AFTER else None)
        if path == "/ready":
            return self._health(self._readiness.reason)
        return 404, "text/plain", b"/metrics, /live or /ready\n"

    def _health(self, reason: str | None) -> tuple[int, str, bytes]:
        body = {"stage": self._stage, "ok": reason is None, "reason": reason}
        return (200 if reason is None else 503), "application/json", orjson.dumps(body) + b"\n"


async def unless_stopped(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Do the work, or give it up as soon as `stop` is set. Says whether it was done."""
    working, asked = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((working, asked), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            await working
            return True
        return False
    finally:
        asked.cancel()
        working.cancel()
