"""Waiting until a part does its work, or saying why it will not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from memstream.deploy.processes import HealthCheck
from memstream.schemas.errors import StackError

_INTERVAL = 0.3

Say = Callable[[str, str], None]
"""Tells a person about a part: its name, and what is happening with it."""


async def until_healthy(
    name: str, health: HealthCheck, failure: Callable[[], str | None], patience: float, say: Say
) -> None:
    """Return when `health` says None. Raises StackError when `failure` says why the part ended, or after `patience`."""
    loop = asyncio.get_running_loop()
    begun, told = loop.time(), ""
    while True:
        if (why := failure()) is not None:
            raise StackError(f"{name} {why}")
        if (reason := await health()) is None:
            say(name, f"ready after {loop.time() - begun:.0f} s" if told else "ready")
            return
        if loop.time() - begun > patience:
            raise StackError(f"{name} is not ready after {patience:.0f} s: {reason}. See `memstream logs {name}`.")
        if not told:
            told = reason
            say(name, "starting")
        await asyncio.sleep(_INTERVAL)
