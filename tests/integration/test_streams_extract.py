"""The extraction stage as a process, on the real broker: patches, states, dead letters, takeovers."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import httpx
import pytest
from aiokafka import ConsumerRecord
from events import message, publish, publish_raw, read, read_patches, tool_call
from stage_processes import StageProcess, environment, ready, until

from memstream.deploy.ports import any_free
from memstream.schemas.patch import Verdict
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.dead_letters import LetterTold, read_letter
from memstream.streams.outlet import Outlet
from memstream.streams.topics_admin import create_topics

StartStage = Callable[..., Awaitable[StageProcess]]


@pytest.fixture
async def start(own_settings: Settings, tmp_path: Path) -> AsyncIterator[StartStage]:
    """Starts extraction processes with the faulty extractor, and kills those left over."""
    running: list[StageProcess] = []

    async def begin(instance: str = "0", port: int = own_settings.metrics_port_extract, **env: str) -> StageProcess:
        told = environment(
            own_settings, MEMSTREAM_METRICS_PORT_EXTRACT=str(port), MEMSTREAM_EXTRACT_PROCESSES="1", **env
        )
        stage = await StageProcess.start("extract", tmp_path / f"extract-{instance}.log", told, instance)
        running.append(stage)
        await until(lambda: ready(port), 90, f"the stage is ready; it said {stage.said()}")
        return stage

    await create_topics(own_settings)
    yield begin
    for stage in running:
        await stage.kill()


async def until_patched(settings: Settings, count: int, patience: float = 60) -> None:
    """Wait for at least so many patches."""

    async def enough() -> bool:
        return len(await read(settings, Topic.PATCHES)) >= count

    await until(enough, patience, f"{count} patches", every=0.5)


async def test_every_event_gives_one_patch_and_a_clean_stop_loses_none(
    own_settings: Settings, scope: str, start: StartStage
) -> None:
    """Events of two topics become one patch each; SIGTERM ends with 0 and a new process begins where this one ended."""
    stage = await start()
    events = [message(scope, n, f"text {n}", f"s{n % 7}") for n in range(200)]
    await publish(own_settings, [*events, *(tool_call(scope, n) for n in range(50))])
    await until_patched(own_settings, 250)
    assert await stage.stop() == 0
    assert "Traceback" not in stage.said()
    await start()
    await publish(own_settings, [message(scope, 200, "after")])
    await until_patched(own_settings, 251)
    ids = Counter(patch.origin.id for patch in await read_patches(own_settings))
    assert len(ids) == 251
    assert set(ids.values()) == {1}


async def test_a_stop_under_backlog_is_quick_and_loses_nothing(
    own_settings: Settings, scope: str, start: StartStage
) -> None:
    """SIGTERM with a minute of work in line: what is at work is finished, the rest is taken by the next process."""
    stage = await start(FAULTY_SECONDS="0.03")
    events = [message(scope, n, f"text {n}", f"s{n % 50}") for n in range(1_500)]
    await publish(own_settings, events)
    await until_patched(own_settings, 50)
    assert await stage.stop(patience=25) == 0
    assert len(await read_patches(own_settings)) < 1_400
    await start()
    await until_patched(own_settings, 1_500)
    ids = Counter(patch.origin.id for patch in await read_patches(own_settings))
    assert len(ids) == 1_500
    assert set(ids.values()) == {1}


async def test_state_lies_beside_its_partition_and_is_read_back(
    own_settings: Settings, scope: str, start: StartStage
) -> None:
    """A session's state has the key and the partition of its records; a new process goes on from it."""
    stage = await start()
    where = await publish(own_settings, [message(scope, n, "one", "s1") for n in range(3)])
    await until_patched(own_settings, 3)
    await stage.stop()
    await start()
    await publish(own_settings, [message(scope, n, "two", "s1") for n in range(3, 5)])
    await until_patched(own_settings, 5)
    states = await read(own_settings, Topic.SESSION_STATE)
    assert {record.partition for record in states} == {partition for _, partition, _ in where}
    assert b'"state":"NQ=="' in states[-1].value  # the faulty extractor counts turns: "5" in base64


