"""Publishing to the real Kafka: receipts, order, bounds, and what a caller is told."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.admin import NewTopic
from aiokafka.partitioner import DefaultPartitioner

from memstream.client import AsyncPublisher, Publisher, Receipt
from memstream.client.producer import MAX_REQUEST_BYTES, partition_of
from memstream.schemas.cloudevents import decode
from memstream.schemas.conversation import Message
from memstream.schemas.errors import InvalidEvent, PublishError
from memstream.schemas.events import Event
from memstream.schemas.topics import EVENT_TOPICS, TOPICS, Topic
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options
from memstream.streams.broker import admin_client
from memstream.streams.topics_admin import create_topics


@pytest.fixture
async def topics(own_settings: Settings) -> Settings:
    """Settings whose topics are there."""
    await create_topics(own_settings)
    return own_settings


async def records(settings: Settings, topic: Topic = Topic.CONVERSATION) -> list[ConsumerRecord]:
    """All records of a topic, partition by partition in their order."""
    name = topic.named(settings.topic_prefix)
    found: list[ConsumerRecord] = []
    async with AIOKafkaConsumer(**kafka_options(settings), auto_offset_reset="earliest") as consumer:
        parts = [TopicPartition(name, number) for number in range(settings.partitions)]
        consumer.assign(parts)
        ends = await consumer.end_offsets(parts)
        await consumer.seek_to_beginning(*parts)
        while any([await consumer.position(part) < ends[part] for part in parts]):
            for batch in (await consumer.getmany(timeout_ms=500)).values():
                found += batch
    return found


def event_of(record: ConsumerRecord) -> Event:
    """The event of a record."""
    return decode(record.headers, record.value)


async def test_a_receipt_names_where_the_event_stands(topics: Settings, scope: str) -> None:
    """Topic, partition and offset lead to the record, which decodes to the event; recorded time is the broker's."""
    async with AsyncPublisher(scope, session_id="s", settings=topics) as publisher:
        pending = await publisher.message(None, "user", "We sail at six.")
        receipt = await pending
    (record,) = await records(topics)
    assert (record.topic, record.partition, record.offset) == (receipt.topic, receipt.partition, receipt.offset)
    assert event_of(record) == pending.event
    assert (receipt.event_id, receipt.source, receipt.scope) == (pending.event_id, publisher.source, scope)
    assert record.timestamp_type == 1
    assert receipt.recorded_at == datetime.fromtimestamp(record.timestamp / 1_000, UTC)
    assert abs(datetime.now(UTC) - receipt.recorded_at) < timedelta(minutes=1)


async def test_order_inside_a_session_is_the_order_of_calls(topics: Settings, scope: str) -> None:
    """Many sessions at once, through many batches: in the log each session reads as it was called."""
    async with AsyncPublisher(scope, settings=topics) as publisher:
        for number in range(3_000):
            await publisher.message(f"s{number % 17}", "user", f"{number}")
    said: dict[str, list[Event]] = defaultdict(list)
    for record in await records(topics):
        event = event_of(record)
        assert isinstance(event.data, Message)
        said[event.data.session_id].append(event)
    assert len(said) == 17
    assert sum(map(len, said.values())) == 3_000
    for number, events in enumerate(said[f"s{n}"] for n in range(17)):
        texts = [int(event.data.content) for event in events if isinstance(event.data, Message)]
        assert texts == list(range(number, 3_000, 17))
        assert [event.order for event in events] == sorted(event.order for event in events)


async def test_calls_that_wait_for_room_keep_their_order(topics: Settings, scope: str) -> None:
    """With a buffer of two events, calls made at once are taken in the order in which they were made."""
    async with AsyncPublisher(scope, settings=topics, max_events=2) as publisher:
        calls = [publisher.message("s", "user", f"{number}") for number in range(40)]
        receipts = await asyncio.gather(*(await asyncio.gather(*calls)))
    assert [receipt.offset for receipt in receipts] == list(range(40))
    texts = [event_of(record).data for record in await records(topics)]
    assert [data.content for data in texts if isinstance(data, Message)] == [str(number) for number in range(40)]


async def test_an_event_too_large_never_reaches_the_broker(topics: Settings, scope: str) -> None:
    """It is refused at once with its size; the events around it are published, and the largest allowed one too."""
    async with AsyncPublisher(scope, settings=topics) as publisher:
        await publisher.message("s", "user", "before")
        with pytest.raises(InvalidEvent, match="at most 1,000,000"):
            await publisher.message("s", "user", "é" * 600_000)
        noise = "".join(chr(0x4E00 + (number * 7_919) % 20_000) for number in range(330_000))
        large = await publisher.message("s", "user", noise)
        after = await publisher.message("s", "user", "after")
        assert [(await large).offset, (await after).offset] == [1, 2]


async def test_a_missing_topic_says_which_command_makes_it(own_settings: Settings, scope: str) -> None:
    """Nothing is created on the way, and events of topics that are there follow."""
    board = Topic.BOARD.named(own_settings.topic_prefix)
    async with admin_client(own_settings) as admin:
        await admin.create_topics([NewTopic(Topic.CONVERSATION.named(own_settings.topic_prefix), 3, 1)])
        async with AsyncPublisher(scope, agent_id="a", settings=own_settings) as publisher:
            lost = await publisher.posted("q-1", "question", "Who has the key?")
            kept = await publisher.message("s", "user", "hello")
            assert (await kept).topic.endswith(".conversation")
            with pytest.raises(PublishError, match="memstream topics create") as caught:
                await lost
        assert caught.value.event_ids == (lost.event_id,)
        assert board not in await admin.list_topics()


