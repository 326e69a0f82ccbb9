"""What befalls the processes: each kind of fault, and the order in which a seed lets them come."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import psutil
from proxy import Proxy

from chaos.fleet import STAGES, Fleet, alive
from chaos.own_stack import OwnStack

KINDS = (
    "kill extract",
    "kill sink",
    "kill both",
    "kill child",
    "kill query",
    "kill kafka",
    "kill neo4j",
    "pause extract",
    "pause sink",
    "cut",
    "cut",
    "add worker",
    "remove worker",
)
SHORT = ("cut", "pause sink", "kill neo4j", "kill kafka")
_MOST_WORKERS = 3
_RISES_WITHIN = 20.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Struck:
    """A fault that was dealt: what, whom, when after the beginning, and how long it took to be dealt."""

    kind: str
    target: str
    at: float
    seconds: float


@dataclass
class Misfortune:
    """Deals faults, and says so. A paused process sleeps for `zombie_seconds`: longer than its session lives."""

    fleet: Fleet
    stack: OwnStack
    line: Proxy
    pick: random.Random
    zombie_seconds: float
    say: Callable[[str], None]
    struck: list[Struck] = field(default_factory=list)

    async def deal(self, kinds: Sequence[str]) -> None:
        """One after the other, with pauses of chance; often before what was hit has recovered."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        for kind in kinds:
            await asyncio.sleep(self.pick.uniform(0.3, 2.5))
            started = loop.time()
            target = await self._strike(kind)
            self.struck.append(Struck(kind, target, started - begun, loop.time() - started))
            self.say(f"  {started - begun:6.1f} s  {kind}: {target}")
            if self.pick.random() < 0.6:
                await self._let_recover()

    async def _strike(self, kind: str) -> str:
        verb, _, what = kind.partition(" ")
        if verb == "cut":
            return await self._cut()
        if verb == "pause":
            return await self._pause(what)
        if verb in ("add", "remove"):
            return await (self._add() if verb == "add" else self._remove())
        if what in ("kafka", "neo4j"):
            return await self._kill_part(what)
        kill: dict[str, Callable[[], Awaitable[str]]] = {
            "child": self._kill_child,
            "query": self._kill_query,
            "both": self._kill_both,
        }
        return await (kill[what]() if what in kill else self._kill_stage(what))

    async def _kill_stage(self, stage: str) -> str:
        name = self.pick.choice(self.fleet.names(stage))
        _kill(self.fleet.stage_of(name))
        return name

    async def _kill_both(self) -> str:
        return " and ".join([await self._kill_stage(stage) for stage in STAGES])

    async def _kill_child(self) -> str:
        name = self.pick.choice(self.fleet.names("extract"))
        children = await _there(lambda: self.fleet.children_of(name))
        if children:
            _kill(self.pick.choice(children))
        return f"a child of {name}" if children else "none"

    async def _kill_query(self) -> str:
        _kill(self.fleet.stage_of("query"))
        self.fleet.forget("query")
        self.fleet.serve()
        return "query"

    async def _kill_part(self, part: str) -> str:
        self.stack.kill(part)
        await asyncio.sleep(self.pick.uniform(0.2, 4.0))
        await self.stack.up(part)
        return part

    async def _pause(self, stage: str) -> str:
        """A zombie: stopped in its work, given up by the group, and awake again with the work in its hands."""
        name = self.pick.choice(self.fleet.names(stage))
        process = await _there(lambda: one if alive(one := self.fleet.stage_of(name)) else None)
        if process is None:
            return "none"
        process.suspend()
        try:
            if len(self.fleet.names(stage)) < _MOST_WORKERS:  # somebody to take its partitions over
                self.fleet.start(stage)
            await asyncio.sleep(self.zombie_seconds + self.pick.uniform(0.0, 2.0))
        finally:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()
        return name

    async def _cut(self) -> str:
        """Break every connection to Neo4j while bytes are on their way: in the middle of a transaction."""
        sent = self.pick.randrange(200, 20_000)
        broken = await self.line.cut_after(sent, patience=10.0)
        await asyncio.sleep(self.pick.uniform(0.0, 1.5))
        await self.line.up()
        return f"{broken} connections after {sent} bytes"

    async def _add(self) -> str:
        stage = min(STAGES, key=lambda stage: (len(self.fleet.names(stage)), stage))
        if len(self.fleet.names(stage)) >= _MOST_WORKERS:
            return await self._remove()
        return self.fleet.start(stage)

    async def _remove(self) -> str:
        stage = max(STAGES, key=lambda stage: (len(self.fleet.names(stage)), stage))
        names = self.fleet.names(stage)
        if len(names) < 2:
            return self.fleet.start(stage)
        name = self.pick.choice(names)
        await asyncio.to_thread(self.fleet.stop, name)
        return name

    async def _let_recover(self) -> None:
        for stage in STAGES:
            for name in self.fleet.names(stage)[:1]:
                await self.fleet.ready(name, 20.0)


def order_of(pick: random.Random, kinds: Sequence[str], count: int) -> list[str]:
    """`count` faults; each kind comes before any comes again."""
    drawn: list[str] = []
    while len(drawn) < count:
        drawn += pick.sample(kinds, len(kinds))
    return drawn[:count]


async def _there(look: Callable[[], T]) -> T:
    """What there is to be hit: what was killed before begins anew, and that takes its time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _RISES_WITHIN
    while True:
        found = look()
        if found or loop.time() > deadline:
            return found
        await asyncio.sleep(0.1)


def _kill(process: psutil.Process | None) -> None:
    if process is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
