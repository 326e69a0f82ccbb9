"""`memstream dlq …` as a test calls it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from typer.testing import CliRunner

from memstream.cli.dlq import THERE_ARE
from memstream.cli.main import app
from memstream.settings import Settings


async def call(settings: Settings, *words: str, text: str | None = None, editor: str = "false") -> tuple[int, str]:
    """Exit code and output; an error of ours is told as `memstream` tells it."""
    env = {"MEMSTREAM_TOPIC_PREFIX": settings.topic_prefix, "MEMSTREAM_PARTITIONS": "3", "COLUMNS": "200"}
    env |= {"MEMSTREAM_GROUP_PREFIX": settings.group_prefix, "MEMSTREAM_DATA_DIR": str(settings.data_dir)}

    env |= {"EDITOR": editor, "VISUAL": ""}

    def run() -> tuple[int, str]:
        result = CliRunner().invoke(app, ["dlq", *words], env=env, input=text)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            return 1, f"{type(result.exception).__name__}: {result.exception}"
        return result.exit_code, result.output

    return await asyncio.to_thread(run)


async def told(settings: Settings, *words: str) -> Any:
    """What a command says to programs."""
    code, output = await call(settings, *words, "--json")
    assert code in {0, 1, THERE_ARE}, output
    return json.loads(output[: output.rindex("}" if output.lstrip().startswith("{") else "]") + 1])
