"""Topics are made once and checked; dead letters are listed from the command line."""

from __future__ import annotations

import asyncio
import json

import pytest
from events import publish_raw
from typer.testing import CliRunner

from memstream.cli.main import app
from memstream.schemas.errors import BrokerUnavailable, Reason, TopicMismatch
from memstream.schemas.topics import TOPICS, Topic
from memstream.settings import Settings, load
from memstream.streams.dead_letters import write_letter
from memstream.streams.records import Record, Refusal
from memstream.streams.topics_admin import check_topics, create_topics, topic_states


async def test_topics_are_made_once_with_their_configuration(own_settings: Settings) -> None:
    """A second run makes none; retention, limits and time stamps are those of the contract."""
    assert len(await create_topics(own_settings)) == len(Topic)
    assert await create_topics(own_settings) == []
    await check_topics(own_settings)
    states = {state.name: state for state in await topic_states(own_settings)}
    conversation = states[Topic.CONVERSATION.named(own_settings.topic_prefix)]
    assert conversation.partitions == 3
    assert conversation.config["message.timestamp.type"] == "LogAppendTime"
    assert conversation.config["retention.ms"] == "-1"
    assert states[Topic.SESSION_STATE.named(own_settings.topic_prefix)].config["cleanup.policy"] == "compact"
    assert len(states) == len(TOPICS)


async def test_another_partition_count_is_refused(own_settings: Settings) -> None:
    """Keys would move: the message names the topic, both counts and the way out."""
    await create_topics(own_settings)
    other = load(topic_prefix=own_settings.topic_prefix, partitions=4, data_dir=own_settings.data_dir)
    with pytest.raises(TopicMismatch, match="has 3 partitions, and MEMSTREAM_PARTITIONS is 4"):
        await create_topics(other)
    with pytest.raises(TopicMismatch, match="3 partitions instead of 4"):
        await check_topics(other)


async def test_missing_topics_are_told(own_settings: Settings) -> None:
    """A lineage that was never made is missing, topic by topic."""
    with pytest.raises(TopicMismatch, match="memstream topics create"):
        await check_topics(own_settings)


async def test_a_broker_that_is_not_there_is_told_in_words(own_settings: Settings) -> None:
    """No error of the client's own, but what to do."""
    away = load(kafka_bootstrap="127.0.0.1:1", data_dir=own_settings.data_dir)
    with pytest.raises(BrokerUnavailable, match="start it with `memstream up`"):
        await create_topics(away)


def run(*words: str, settings: Settings) -> str:
    """What a command prints."""
    env = {"MEMSTREAM_TOPIC_PREFIX": settings.topic_prefix, "MEMSTREAM_PARTITIONS": "3", "COLUMNS": "200"}
    env["MEMSTREAM_DATA_DIR"] = str(settings.data_dir)
    result = CliRunner().invoke(app, words, env=env, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


async def test_dead_letters_are_listed_and_shown(own_settings: Settings) -> None:
    """`list` tells reason and origin, once for each origin; `show` prints the bytes as they were."""
    await create_topics(own_settings)
    records = [Record("conversation", 1, offset, 1_772_787_600_000 + offset, b"k", b"\x00\xfe") for offset in (5, 6)]
    letters = [write_letter(record, Refusal(Reason.NOT_JSON, "no JSON"), "extract") for record in records]
    letters.append(letters[1])  # refused again after a crash
    sent = [(Topic.DEAD_LETTER, letter.key, letter.value, list(letter.headers)) for letter in letters]
    await publish_raw(own_settings, sent)
    rows = json.loads(await asyncio.to_thread(run, "dlq", "list", "--json", settings=own_settings))
    assert [(row["topic"], row["partition"], row["offset"]) for row in rows] == [("conversation", 1, n) for n in (5, 6)]
    assert {row["reason"] for row in rows} == {"not_json"}
    assert "no JSON" in await asyncio.to_thread(run, "dlq", "list", settings=own_settings)
