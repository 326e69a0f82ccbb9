"""One run: publish while faults are dealt, let the dust settle, count, compare with what peace makes of the same."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neo4j import Driver, GraphDatabase
from proxy import Proxy

from chaos import calm, forgotten, graphs
from chaos.fleet import STAGES, Fleet
from chaos.load import Load
from chaos.misfortune import Misfortune, Struck, order_of
from chaos.own_stack import OwnStack
from chaos.story import events
from memstream.client import AsyncReader
from memstream.deploy.ports import any_free
from memstream.schemas.errors import QueryError
from memstream.schemas.ids import event_key
from memstream.schemas.patch import Verdict
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.dead_letters import read_letter
from memstream.streams.log_reader import read_to_end
from memstream.streams.topics_admin import create_topics

SESSION_SECONDS = 6.0  # as short as a broker takes by default
_SETTLED_WITHIN = 600.0
_CALM_WITHIN = 600.0
_ASKED = 20


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to be like. All that is random in it follows from the seed."""

    seed: int
    kinds: Sequence[str]
    faults: int
    rate: float = 20.0
    most: int = 6_000
    workers: int = 1


@dataclass
class Outcome:
    """What came of it; `wrong` says in words what must not be."""

    seed: int
    struck: list[Struck] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


Say = Callable[[str], None]