async def test_failures_are_told_once_and_never_swallowed(own_settings: Settings, scope: str) -> None:
    """Whoever drops a handle is told by the next call, which names its own event too; then it goes on."""
    publisher = AsyncPublisher(scope, agent_id="a", settings=own_settings)
    first = await publisher.posted("q-1", "question", "one")
    deadline = time.monotonic() + 20
    while not first.done and time.monotonic() < deadline:  # noqa: ASYNC110 - nobody tells but the handle
        await asyncio.sleep(0.05)
    with pytest.raises(PublishError, match="Not taken") as caught:
        await publisher.posted("q-2", "question", "two")
    assert len(caught.value.event_ids) == 2
    assert [event.id for event in caught.value.events] == list(caught.value.event_ids)
    await create_topics(own_settings)
    again = await publisher.publish_many(caught.value.events)
    assert [(await pending).event_id for pending in again] == list(caught.value.event_ids)
    await publisher.close()


async def test_an_error_of_the_block_stays_in_front(own_settings: Settings, scope: str) -> None:
    """What could not be sent is added to it as a note."""

    async def fail() -> None:
        async with AsyncPublisher(scope, settings=own_settings, session_id="s") as publisher:
            await publisher.message(None, "user", "no topic for this")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        await fail()
    assert "memstream topics create" in caught.value.__notes__[0]


async def test_a_closed_publisher_takes_nothing(topics: Settings, scope: str) -> None:
    """And leaves nothing running behind."""
    publisher = AsyncPublisher(scope, settings=topics)
    await (await publisher.message("s", "user", "hello"))
    await publisher.close()
    await publisher.close()
    with pytest.raises(PublishError, match="closed"):
        await publisher.message("s", "user", "too late")
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_sync_publishers_serve_several_threads(topics: Settings, scope: str) -> None:
    """Each thread's events keep their order, every one has a receipt, and none is lost."""
    receipts: dict[int, list[Receipt]] = {}

    def work(publisher: Publisher, thread: int) -> None:
        handles = [publisher.message(f"t{thread}", "user", f"{number}") for number in range(300)]
        receipts[thread] = [handle.result(30) for handle in handles]

    def run() -> None:
        with Publisher(scope, settings=topics, max_events=100) as publisher:
            threads = [threading.Thread(target=work, args=(publisher, number)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    await asyncio.to_thread(run)
    assert [len(receipts[number]) for number in range(4)] == [300] * 4
    for number in range(4):
        offsets = [receipt.offset for receipt in receipts[number]]
        assert offsets == sorted(offsets)
        assert len({receipt.partition for receipt in receipts[number]}) == 1
    assert len(await records(topics)) == 1_200


async def test_a_program_that_forgets_to_close_still_sends(topics: Settings, scope: str) -> None:
    """The sync publisher flushes when the interpreter ends."""
    program = (
        "from memstream.client import Publisher\n"
        f"p = Publisher({scope!r}, kafka_bootstrap={topics.kafka_bootstrap!r}, topic_prefix={topics.topic_prefix!r})\n"
        "for n in range(50): p.message('s', 'user', str(n))\n"
    )
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(await records(topics)) == 50


def test_a_sync_publisher_tells_failures_too(own_settings: Settings, scope: str) -> None:
    """By result, and by leaving the block where nobody asked."""
    publisher = Publisher(scope, settings=own_settings, session_id="s")
    handle = publisher.message(None, "user", "no topic for this")
    with pytest.raises(PublishError, match="memstream topics create"):
        handle.result(20)
    publisher.close()
    with pytest.raises(PublishError, match="memstream topics create"), Publisher(scope, settings=own_settings) as other:
        other.message("s", "user", "nor for this")
    with pytest.raises(PublishError, match="closed"):
        publisher.message(None, "user", "too late")


async def test_raw_bytes_go_out_untouched(topics: Settings, scope: str) -> None:
    """Key, value and headers as given; only what no broker takes is refused."""
    async with AsyncPublisher(scope, settings=topics) as publisher:
        receipt = await (await publisher.publish_raw(Topic.BOARD, b"k", b"\xff\x00", [("x", b"1")]))
        with pytest.raises(PublishError, match="no broker"):
            await publisher.publish_raw(Topic.BOARD, b"k", b"x" * 2_000_000, label="line 7")
    (record,) = await records(topics, Topic.BOARD)
    assert (record.key, record.value, record.headers) == (b"k", b"\xff\x00", (("x", b"1"),))
    assert record.offset == receipt.offset


@pytest.mark.parametrize("count", [1, 3, 12, 50])
def test_partitions_are_those_of_kafkas_default(count: int) -> None:
    """Every key goes where any client's default partitioner sends it."""
    partitioner = DefaultPartitioner()
    for number in range(200):
        key = f"acme/u{number}\x1fs{number % 7}".encode()
        assert partition_of(key, count) == partitioner(key, list(range(count)), list(range(count)))


def test_every_event_topic_takes_the_largest_event() -> None:
    """The producer's own limit is the topics'."""
    assert {int(TOPICS[topic].broker_config()["max.message.bytes"]) for topic in EVENT_TOPICS} == {MAX_REQUEST_BYTES}
