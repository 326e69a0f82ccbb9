"""Kafka down at the start: the worker says so, tries again, and begins as soon as it is there."""

from __future__ import annotations

from pathlib import Path

from events import message, publish, read
from proxy import Proxy
from stage_processes import StageProcess, environment, ready, until

from memstream.deploy.ports import any_free
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.topics_admin import create_topics


async def test_kafka_down_at_start(own_settings: Settings, scope: str, tmp_path: Path) -> None:
    """A clear message, no traceback, no exit; when the broker can be reached events are worked off."""
    await create_topics(own_settings)
    await publish(own_settings, [message(scope, 0, "waits")])
    port = any_free()
    host, broker = own_settings.kafka_bootstrap.split(",")[0].rsplit(":", 1)
    proxy = Proxy(host, int(broker))  # the way to the broker's first answer, which names its own address
    env = environment(own_settings, MEMSTREAM_KAFKA_BOOTSTRAP=f"127.0.0.1:{port}", MEMSTREAM_EXTRACT_PROCESSES="1")
    worker = await StageProcess.supervised(tmp_path / "worker.log", env)

    async def says_so() -> bool:
        return worker.said().count("Kafka does not answer at") >= 4

    await until(says_so, 60, "both stages say that Kafka does not answer, more than once")
    assert worker.alive
    assert not await ready(own_settings.metrics_port_extract)
    assert not await ready(own_settings.metrics_port_sink)
    await proxy.up(port)

    async def patched() -> bool:
        return len(await read(own_settings, Topic.PATCHES)) == 1

    await until(patched, 90, f"the event is worked off; the worker said {worker.said()}", every=0.5)
    assert await worker.stop() == 0
    await proxy.down()
    assert "Traceback" not in worker.said()
