"""Making the topics of a lineage, and seeing that they are as the contract says.

Partition counts never change: keys would move to other partitions, and the order inside a key would be lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import for_code

from memstream.schemas.errors import BrokerUnavailable, TopicMismatch
from memstream.schemas.topics import TOPICS, Topic
from memstream.settings import Settings
from memstream.streams.broker import admin_client

_EXISTS = 36
_CREATED_WITHIN = 30.0
_LOOK_AGAIN = 0.3


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic as it is on the broker: `partitions` is 0 where it is missing, `differs` says what is wrong with it."""

    name: str
    keyed_by: str
    partitions: int
    replicas: int
    config: Mapping[str, str]
    differs: tuple[str, ...]


async def create_topics(settings: Settings) -> list[str]:
    """Make the topics that are missing, and return their names. Existing ones are checked, not touched.

    Raises TopicMismatch where one has another partition count, BrokerUnavailable.
    """
    async with admin_client(settings) as admin:
        there = await _partition_counts(admin)
        missing = [topic for topic in Topic if settings.topic(topic) not in there]
        _check_foreign(settings, missing)
        if missing:
            await _create(admin, settings, missing)
            there = await _wait_until_created(admin, settings, missing)
        _check_counts(settings, there)
    return [settings.topic(topic) for topic in missing]


async def ensure_topics(settings: Settings) -> list[str]:
    """Make the topics of a lineage that has none yet, and return their names; else all must be there.

    Raises TopicMismatch where some are missing: one that was deleted is not made again, empty, as if nothing had been.
    """
    own = [topic.named(settings.topic_prefix) for topic in Topic]
    names = [name for topic, name in zip(Topic, own, strict=True) if settings.topic(topic) == name]
    deadline = asyncio.get_running_loop().time() + _CREATED_WITHIN
    while True:
        there = await partition_counts(settings)
        missing = [name for name in names if name not in there]
        if len(missing) in (0, len(names)):
            return await create_topics(settings)
        if asyncio.get_running_loop().time() > deadline:  # another process may be making them now
            raise TopicMismatch(
                f"Some topics of this lineage are there, and {', '.join(missing)} not: deleted underneath, or new with "
                "this version. Bring them back, or make them, empty, with `memstream topics create`"
            )
        await asyncio.sleep(_LOOK_AGAIN)


async def topic_states(settings: Settings) -> list[TopicState]:
    """How each topic of the lineage is on the broker. Raises BrokerUnavailable."""
    names = {topic: settings.topic(topic) for topic in Topic}
    async with admin_client(settings) as admin:
        described = {row["topic"]: row for row in await admin.describe_topics() if not row["error_code"]}
        there = [name for name in names.values() if name in described]
        configs = await _configs(admin, there)
    states = []
    for topic, name in names.items():
        partitions = described[name]["partitions"] if name in described else []
        replicas = len(partitions[0]["replicas"]) if partitions else 0
        states.append(_state(topic, settings, len(partitions), replicas, configs.get(name, {})))
    return states


async def check_topics(settings: Settings) -> None:
    """Raise TopicMismatch with all that is missing or has another partition count or configuration."""
    wrong = [f"{state.name} {said}" for state in await topic_states(settings) for said in state.differs]
    if wrong:
        raise TopicMismatch(
            "The topics are not as they should be: "
            + "; ".join(wrong)
            + ". Make missing ones with `memstream topics create`. A partition count can't be changed: set "
            "MEMSTREAM_PARTITIONS to the count that is there, or MEMSTREAM_TOPIC_PREFIX to a new lineage."
        )


async def partition_counts(settings: Settings) -> dict[str, int]:
    """The topics of the cluster by full name, with their partition counts. Raises BrokerUnavailable."""
    async with admin_client(settings) as admin:
        return await _partition_counts(admin)


