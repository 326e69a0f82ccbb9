"""Publishers that go on whatever happens: what the broker acked is remembered, what it did not ack is sent again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from memstream.client import AsyncPublisher
from memstream.schemas.errors import PublishError
from memstream.schemas.events import Event
from memstream.settings import Settings

Identity = tuple[str, str, str]
"""Scope, source and id of an event."""

_BURST = 6
_PUBLISHERS = 3
_SLOWER = 10.0


@dataclass
class Load:
    """A number of publishers that share one story. `acked` is what must not be lost.

    Past `most` events they go on slowly: how long the faults take depends on the machine.
    """

    settings: Settings
    story: Iterator[Event]
    rate: float
    most: int
    acked: set[Identity] = field(default_factory=set)
    tried: set[Identity] = field(default_factory=set)
    refusals: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Publish until `done`; at the end everything that was tried is acked."""
        await asyncio.gather(*(self._publish() for _ in range(_PUBLISHERS)))

    async def _publish(self) -> None:
        while not self.done.is_set():
            async with AsyncPublisher(settings=self.settings) as publisher:
                for _ in range(50):  # then a new one, as agents come and go
                    await self._burst(publisher)
                    if self.done.is_set():
                        return
                    slower = _SLOWER if len(self.tried) > self.most else 1.0
                    await asyncio.sleep(slower * _BURST * _PUBLISHERS / self.rate)

    async def _burst(self, publisher: AsyncPublisher) -> None:
        events = list(islice(self.story, _BURST))
        self.tried.update((event.scope, event.source, event.id) for event in events)
        while True:
            try:
                handles = await publisher.publish_many(events)
                for handle in handles:
                    receipt = await handle
                    self.acked.add((receipt.scope, receipt.source, receipt.event_id))
            except PublishError:
                self.refusals += 1
                await asyncio.sleep(0.2)
            else:
                return
