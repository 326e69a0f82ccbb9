"""The programs of the README and of docs/share.md run as they stand there, through real workers and a real service."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stage_processes import StageProcess, all_ready, environment

from memstream.settings import Settings
from memstream.streams.topics_admin import create_topics

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def service(own_settings: Settings, scope: str, tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """Workers and a query service of this test: the environment in which its programs find them."""
    await create_topics(own_settings)
    env = environment(
        own_settings,
        MEMSTREAM_EXTRACTOR="spacy",
        MEMSTREAM_EMBEDDER="minilm",
        MEMSTREAM_EXTRACT_PROCESSES="1",
        MEMSTREAM_QUERY_PORT=str(own_settings.query_port),
        MEMSTREAM_QUERY_URL=f"http://127.0.0.1:{own_settings.query_port}",
        COLUMNS="200",
        ROOT_OF_SCOPES=scope,
    )
    workers = await StageProcess.supervised(tmp_path / "workers.log", env)
    served = await StageProcess.command(("serve",), tmp_path / "serve.log", env)
    await all_ready(own_settings, workers, served)
    yield env
    # uvicorn ends cleanly and then lets the signal have its way
    assert [await workers.stop(), await served.stop()] == [0, -signal.SIGTERM]


async def printed(env: dict[str, str], *words: str) -> str:
    """What a Python process prints. Fails with all it said where it does not succeed."""
    command = [sys.executable, "-W", "error", *words]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, env={**os.environ, **env}, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{words}: {done.stdout} {done.stderr}"
    return done.stdout


def program(document: str, scope: str) -> str:
    """The program of a document, with its scopes below the test's own."""
    text = (ROOT / document).read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return str(code).replace('"acme/', f'"{scope}/')


async def test_what_the_readme_publishes_is_recalled(service: dict[str, str]) -> None:
    """Five lines publish and wait; the command beside them answers from it, with a citation."""
    scope = service["ROOT_OF_SCOPES"]
    await printed(service, "-c", program("README.md", scope))
    asked = ("recall", "Where does Mara live?", "--scope", f"{scope}/fleet-7")
    answer = await printed(service, "-m", "memstream.cli", *asked)
    assert "Dresden" in answer
    assert "[1]" in answer


async def test_a_board_is_shared_as_told(service: dict[str, str]) -> None:
    """One agent asks, another claims and answers, and the answer is a fact with its source."""
    answer = await printed(service, "-c", program("docs/share.md", service["ROOT_OF_SCOPES"]))
    assert "What caused the checkout outage? -> The checkout outage was caused by the geocoder. by wrench" in answer
    assert "checkout outage was caused by" in answer.split("by wrench")[1]