async def delete_topics(settings: Settings) -> None:
    """Remove the topics of a lineage, and with them all that was published to it (for tests and benchmarks)."""
    async with admin_client(settings) as admin:
        there = await _partition_counts(admin)
        names = [name for topic in Topic if (name := topic.named(settings.topic_prefix)) in there]
        if names:
            await admin.delete_topics(names)


def _check_foreign(settings: Settings, missing: list[Topic]) -> None:
    """A topic of another lineage is never made: a slip in its prefix would look like an empty log."""
    foreign = [name for topic in missing if (name := settings.topic(topic)) != topic.named(settings.topic_prefix)]
    if foreign:
        raise TopicMismatch(
            f"The topics {', '.join(foreign)} of another lineage are not there: check MEMSTREAM_EVENTS_PREFIX and "
            "MEMSTREAM_PATCHES_PREFIX"
        )


async def _create(admin: AIOKafkaAdminClient, settings: Settings, topics: list[Topic]) -> None:
    new = [
        NewTopic(
            settings.topic(topic),
            settings.partitions,
            settings.replication_factor,
            topic_configs=TOPICS[topic].broker_config(),
        )
        for topic in topics
    ]
    answer = await admin.create_topics(new)
    for name, code, *words in answer.topic_errors:
        if code not in (0, _EXISTS):  # another process may have been quicker
            said = words[0] if words and words[0] else for_code(code).__name__
            raise TopicMismatch(f"The topic {name} could not be made: {said}")


async def _wait_until_created(admin: AIOKafkaAdminClient, settings: Settings, topics: list[Topic]) -> dict[str, int]:
    wanted = {settings.topic(topic) for topic in topics}
    deadline = asyncio.get_running_loop().time() + _CREATED_WITHIN
    while True:
        there = await _partition_counts(admin)
        if wanted <= there.keys():
            return there
        if asyncio.get_running_loop().time() > deadline:
            raise BrokerUnavailable(f"the broker made {', '.join(sorted(wanted - there.keys()))} and does not show it")
        await asyncio.sleep(0.1)


async def _partition_counts(admin: AIOKafkaAdminClient) -> dict[str, int]:
    """Topics whose every partition has a leader, with their partition counts."""
    return {
        row["topic"]: len(row["partitions"])
        for row in await admin.describe_topics()
        if not row["error_code"] and row["partitions"] and all(p["leader"] >= 0 for p in row["partitions"])
    }


def _check_counts(settings: Settings, there: Mapping[str, int]) -> None:
    for topic in Topic:
        name = settings.topic(topic)
        count = there.get(name, 0)
        if count != settings.partitions:
            raise TopicMismatch(
                f"The topic {name} has {count} partitions, and MEMSTREAM_PARTITIONS is {settings.partitions}. "
                f"A partition count never changes: set MEMSTREAM_PARTITIONS={count}, or MEMSTREAM_TOPIC_PREFIX to a "
                "new lineage."
            )


async def _configs(admin: AIOKafkaAdminClient, names: list[str]) -> dict[str, dict[str, str]]:
    if not names:
        return {}
    answers = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name) for name in names])
    return {
        resource[3]: {entry[0]: entry[1] for entry in resource[4]}
        for answer in answers
        for resource in answer.resources
    }


def _state(topic: Topic, settings: Settings, partitions: int, replicas: int, config: Mapping[str, str]) -> TopicState:
    spec = TOPICS[topic]
    wanted = spec.broker_config()
    if partitions == 0:
        differs = ["is missing"]
    else:
        differs = [
            f"has {name}={config.get(name)} instead of {value}"
            for name, value in wanted.items()
            if config.get(name) != value
        ]
        if partitions != settings.partitions:
            differs.insert(0, f"has {partitions} partitions instead of {settings.partitions}")
    shown = {name: config[name] for name in wanted if name in config}
    return TopicState(settings.topic(topic), spec.keyed_by, partitions, replicas, shown, tuple(differs))
