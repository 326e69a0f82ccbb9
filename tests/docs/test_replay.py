"""docs/replay.md is run as it stands there: a rebuild with a changed extractor, from start to switch and back."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from own_neo4j import OwnNeo4j
from replays import Graph
from stage_processes import StageProcess, all_ready, environment

from memstream.deploy import stackfile
from memstream.deploy.ports import any_free
from memstream.query.switch import choice_file
from memstream.settings import Settings
from memstream.streams.topics_admin import create_topics

PAGE = (Path(__file__).parents[2] / "docs" / "replay.md").read_text(encoding="utf-8")

# Installs a folder as pip would, into a place of this test alone: its module, and the entry points it names.
PIP = """
import pathlib, shutil, sys, tomllib
folder, site = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[0]).parent.parent / "site"
project = tomllib.loads((folder / "pyproject.toml").read_text())
info = site / "better-1.dist-info"
info.mkdir(parents=True)
(info / "METADATA").write_text("Metadata-Version: 2.1\\nName: better\\nVersion: 1\\n")
points = project["project"]["entry-points"]
lines = [f"[{group}]\\n" + "".join(f"{n} = {v}\\n" for n, v in named.items()) for group, named in points.items()]
(info / "entry_points.txt").write_text("".join(lines))
for name in project["tool"]["setuptools"]["py-modules"]:
    shutil.copy(folder / f"{name}.py", site)
"""


def blocks(language: str) -> list[str]:
    """The page's blocks of a language, in their order."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
async def env(own_settings: Settings, own_neo4j: OwnNeo4j, tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """What the page begins with: workers and a query service, and commands that find them."""
    graph = Graph.of(own_neo4j.settings)
    with graph.driver:
        graph.empty()
    await create_topics(own_settings)
    tools, site = tmp_path / "bin", tmp_path / "site"
    tools.mkdir()
    site.mkdir()
    for name, line in (("memstream", "-m memstream.cli"), ("pip", str(tools / "pip.py"))):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {line} "$@"\n')
        (tools / name).chmod(0o700)
    (tools / "pip.py").write_text(PIP)
    told = environment(
        own_settings,
        MEMSTREAM_EXTRACTOR="spacy",
        MEMSTREAM_EMBEDDER="minilm",
        MEMSTREAM_EXTRACT_PROCESSES="1",
        MEMSTREAM_QUERY_PORT=str(own_settings.query_port),
        MEMSTREAM_QUERY_URL=f"http://127.0.0.1:{own_settings.query_port}",
        PYTHONPATH=str(site),
        PATH=f"{tools}{os.pathsep}{os.environ['PATH']}",
        COLUMNS="200",
    )
    workers = await StageProcess.supervised(tmp_path / "workers.log", told)
    served = await StageProcess.command(("serve",), tmp_path / "serve.log", told)
    await all_ready(own_settings, workers, served)
    yield told
    await workers.stop()
    await served.kill()
    choice_file(own_settings).unlink(missing_ok=True)
    for log in (own_settings.data_dir / "logs").glob(f"{own_settings.topic_prefix}.replay-*.log"):
        log.unlink()


def script(own_settings: Settings, own_neo4j: OwnNeo4j, scope: str) -> str:
    """All commands of the page as one, with the topics, ports and scopes of this test."""
    second = f"MEMSTREAM_NEO4J_URI={own_neo4j.uri} MEMSTREAM_NEO4J_PASSWORD={own_neo4j.password} "
    commands = "\n".join(blocks("sh"))
    for there, here in (
        ("MEMSTREAM_DATA_DIR=second MEMSTREAM_KAFKA_BOOTSTRAP=$KAFKA memstream up", None),  # starts what runs already
        ("KAFKA=127.0.0.1:9092", f"KAFKA={own_settings.kafka_bootstrap}"),
        ("memory.replay-better", f"{own_settings.topic_prefix}.replay-better"),
        ("EVENTS_PREFIX=memory", f"EVENTS_PREFIX={own_settings.topic_prefix}"),
        ("memstream diff .memstream", f"memstream diff {own_settings.data_dir}"),
        ("8711", str(any_free())),
        ("8712", str(any_free())),
        ("acme/depot", scope),
    ):
        assert there in commands
        commands = commands.replace(there, second + there if here is None else here)
    return f"set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\nset -x\n{commands}"


async def test_the_rebuild_of_the_page_runs_from_start_to_switch_and_back(
    own_settings: Settings, own_neo4j: OwnNeo4j, scope: str, env: dict[str, str], tmp_path: Path
) -> None:
    """What the better extractor reads is found after the switch, also in what is published later."""
    folder = tmp_path / "work"
    (folder / "better").mkdir(parents=True)
    [code], [project] = blocks("python"), blocks("toml")
    (folder / "better" / "better.py").write_text(code)
    (folder / "better" / "pyproject.toml").write_text(project)
    own = {"URI": own_neo4j.uri, "USER": "neo4j", "PASSWORD": own_neo4j.password}
    stackfile.write(folder / "second" / "stack.env", {f"MEMSTREAM_NEO4J_{name}": value for name, value in own.items()})
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        script(own_settings, own_neo4j, scope),
        cwd=folder,
        env=env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(400):
        said = (await process.communicate())[0].decode()
    assert process.returncode == 0, said
    replayed, compared = said.index("Replayed from events, all with better"), said.index("memstream diff")
    assert replayed < compared
    assert "dock 7" in said[compared : said.index("memstream switch --to")]
    after = said[said.index("memstream switch --to") :]
    assert f"reads {own_neo4j.uri} now" in after
    assert "dock 9" in after.split("--wait 120")[1]
    assert f"reads {own_settings.neo4j_uri} now" in after
