"""Nothing that was acked is lost, whatever is killed: 6,000 events on the real broker and the real Neo4j."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from events import message, publish, read, read_patches, started, tool_call
from neo4j import AsyncDriver
from stage_processes import StageProcess, environment, ready, until

from memstream.schemas.events import Event
from memstream.schemas.patch import Verdict
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.dead_letters import read_letter
from memstream.streams.topics_admin import create_topics

EVENTS = 6_000
BURST = 150
PACE = 1.2  # seconds between bursts
PATIENCE = 240.0
LEAST_KILLS = 6
KINDS = (("extract",), ("sink",), ("pool_child",), ("extract", "sink"))
SEED = int(os.environ.get("FAULTS_SEED", "7"))

FOUND = """
MATCH (e:Event) WHERE e.scope STARTS WITH $scope AND e.event_id IS NOT NULL
RETURN e.event_id AS id, e.verdict AS verdict
"""


@pytest.fixture
async def worker(own_settings: Settings, tmp_path: Path) -> AsyncIterator[psutil.Process]:
    """`memstream worker --stage all`, with an extractor that raises in an eighth of its batches and dies in some."""
    await create_topics(own_settings)
    env = environment(
        own_settings, MEMSTREAM_EXTRACT_PROCESSES="2", FAULTY_RAISE="0.12", FAULTY_DIE="0.02", FAULTY_SEED=str(SEED)
    )
    running = await StageProcess.supervised(tmp_path / "worker.log", env)
    yield psutil.Process(running.process.pid)
    assert await running.stop() == 0, "the worker stops cleanly"


def event(scope: str, number: int) -> Event:
    """A small event: a tenth have text, the others are structure alone."""
    home, session = f"{scope}/{number % 8}", f"s{number % 40}"
    if number in (1_111, 3_333):
        return message(home, number, "RAISE", session)
    if number == 4_444:
        return message(home, number, "DIE", session)
    if number % 10 == 0:
        return message(home, number, f"text {number}", session)
    return tool_call(home, number, session) if number % 2 else started(home, number, session)


def victims(worker: psutil.Process, what: str) -> list[psutil.Process]:
    """The processes of a kind that run now: stages by name, or the pool's children."""
    found = []
    for process in worker.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            line = process.cmdline()
            if what in line or f"memstream.streams.{what}" in line:
                found.append(process)
    return found


async def kill_at_random(
    settings: Settings, worker: psutil.Process, chance: random.Random, done: asyncio.Event
) -> Counter[str]:
    """Kill -9 a stage at work, both, or a pool's child, again and again until `done`; some times in any case."""
    killed: Counter[str] = Counter()
    deck: list[tuple[str, ...]] = []
    ports = {"extract": settings.metrics_port_extract, "sink": settings.metrics_port_sink}
    while not (done.is_set() and killed.total() >= LEAST_KILLS):
        deck = deck or chance.sample(KINDS, len(KINDS))  # each kind comes, in an order of chance
        targets = deck.pop()
        for stage, port in ports.items():  # one that has not begun again has nothing to lose
            await until(partial(ready, port), 90, f"{stage} works")
        await asyncio.sleep(chance.uniform(0.2, 3.0))
        for what in targets:
            for process in victims(worker, what)[:1]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
                    killed[what] += 1
    return killed


async def test_no_acked_event_is_lost_under_kills(
    own_settings: Settings, scope: str, worker: psutil.Process, driver: AsyncDriver
) -> None:
    """Batches raise, children die, stages are killed: every event has one Event, the poison ones a dead letter."""
    chance, done, begun = random.Random(SEED), asyncio.Event(), time.monotonic()  # noqa: S311 - a seed, not a secret
    events = [event(scope, number) for number in range(EVENTS)]
    killing = asyncio.create_task(kill_at_random(own_settings, worker, chance, done))
    for at in range(0, EVENTS, BURST):
        await publish(own_settings, events[at : at + BURST])
        await asyncio.sleep(PACE)
    done.set()
    killed = await killing

    async def found() -> dict[str, str]:
        records, _, _ = await driver.execute_query(FOUND, scope=scope, database_=own_settings.neo4j_database)
        assert len({record["id"] for record in records}) == len(records), "an event is there twice"
        return {record["id"]: record["verdict"] for record in records}

    async def all_there() -> bool:
        return len(await found()) >= EVENTS

    await until(all_there, PATIENCE, f"all events, after {dict(killed)} kills with seed {SEED}", every=1.0)
    verdicts = await found()
    assert verdicts.keys() == {one.id for one in events}
    letters = [read_letter(record.headers, record.value) for record in await read(own_settings, Topic.DEAD_LETTER)]
    refused = {"m1111", "m3333", "m4444"}
    assert {letter.event_id for letter in letters} == refused
    assert {name for name, verdict in verdicts.items() if verdict == Verdict.DEAD_LETTERED} == refused
    patches = Counter(patch.origin.id for patch in await read_patches(own_settings))
    print(f"{EVENTS} events, {dict(killed)} killed, {patches.total()} patches, {time.monotonic() - begun:.0f} s")  # noqa: T201
