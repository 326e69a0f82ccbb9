"""docs/publish.md: its programs run as they stand there, and its tables name what there is."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

from memstream.client import Publisher
from memstream.client.importers import FORMATS
from memstream.client.minting import Envelope
from memstream.settings import Settings
from memstream.streams.log_reader import read_to_end
from memstream.streams.topics_admin import create_topics

TEXT = (Path(__file__).parents[2] / "docs" / "publish.md").read_text(encoding="utf-8")


async def test_the_programs_run_as_they_stand_there(own_settings: Settings) -> None:
    """Each of them by itself, with nothing but the broker's address in the environment."""
    await create_topics(own_settings)
    programs = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(programs) == 3
    environment = os.environ | {
        "MEMSTREAM_KAFKA_BOOTSTRAP": own_settings.kafka_bootstrap,
        "MEMSTREAM_TOPIC_PREFIX": own_settings.topic_prefix,
    }
    for program in programs:
        command = [sys.executable, "-W", "error", "-c", program]
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, env=environment, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
    name = f"{own_settings.topic_prefix}.conversation"
    assert len([record async for record in read_to_end(own_settings, name)]) == 3


def test_every_method_format_and_attribute_is_told() -> None:
    """What the publisher has, the document has."""
    inherited = {"publish", "publish_many", "publish_raw", "flush", "close", "source", "wait_until_visible"}
    methods = {name for name in dir(Publisher) if not name.startswith("_")} - inherited
    for name in methods | set(FORMATS) | set(Envelope.__annotations__):
        assert f"`{name}`" in TEXT, name
