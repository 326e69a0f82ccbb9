"""One stage as a process of its own: `python -m memstream.streams.stage extract|sink`. Started by the supervisor.

Ends with exit code 0 when it was asked to stop (SIGTERM, SIGINT, or the end of its standard input where
`--until-eof` is given: then it does not outlive who started it), and with 1 when it can't go on.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NoReturn

import structlog

from memstream.schemas.errors import MemstreamError
from memstream.settings import Settings, load
from memstream.streams.logs import configure_logs

log = structlog.get_logger(__name__)

STAGES = ("extract", "sink")
_STOP_SECONDS = 25.0

RunStage = Callable[[Settings, str, asyncio.Event], Awaitable[None]]


def main() -> None:
    """Run the stage named on the command line until it is asked to stop or can't go on."""
    parser = argparse.ArgumentParser(prog="memstream.streams.stage")
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--instance", default="0", help="tells processes of one group apart")
    parser.add_argument("--until-eof", action="store_true")
    parser.add_argument("--window", default="", help="of a replay: which events make patches; else all")
    told = parser.parse_args()
    settings = load()
    configure_logs(settings, stage=told.stage)
    asyncio.run(_run(settings, _run_of(told.stage, told.window), told.instance, told.until_eof))


async def _run(settings: Settings, run: RunStage, instance: str, until_eof: bool) -> NoReturn:
    code = 1
    try:
        code = await _guarded(settings, run, instance, until_eof)
    except Exception:  # the last border of the process: told in the log and by the exit code
        log.exception("stage_failed")
    finally:
        sys.stderr.flush()
        os._exit(code)  # threads, of libraries or at work, must not keep a process that is done or has failed


async def _guarded(settings: Settings, run: RunStage, instance: str, until_eof: bool) -> int:
    stop = asyncio.Event()
    _stop_when_asked(stop, until_eof)
    running = asyncio.ensure_future(run(settings, instance, stop))
    asked = asyncio.ensure_future(stop.wait())
    await asyncio.wait((running, asked), return_when=asyncio.FIRST_COMPLETED)
    try:
        async with asyncio.timeout(_STOP_SECONDS if not running.done() else None):
            await running
    except TimeoutError:
        log.critical(
            "stopped_late", why=f"work in flight took longer than {_STOP_SECONDS:.0f} s: it will be done again"
        )
        return 1
    except MemstreamError as error:
        log.critical("stage_failed", kind=type(error).__name__, why=str(error))
        return 1
    except Exception as error:  # a bug is fatal: told, and the supervisor starts the stage again
        log.exception("stage_failed", kind=type(error).__name__, why=str(error))
        return 1
    log.info("stopped")
    return 0


def _run_of(stage: str, window: str) -> RunStage:
    # imported here: a sink needs no spaCy, an extraction no Neo4j
    if stage == "extract":
        from memstream.streams.extract_process import run_extract  # noqa: PLC0415
        from memstream.streams.replay.window import Window  # noqa: PLC0415

        return partial(run_extract, window=Window.decode(window))
    from memstream.streams.sink_process import run_sink  # noqa: PLC0415

    return run_sink


def _stop_when_asked(stop: asyncio.Event, until_eof: bool) -> None:
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, stop.set)
    if until_eof:
        threading.Thread(target=_await_eof, args=(loop, stop), name="lifeline", daemon=True).start()


def _await_eof(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    while os.read(0, 4_096):  # not the buffered reader: its lock would be held while the interpreter ends
        pass
    loop.call_soon_threadsafe(stop.set)


if __name__ == "__main__":
    main()
