"""With what a stage needs away for long: it waits, the log is the queue, and memory stays as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psutil
import pytest
from events import message, publish, read, read_patches
from proxy import Proxy
from stage_processes import StageProcess, environment, ready, until

from memstream.schemas.conversation import Role
from memstream.schemas.events import Event
from memstream.schemas.tools import ToolCall, ToolStatus
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.broker import admin_client
from memstream.streams.offload import OffloadStore
from memstream.streams.topics_admin import create_topics

EVENTS = 1_500
TEXT = "x" * 100_000
MOST_GROWTH = {"extract": 125, "sink": 40}  # MB: extraction reads 400 events ahead, whatever waits in the log


def resident(worker: StageProcess) -> dict[int, int]:
    """Resident bytes of a worker's processes by pid."""
    leader = psutil.Process(worker.process.pid)
    return {process.pid: process.memory_info().rss for process in [leader, *leader.children(recursive=True)]}


def stages_of(worker: StageProcess) -> dict[str, int]:
    """The process of each stage."""
    children = psutil.Process(worker.process.pid).children()
    return {stage: process.pid for process in children for stage in MOST_GROWTH if stage in process.cmdline()}


@pytest.fixture
async def line(own_settings: Settings) -> AsyncIterator[Proxy]:
    """The way to Neo4j, which can be taken away."""
    host, port = own_settings.neo4j_uri.removeprefix("bolt://").rsplit(":", 1)
    proxy = Proxy(host, int(port))
    await proxy.up()
    yield proxy
    await proxy.down()


async def lag_of(settings: Settings, stage: str, topic: Topic) -> int:
    """Records of a topic that the group of a stage has not committed."""
    group = f"{settings.group_prefix}.{settings.topic_prefix}.{stage}"
    async with admin_client(settings) as admin:
        committed = await admin.list_consumer_group_offsets(group)
    done = {(tp.topic, tp.partition): found.offset for tp, found in committed.items()}
    name = topic.named(settings.topic_prefix)
    return sum(record.offset >= done.get((name, record.partition), 0) for record in await read(settings, topic))


async def test_memory_is_bounded_while_thousands_wait(
    own_settings: Settings, scope: str, line: Proxy, tmp_path: Path
) -> None:
    """Neo4j is away and 150 MB of events are published: extraction goes on, the sink waits, neither holds them.

    The lag is the queue; both stages live, and go on when Neo4j is back.
    """
    await create_topics(own_settings)
    env = environment(
        own_settings, MEMSTREAM_NEO4J_URI=f"bolt://127.0.0.1:{line.port}", MEMSTREAM_EXTRACT_PROCESSES="1"
    )
    worker = await StageProcess.supervised(tmp_path / "worker.log", env)
    ports = (own_settings.metrics_port_extract, own_settings.metrics_port_sink)
    for port in ports:
        await until(lambda port=port: ready(port), 90, "both stages work")  # type: ignore[misc]
    await publish(own_settings, [message(scope, n, TEXT, f"s{n}") for n in range(10_000, 10_050)])
    await until(lambda: _patched(own_settings, 50), 60, "the stages have begun to work")
    before = resident(worker)
    await line.down()
    await publish(own_settings, [message(scope, n, TEXT, f"s{n % 50}", Role.ASSISTANT) for n in range(EVENTS)])
    peak = dict(before)

    async def all_patched() -> bool:
        for pid, size in resident(worker).items():
            peak[pid] = max(peak.get(pid, 0), size)
        return await _patched(own_settings, EVENTS + 50)

    await until(all_patched, 120, f"extraction goes on; the worker said {worker.said()[-2000:]}", every=0.5)
    await until(lambda: _waits(own_settings.metrics_port_sink), 60, "the sink says that it is not ready")
    assert worker.alive
    assert await lag_of(own_settings, "sink", Topic.PATCHES) >= EVENTS
    assert peak.keys() == before.keys(), "no process was replaced"
    grown = {stage: (peak[pid] - before[pid]) // 2**20 for stage, pid in stages_of(worker).items()}
    print(f"grown by MB: {grown}")  # noqa: T201
    assert {stage: grown[stage] < most for stage, most in MOST_GROWTH.items()} == dict.fromkeys(MOST_GROWTH, True)
    await line.up()
    await until(lambda: ready(own_settings.metrics_port_sink), 60, "the sink goes on")
    assert await worker.stop(60) == 0


async def _waits(port: int) -> bool:
    return not await ready(port)


async def _patched(settings: Settings, count: int) -> bool:
    """Whether extraction is past so many messages."""
    group = f"{settings.group_prefix}.{settings.topic_prefix}.extract"
    async with admin_client(settings) as admin:
        committed = await admin.list_consumer_group_offsets(group)
    source = Topic.CONVERSATION.named(settings.topic_prefix)
    done: int = sum(found.offset for tp, found in committed.items() if tp.topic == source)
    return done >= count


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root on Linux")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_a_full_disk_stops_nothing_for_ever_and_loses_nothing(
    own_settings: Settings, scope: str, small_disk: Path, tmp_path: Path
) -> None:
    """The store of large results is full: the stage says so and waits; with room again every event is worked off."""
    await create_topics(own_settings)
    filler = small_disk / "filler"
    filler.write_bytes(b"f" * 1_900_000)
    url = (small_disk / "offload").as_uri()
    env = environment(own_settings, MEMSTREAM_OFFLOAD_URL=url, MEMSTREAM_EXTRACT_PROCESSES="1")
    stage = await StageProcess.start("extract", tmp_path / "extract.log", env)
    await until(lambda: ready(own_settings.metrics_port_extract), 90, "extraction works")
    results = [_result(scope, n) for n in range(4)]
    await publish(own_settings, [*results, message(scope, 1, "small")])

    async def says_so() -> bool:
        return "No space left on device" in stage.said()

    await until(says_so, 60, "the stage says that the disk is full")
    assert stage.alive
    assert "extraction_waits" in stage.said()
    filler.unlink()

    async def patched() -> bool:
        return len(await read_patches(own_settings)) == 5

    await until(patched, 60, f"all is worked off; the stage said {stage.said()}", every=0.5)
    assert await stage.stop() == 0
    assert await read(own_settings, Topic.DEAD_LETTER) == []
    handles = [
        node.props["offload"] for p in await read_patches(own_settings) for node in p.nodes if "offload" in node.props
    ]
    assert len(handles) == 4
    store = OffloadStore(url)
    assert sorted(len(store.fetch(handle)) for handle in handles) == [300_000 + n for n in range(4)]


def _result(scope: str, number: int) -> Event:
    """A tool call with a large result."""
    small = message(scope, number, "")
    data = ToolCall(
        call_id=f"c{number}", tool="fetch", status=ToolStatus.SUCCESS, result="r" * (300_000 + number), session_id="s1"
    )
    return Event.of(data, id=f"t{number}", source="tests", time=small.time, scope=scope)