async def test_what_cannot_be_read_is_a_dead_letter_and_harms_no_other(
    own_settings: Settings, scope: str, start: StartStage
) -> None:
    """Null values, bytes that are no JSON, a text that raises and one that kills: each alone, with its origin."""
    await start()
    good = [message(scope, n, f"text {n}", "s1") for n in range(20)]
    await publish(own_settings, good[:10])
    bad = await publish_raw(
        own_settings,
        [
            (Topic.CONVERSATION, None, b"no key and no JSON", []),
            (Topic.CONVERSATION, b"k", None, [("ce_id", b"x")]),
            (Topic.TOOL_CALL, b"k", b"\xff\xfe", [("h", b"v")]),
        ],
    )
    bad += await publish(own_settings, [message(scope, 100, "RAISE", "s1"), message(scope, 101, "DIE", "s1")])
    await publish(own_settings, good[10:])
    await until_patched(own_settings, 22, 90)  # 20, and two verdicts
    letters = await read(own_settings, Topic.DEAD_LETTER)
    told = {(f"{own_settings.topic_prefix}.{t.topic}", t.partition, t.offset): t for t in map(_told, letters)}
    assert set(told) == set(bad)
    assert [told[place].reason for place in bad] == ["not_json", "not_json", "bad_text", *["extraction_failed"] * 2]
    assert {record.value for record in letters} >= {b"no key and no JSON", None, b"\xff\xfe"}
    verdicts = {patch.origin.id: patch.verdict for patch in await read_patches(own_settings)}
    assert {verdicts[f"m{n}"] for n in range(20)} == {Verdict.APPLIED}
    assert {verdicts["m100"], verdicts["m101"]} == {Verdict.DEAD_LETTERED}


def _told(record: ConsumerRecord) -> LetterTold:
    return read_letter(record.headers, record.value)


async def test_two_workers_share_the_partitions_and_one_takes_over(
    own_settings: Settings, scope: str, start: StartStage
) -> None:
    """A second worker comes while events arrive, the first goes: every event still gives exactly one patch."""
    first = await start("0")
    await publish(own_settings, [message(scope, n, "a", f"s{n % 30}") for n in range(300)])
    second = await start("1", any_free())
    await publish(own_settings, [message(scope, n, "b", f"s{n % 30}") for n in range(300, 600)])
    assert await first.stop() == 0
    await publish(own_settings, [message(scope, n, "c", f"s{n % 30}") for n in range(600, 900)])
    await until_patched(own_settings, 900, 120)
    assert second.alive
    ids = Counter(patch.origin.id for patch in await read_patches(own_settings))
    assert len(ids) == 900
    assert set(ids.values()) == {1}


async def test_a_partition_that_was_taken_over_is_fenced(own_settings: Settings, scope: str, start: StartStage) -> None:
    """Who starts on a partition ends its last holder's transactions: that process stops and leaves nothing behind."""
    stage = await start()
    [(_, partition, _)] = await publish(own_settings, [message(scope, 0, "a")])
    await until_patched(own_settings, 1)
    group = f"{own_settings.group_prefix}.{own_settings.topic_prefix}.extract"
    thief = Outlet(own_settings, group, Topic.CONVERSATION, partition)
    await thief.start()
    await publish(own_settings, [message(scope, 1, "b")])

    async def ended() -> bool:
        return not stage.alive

    await until(ended, 60, "the fenced process ends")
    assert await stage.process.wait() == 1
    assert "Another worker has taken over" in stage.said()
    await thief.stop()
    await start()
    await until_patched(own_settings, 2)
    assert len(await read_patches(own_settings)) == 2


async def test_metrics_tell_what_happened_without_naming_anyone(
    own_settings: Settings, scope: str, start: StartStage
) -> None:
    """Counts by type, outcome and reason; no label holds a scope or an id."""
    await start()
    await publish(own_settings, [message(scope, 0, "a"), message(scope, 1, "RAISE")])
    await until_patched(own_settings, 2)
    async with httpx.AsyncClient() as client:
        base = f"http://127.0.0.1:{own_settings.metrics_port_extract}"
        assert (await client.get(f"{base}/live")).status_code == 200
        text = (await client.get(f"{base}/metrics")).text
    assert 'memstream_events_total{outcome="patched",stage="extract",type="memstream.message.v1"} 1.0' in text
    assert 'memstream_dead_letters_total{reason="extraction_failed",stage="extract"} 1.0' in text
    assert scope not in text