async def run(plan: Plan, stack: OwnStack, folder: Path, say: Say) -> Outcome:
    """Deal the faults of a plan to a lineage on this stack. The stack's graph is wiped afterwards."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it tells of every refusal; what matters is counted
    logging.getLogger("neo4j").setLevel(logging.CRITICAL)
    outcome = Outcome(plan.seed)
    settings = _settings(stack, folder, f"chaos{plan.seed}{secrets.token_hex(2)}")
    with GraphDatabase.driver(settings.neo4j_uri, auth=settings.neo4j_auth) as driver:
        await _Chaos(plan, stack, settings, folder, outcome, say).deal(driver)
        found = await _contents(outcome, settings, folder, driver, "under faults")
        say(f"{found.totals.lines:,} nodes and edges; once more from the same patches, in peace")
        await _from_patches(outcome, settings, folder, driver, found)
        say("once more from the same events")
        await _from_events(outcome, settings, folder, driver, found)
        await asyncio.to_thread(graphs.wipe, driver, settings.neo4j_database)
    return outcome


def _settings(stack: OwnStack, folder: Path, prefix: str) -> Settings:
    fields = {name: getattr(stack.settings, name) for name in stack.settings.model_fields_set}
    port = any_free()
    own = {
        "data_dir": folder / prefix,
        "offload_url": (folder / "offload").as_uri(),
        "topic_prefix": prefix,
        "group_prefix": prefix,
        "query_port": port,
        "query_url": f"http://127.0.0.1:{port}",
        "publish_timeout": 6.0,
        "session_timeout": SESSION_SECONDS,
        "log_level": "info",
    }
    return Settings(**{**fields, **own})


@dataclass
class _Chaos:
    """The part of a run in which faults are dealt, up to where the dust has settled and all is counted."""

    plan: Plan
    stack: OwnStack
    settings: Settings
    folder: Path
    outcome: Outcome
    say: Say

    def __post_init__(self) -> None:
        self._pick = random.Random(self.plan.seed)  # noqa: S311 - a seed, not a secret
        self._line = Proxy("127.0.0.1", int(self.settings.neo4j_uri.rpartition(":")[2]))
        self._load = Load(
            self.settings, events(self.plan.seed, f"chaos/{self.plan.seed}"), self.plan.rate, self.plan.most
        )

    async def deal(self, driver: Driver) -> None:
        """Publish, deal faults, wait until all is worked off, ask the service, count."""
        await create_topics(self.settings)
        await self._line.up()
        fleet = Fleet(self.settings, self.folder / self.settings.topic_prefix, self._environment())
        publishing = asyncio.create_task(self._load.run())
        try:
            await self._start(fleet)
            await self._strike(fleet)
            self._load.done.set()
            await publishing
            self.say(f"the dust settles over {len(self._load.acked):,} acked events")
            self.outcome.seconds["to settle"] = await _until(
                lambda: _settled(self.settings, driver),
                _SETTLED_WITHIN,
                fleet,
                "all is extracted and in the graph, and erasures are done",
            )
            await fleet.all_ready()
            await _ask(self.outcome, self.settings, self._load, self._pick)
        finally:
            publishing.cancel()
            await asyncio.to_thread(fleet.close)
            await self._line.down()
        await _count(self.outcome, self.settings, driver, self._load)
        self.say("looking for what is erased")
        began = time.monotonic()
        counts, wrong = await forgotten.check(self.settings, driver, self._pick)
        self.outcome.seconds["to search"] = time.monotonic() - began
        self.outcome.counts |= counts
        self.outcome.wrong += wrong

    def _environment(self) -> dict[str, str]:
        return {
            "MEMSTREAM_NEO4J_URI": f"bolt://127.0.0.1:{self._line.port}",
            "MEMSTREAM_EXTRACT_PROCESSES": "2",
            "FAULTY_RAISE": "0.05",
            "FAULTY_DIE": "0.005",
            "FAULTY_SEED": str(self.plan.seed),
        }

    async def _start(self, fleet: Fleet) -> None:
        began = time.monotonic()
        for stage in STAGES * self.plan.workers:
            fleet.start(stage)
        fleet.serve()
        await fleet.all_ready()
        self.outcome.seconds["to start"] = time.monotonic() - began

    async def _strike(self, fleet: Fleet) -> None:
        self.say(f"seed {self.plan.seed}: {self.plan.faults} faults, while events are published")
        began = time.monotonic()
        misfortune = Misfortune(fleet, self.stack, self._line, self._pick, SESSION_SECONDS + 2.5, self.say)
        self.outcome.struck = misfortune.struck
        await misfortune.deal(order_of(self._pick, self.plan.kinds, self.plan.faults))
        self.outcome.seconds["of faults"] = time.monotonic() - began


async def _settled(settings: Settings, driver: Driver) -> bool:
    return await calm.is_extracted(settings) and await calm.is_sunk(settings, driver)


async def _until(condition: Callable[[], Awaitable[bool]], patience: float, fleet: Fleet, what: str) -> float:
    began = time.monotonic()
    while not await condition():
        if time.monotonic() - began > patience:
            said = "\n".join(f"{name}:\n{fleet.tail(name)}" for stage in STAGES for name in fleet.names(stage))
            raise AssertionError(f"not within {patience:.0f} s: {what}. What the workers said last:\n{said}")
        await asyncio.sleep(0.5)
    return time.monotonic() - began


async def _ask(outcome: Outcome, settings: Settings, load: Load, pick: random.Random) -> None:
    """The service, which was killed as well, sees what was acked."""
    asked = pick.sample(sorted(load.acked), min(_ASKED, len(load.acked)))
    unseen = []
    async with AsyncReader(url=settings.query_url) as reader:
        for scope, source, event in asked:
            try:
                seen = (await reader.event(event, scope, source=source))["visible"]
            except QueryError as error:
                seen = f"{error}"
            if seen is not True:
                unseen.append(f"{event} in {scope}: {seen}")
    if unseen:
        outcome.wrong.append(f"the query service does not show {len(unseen)} acked events: {'; '.join(unseen[:3])}")


async def _count(outcome: Outcome, settings: Settings, driver: Driver, load: Load) -> None:
    """Every acked event is in the graph or in the dead letters, by id; nothing is there that nobody published."""
    known = await asyncio.to_thread(graphs.verdicts, driver, settings.neo4j_database)
    letters: set[str] = set()
    async for record in read_to_end(settings, Topic.DEAD_LETTER.named(settings.topic_prefix)):
        told = {name: value.decode() for name, value in record.headers if name.startswith("ce_")}
        letter = read_letter(record.headers, record.value)
        letters.add(event_key(told["ce_scope"], told["ce_source"], letter.event_id or ""))
    # by key: of an erased event the graph keeps no source
    tried = {event_key(*identity): identity for identity in load.tried}
    lost = [identity for identity in load.acked if event_key(*identity) not in known.keys() | letters]
    strangers = known.keys() - tried.keys()
    poison = {key for key, verdict in known.items() if verdict == Verdict.DEAD_LETTERED}
    if lost:
        outcome.wrong.append(f"{len(lost)} acked events are nowhere: {sorted(lost)[:5]}")
    if strangers:
        outcome.wrong.append(f"{len(strangers)} events are in the graph that nobody published: {sorted(strangers)[:5]}")
    if poison - letters:
        outcome.wrong.append(
            f"{len(poison - letters)} refused events have no dead letter: "
            f"{[tried.get(key, key) for key in sorted(poison - letters)[:5]]}"
        )
    outcome.counts = {
        "events published": len(load.tried),
        "events acked": len(load.acked),
        "times the broker did not ack": load.refusals,
        "events in the graph": len(known),
        "of these refused, with a dead letter": len(poison),
    }


async def _from_patches(
    outcome: Outcome, settings: Settings, folder: Path, driver: Driver, found: graphs.Contents
) -> None:
    again = settings.model_copy(update={"group_prefix": f"{settings.group_prefix}p"})
    await asyncio.to_thread(graphs.wipe, driver, settings.neo4j_database)
    async with calm.worker(again, folder / "patches", "sink") as fleet:
        outcome.seconds["from patches"] = await _until(
            lambda: calm.is_sunk(again, driver), _CALM_WITHIN, fleet, "the patches are applied in peace"
        )
    _compare(outcome, found, await _contents(outcome, settings, folder, driver, "from patches"))


async def _from_events(
    outcome: Outcome, settings: Settings, folder: Path, driver: Driver, found: graphs.Contents
) -> None:
    prefix = f"{settings.topic_prefix}e"
    again = settings.model_copy(update={"topic_prefix": prefix, "group_prefix": prefix})
    outcome.counts["records of events copied"] = await calm.copy_events(settings, again)
    await asyncio.to_thread(graphs.wipe, driver, settings.neo4j_database)
    async with calm.worker(again, folder / "events", "extract", "sink") as fleet:

        async def done() -> bool:
            return await _settled(again, driver)

        outcome.seconds["from events"] = await _until(done, _CALM_WITHIN, fleet, "the events are worked off in peace")
    _compare(outcome, found, await _contents(outcome, settings, folder, driver, "from events"))


async def _contents(outcome: Outcome, settings: Settings, folder: Path, driver: Driver, name: str) -> graphs.Contents:
    """The graph as it is now, in a file of this name."""
    path = folder / f"{name.replace(' ', '-')}.jsonl"
    found = await asyncio.to_thread(graphs.contents, driver, settings.neo4j_database, path)
    outcome.digests[name] = found.totals.digest
    return found


def _compare(outcome: Outcome, chaotic: graphs.Contents, peaceful: graphs.Contents) -> None:
    if differences := chaotic.differences(peaceful):
        shown = "\n    ".join(differences)
        outcome.wrong.append(
            f"{peaceful.path.stem} in peace (B) another graph comes out than under faults (A):\n    {shown}"
        )
