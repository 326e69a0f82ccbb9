"""The broker goes away: what is acked stays once, what is not is named, and nothing is sent behind anyone's back."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from aiokafka import ConsumerRecord
from broker_proxy import BrokerProxy, ProxiedPublisher

from memstream.client import AsyncPublisher, Pending, Publisher
from memstream.deploy.ports import any_free
from memstream.schemas.cloudevents import decode
from memstream.schemas.conversation import Message
from memstream.schemas.errors import PublishError
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.log_reader import read_to_end
from memstream.streams.topics_admin import create_topics


@pytest.fixture
async def proxy(own_settings: Settings) -> AsyncIterator[BrokerProxy]:
    """A line to the broker; the topics are there, and their partitions have leaders."""
    await create_topics(own_settings)
    assert await log(own_settings) == []
    async with BrokerProxy(own_settings.kafka_bootstrap) as line:
        yield line


def through(proxy: BrokerProxy, settings: Settings, scope: str, timeout: float = 2.0, **more: int) -> AsyncPublisher:
    """A publisher behind the line, with a short deadline."""
    near = settings.model_copy(update={"kafka_bootstrap": proxy.address, "publish_timeout": timeout})
    return ProxiedPublisher(proxy, scope, settings=near, session_id="s", **more)


async def log(settings: Settings) -> list[tuple[str, str]]:
    """Id and text of every message in the log (one session, so one partition)."""
    name = Topic.CONVERSATION.named(settings.topic_prefix)
    return [said(record) async for record in read_to_end(settings, name)]


def said(record: ConsumerRecord) -> tuple[str, str]:
    """Id and text of a message's record."""
    event = decode(record.headers, record.value)
    assert isinstance(event.data, Message)
    return event.id, event.data.content


def check_clean() -> None:
    """Nothing of a closed publisher runs on; what the line itself runs is the test's own."""
    mine = [task for task in asyncio.all_tasks() if "aiokafka" in repr(task) or "memstream/client" in repr(task)]
    assert not mine


async def test_no_broker_at_the_start_names_every_event(scope: str) -> None:
    """After the deadline, and not much later; the cause is the system's; close raises where nobody asked."""
    port = any_free()
    publisher = AsyncPublisher(
        scope, session_id="s", kafka_bootstrap=f"127.0.0.1:{port}", publish_timeout=1.0, topic_prefix="t"
    )
    began = time.monotonic()
    handles = [await publisher.message(None, "user", f"{number}") for number in range(7)]
    with pytest.raises(PublishError, match="7 events were not acked") as caught:
        await publisher.close()
    assert 0.9 < time.monotonic() - began < 8
    assert caught.value.event_ids == tuple(handle.event_id for handle in handles)
    assert [event.id for event in caught.value.events] == list(caught.value.event_ids)
    told = str(caught.value)
    assert f"127.0.0.1:{port}" in told
    assert "and 2 more" in told
    assert "Connect call failed" in told
    with pytest.raises(PublishError, match="1 event was not acked"):
        await handles[3]
    check_clean()


def test_no_broker_at_the_start_for_code_without_a_loop(scope: str) -> None:
    """The sync publisher says the same when it is closed."""
    options = {"kafka_bootstrap": f"127.0.0.1:{any_free()}", "publish_timeout": 0.5}
    publisher = Publisher(scope, **options)
    publisher.message("s", "user", "a")
    publisher.message("s", "user", "b")
    with pytest.raises(PublishError, match="2 events were not acked"):
        publisher.close()


async def test_a_broker_that_comes_late_is_waited_for(proxy: BrokerProxy, own_settings: Settings, scope: str) -> None:
    """Within the deadline nobody notices."""
    await proxy.down()
    async with through(proxy, own_settings, scope, timeout=20) as publisher:
        pending = await publisher.message(None, "user", "early")
        await asyncio.sleep(0.7)
        assert not pending.done
        await proxy.up()
        assert (await pending).offset == 0
    check_clean()


async def test_a_short_outage_neither_loses_nor_doubles(proxy: BrokerProxy, own_settings: Settings, scope: str) -> None:
    """Connections break again and again while a session goes on: each event is there once, in order."""
    async with through(proxy, own_settings, scope, timeout=30, linger_ms=0) as publisher:
        for number in range(300):
            await publisher.message(None, "user", f"{number}")
            if number % 60 == 59:
                await proxy.down()
                await asyncio.sleep(0.2)
                await proxy.up()
            await asyncio.sleep(0.001)
    assert [text for _, text in await log(own_settings)] == [str(number) for number in range(300)]
    check_clean()


