"""Which events lack an extractor, as the topic of patches tells; what becomes of those that nobody can read again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fake_model import fake_model

from memstream.schemas.patch import Patch
from memstream.schemas.topics import Topic, record_key
from memstream.settings import Settings
from memstream.streams.marked import Marked, find_marked
from memstream.streams.outlet import Message
from memstream.streams.re_extract import Done, ReExtraction
from memstream.streams.replay.window import Window
from memstream.streams.sender import Sender
from memstream.streams.topics_admin import create_topics

[LINE] = (Path(__file__).parents[1] / "data" / "patches" / "v2.jsonl").read_bytes().splitlines()
WHOLE = 1_000_000_200


def patch(scope: str, event: str, generation: int, *missing: str) -> Patch:
    """A patch of an event that lies far behind all that the log holds."""
    one = Patch.decode(LINE)
    origin = one.origin.model_copy(update={"scope": scope, "id": event, "key": event, "partition": 0, "offset": 7_000})
    return one.model_copy(update={"origin": origin, "generation": generation, "missing": missing})


async def send(settings: Settings, *patches: Patch) -> None:
    """Put patches into their topic, and bytes between them that are none."""
    sender = Sender(settings)
    await sender.start()
    told: list[tuple[bytes, bytes | None]] = [(record_key(one.origin.scope), one.encode()) for one in patches]
    told += [(b"strange", b'{"missing": ["openai"]}'), (b"strange", b'"missing"'), (b"strange", None)]
    await sender.send([Message(Topic.PATCHES, key, value) for key, value in told])
    await sender.stop()


@pytest.fixture
async def log(own_settings: Settings, scope: str) -> list[Marked]:
    """A log in which some events were made up for, before or behind, and some were not."""
    await create_topics(own_settings)
    assert await find_marked(own_settings, Window()) == []
    await send(
        own_settings,
        patch(scope, "lacks", 200, "openai"),
        patch(scope, "lacks", 200),  # by the default one alone, in another run: no better
        patch(scope, "later", 200, "openai"),
        patch(scope, "later", WHOLE),
        patch(scope, "before", WHOLE),
        patch(scope, "before", 300, "openai"),
        patch(scope, "half", 200, "gliner", "openai"),
        patch(scope, "half", WHOLE, "gliner"),
        patch(f"{scope}/below", "deep", 200, "openai"),
    )
    return await find_marked(own_settings, Window())


async def test_what_was_made_up_for_is_not_found(own_settings: Settings, scope: str, log: list[Marked]) -> None:
    """Of each event the best patch counts, wherever it lies; scopes and names narrow."""
    assert {(one.key, one.missing) for one in log} == {
        ("lacks", ("openai",)),
        ("half", ("gliner",)),
        ("deep", ("openai",)),
    }
    assert [one.key for one in await find_marked(own_settings, Window(), ["gliner"])] == ["half"]
    below = Window.of((f"{scope}/below",))
    assert [one.key for one in await find_marked(own_settings, below, ["openai"])] == ["deep"]


async def test_what_is_not_in_the_log_any_more_is_told(own_settings: Settings, log: list[Marked]) -> None:
    """Nothing is sent for it, and nobody waits for it."""
    with fake_model() as model:
        told = {"extractor": "spacy+openai", "openai_url": model.url, "openai_model": "tiny", "extract_processes": 1}
        settings = own_settings.model_copy(update=told)
        assert await ReExtraction(settings, log, asyncio.Event()).run() == Done(gone=3)
        assert model.asked == []
