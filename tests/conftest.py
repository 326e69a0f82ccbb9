"""What tests against the real Kafka and Neo4j share. Imports wait for their use: unit tests need none of it."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from neo4j import AsyncDriver
    from own_neo4j import OwnNeo4j

    from memstream.settings import Settings

# A console made while this is set keeps that width for ever; tests give their own to the commands they run.
os.environ.pop("COLUMNS", None)

# A test that is timed fails where the machine is busy and the code is right.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    """What a test starts ends with it, also where it fails before it could end it. Made first, so undone last."""
    yield
    if "left_over" in sys.modules:
        sys.modules["left_over"].end()


@pytest.fixture(scope="session")
def stack() -> Settings:
    """The settings that name the running Kafka and Neo4j. Without them tests fail: nothing is skipped in silence."""
    from memstream.deploy.health import kafka_health, neo4j_health  # noqa: PLC0415
    from memstream.settings import load  # noqa: PLC0415

    settings = load()

    async def check() -> list[str]:
        return [reason for reason in (await kafka_health(settings), await neo4j_health(settings)) if reason]

    reasons = asyncio.run(check())
    if reasons:
        pytest.fail(f"Kafka and Neo4j are needed, but {'; '.join(reasons)}. Run `memstream up` or `make test`.")
    return settings


@pytest.fixture
async def topic_prefix(stack: Settings) -> AsyncIterator[str]:
    """A topic prefix of this test alone; its topics are removed afterwards."""
    from aiokafka.admin import AIOKafkaAdminClient  # noqa: PLC0415

    from memstream.settings.kafka import kafka_options  # noqa: PLC0415

    prefix = f"t{secrets.token_hex(5)}"
    yield prefix
    admin = AIOKafkaAdminClient(**kafka_options(stack))
    await admin.start()
    try:
        mine = [topic for topic in await admin.list_topics() if topic.startswith(f"{prefix}.")]
        if mine:
            await admin.delete_topics(mine)
    finally:
        await admin.close()


@pytest.fixture
def scope() -> str:
    """A scope of this test alone."""
    return f"tests/{secrets.token_hex(6)}"


@pytest.fixture
def own_settings(stack: Settings, topic_prefix: str, tmp_path: Path) -> Settings:
    """Settings for the processes of one test: own topics, groups, offload folder and ports, few partitions."""
    from memstream.deploy.ports import any_free  # noqa: PLC0415
    from memstream.settings import load  # noqa: PLC0415

    return load(
        data_dir=stack.data_dir,
        topic_prefix=topic_prefix,
        group_prefix=topic_prefix,
        partitions=3,
        offload_url=(tmp_path / "offload").as_uri(),
        metrics_port_extract=any_free(),
        metrics_port_sink=any_free(),
        query_port=any_free(),
    )


@pytest.fixture(scope="session")
def own_neo4j(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnNeo4j]:
    """A second Neo4j, started once for all tests that stop it, put it back or wipe it. They leave it running."""
    from own_neo4j import OwnNeo4j  # noqa: PLC0415

    made = OwnNeo4j(stack, tmp_path_factory.mktemp("neo4j"))
    try:
        asyncio.run(made.start())
        yield made
    finally:
        asyncio.run(made.stop())


@pytest.fixture
async def driver(stack: Settings) -> AsyncIterator[AsyncDriver]:
    """A driver for the running Neo4j."""
    from neo4j import AsyncGraphDatabase  # noqa: PLC0415

    async with AsyncGraphDatabase.driver(stack.neo4j_uri, auth=stack.neo4j_auth) as found:
        yield found