@pytest.mark.parametrize("how", ["refused", "frozen", "answers lost"])
async def test_after_a_failed_deadline_it_is_usable_again(
    how: str, proxy: BrokerProxy, own_settings: Settings, scope: str
) -> None:
    """The unacked are named and can be published again; the acked are there once; first appearances are in order."""
    publisher = through(proxy, own_settings, scope, timeout=2.0)
    acked = [await (await publisher.message(None, "user", f"a{number}")) for number in range(5)]
    if how == "refused":
        await proxy.down()
    elif how == "frozen":
        proxy.freeze()
    else:
        proxy.hold_answers()
    lost = [await publisher.message(None, "user", f"b{number}") for number in range(20)]
    with pytest.raises(PublishError, match="20 events were not acked") as caught:
        await publisher.flush()
    assert caught.value.event_ids == tuple(pending.event_id for pending in lost)
    if how == "refused":
        await proxy.up()
    proxy.thaw()
    again = await publisher.publish_many(caught.value.events)
    after = await publisher.message(None, "user", "c")
    await publisher.close()
    assert [pending.done for pending in [*again, after]] == [True] * 21
    check_clean()

    counts = Counter(name for name, _ in await log(own_settings))
    assert [counts[receipt.event_id] for receipt in acked] == [1] * 5
    first = list(dict.fromkeys(text for _, text in await log(own_settings)))
    assert first == [f"a{n}" for n in range(5)] + [f"b{n}" for n in range(20)] + ["c"]


async def test_nothing_named_as_failed_arrives_later(proxy: BrokerProxy, own_settings: Settings, scope: str) -> None:
    """What was given up stays given up: an abandoned producer sends no more, so nothing overtakes."""
    publisher = through(proxy, own_settings, scope, timeout=2.0)
    await (await publisher.message(None, "user", "first"))
    proxy.freeze()
    await publisher.message(None, "user", "given up")
    with pytest.raises(PublishError):
        await publisher.flush()
    proxy.thaw()
    await (await publisher.message(None, "user", "second"))
    await publisher.close()
    await asyncio.sleep(0.5)
    texts = [text for _, text in await log(own_settings)]
    assert texts in (["first", "second"], ["first", "given up", "second"])


async def test_a_full_buffer_holds_the_caller_back(proxy: BrokerProxy, own_settings: Settings, scope: str) -> None:
    """By count and by bytes; when the broker answers again, the call returns."""
    for bound in ({"max_events": 3}, {"max_bytes": 12_000}):
        publisher = through(proxy, own_settings, scope, timeout=30, **bound)
        await (await publisher.message(None, "user", "x"))
        proxy.freeze()
        taken: list[Pending] = []

        async def fill(to: AsyncPublisher = publisher, into: list[Pending] = taken) -> None:
            for _ in range(6):
                into.append(await to.message(None, "user", "y" * 3_500))

        filling = asyncio.create_task(fill())
        await asyncio.wait([filling], timeout=1.0)
        assert (filling.done(), len(taken)) == (False, 3)
        proxy.thaw()
        await asyncio.wait_for(filling, 20)
        await publisher.close()
        assert all(pending.done for pending in taken)


async def test_whoever_waits_for_room_is_told_of_the_failure(
    proxy: BrokerProxy, own_settings: Settings, scope: str
) -> None:
    """A call that waits for room when the deadline passes raises, and names its own event as not taken."""
    publisher = through(proxy, own_settings, scope, timeout=2.0, max_events=2)
    await (await publisher.message(None, "user", "x"))
    await proxy.down()
    first = [await publisher.message(None, "user", "y") for _ in range(2)]
    with pytest.raises(PublishError, match="Not taken") as caught:
        await publisher.message(None, "user", "z")
    assert caught.value.event_ids[:2] == tuple(pending.event_id for pending in first)
    assert len(caught.value.event_ids) == 3
    await publisher.close()


async def test_a_blocked_loop_is_no_failed_deadline(proxy: BrokerProxy, own_settings: Settings, scope: str) -> None:
    """Code that blocks its loop for longer than the deadline finds the answers, which were there in time."""
    async with through(proxy, own_settings, scope) as publisher:
        await (await publisher.message(None, "user", "x"))
    direct = AsyncPublisher(scope, session_id="s", settings=own_settings.model_copy(update={"publish_timeout": 2.0}))
    await (await direct.message(None, "user", "y"))
    pending = await direct.message(None, "user", "z")
    await asyncio.sleep(0.02)
    threading.Event().wait(2.5)  # the loop's own thread stands still
    assert (await pending).offset == 2
    await direct.close()
