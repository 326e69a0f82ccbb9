"""docs/extractors.md is run as it stands there, against a model that answers, fails, and answers again."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import orjson
import pytest
from fake_model import NOTHING, Failure, FakeModel, fact, fake_model
from stage_processes import StageProcess, environment, ready, until

from memstream.extractors.merge import merging
from memstream.extractors.plugins import openai_client
from memstream.settings import ENV_PREFIX, Settings
from memstream.streams.topics_admin import create_topics

PAGE = (Path(__file__).parents[2] / "docs" / "extractors.md").read_text(encoding="utf-8")
KESTREL = ("Kestrel Freight", "Organization")
KEYS = fact(("Bo Lind", "Person"), "owns", ("keys to the depot", "Object"), "The keys to the depot are with Bo Lind")
BOSS = fact(KESTREL, "managed_by", ("Mara Lind", "Person"), "Mara Lind calls the shots")
VAN = fact(("red van", "Object"), "owned_by", KESTREL, "The red van went over to Kestrel Freight")


@pytest.fixture
def model() -> Iterator[FakeModel]:
    """It answers for the file and the first message, is out for the tries of the second, then answers for that."""
    with fake_model() as made:
        made.script.extend(orjson.dumps({**NOTHING, "facts": [one]}).decode() for one in (KEYS, BOSS))
        made.script.extend([Failure(503)] * openai_client.TRIES)
        made.answers["The red van went over to Kestrel Freight."] = {**NOTHING, "facts": [VAN]}
        yield made


@pytest.fixture
async def env(own_settings: Settings, tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """What the page begins with: topics and a query service, and the command that finds them."""
    await create_topics(own_settings)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "memstream").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memstream.cli "$@"\n')
    (tools / "memstream").chmod(0o700)
    told = environment(
        own_settings,
        MEMSTREAM_EXTRACTOR="spacy",
        MEMSTREAM_EXTRACT_PROCESSES="1",
        MEMSTREAM_QUERY_PORT=str(own_settings.query_port),
        MEMSTREAM_QUERY_URL=f"http://127.0.0.1:{own_settings.query_port}",
        PATH=f"{tools}{os.pathsep}{os.environ['PATH']}",
        COLUMNS="200",
    )
    served = await StageProcess.command(("serve",), tmp_path / "serve.log", told)
    await until(lambda: ready(own_settings.query_port), 120, "the query service is ready")
    yield told
    await served.kill()


async def test_the_page_runs_from_a_model_to_its_outage_and_back(
    own_settings: Settings, env: dict[str, str], model: FakeModel, scope: str, tmp_path: Path
) -> None:
    """What the model alone reads is there at once; what it did not answer for is there after re-extraction."""
    del own_settings
    commands = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
    for there, here in (("http://127.0.0.1:11434/v1", model.url), ("acme/depot", scope)):
        assert there in commands
        commands = commands.replace(there, here)
    before, facts, after = commands.rpartition("memstream facts")
    shown = f"until memstream facts --scope {scope} | grep 'red van is owned by'; do :; done"  # the sink takes it in
    commands = f"{before}{shown}\n{facts}{after}"
    script = f"set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\nset -x\n{commands}"
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", script, cwd=tmp_path, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(400):
        said = (await process.communicate())[0].decode()
    assert process.returncode == 0, said
    tried, published = said.index("memstream extract"), said.index("memstream worker")
    assert '"keys to the depot"' in said[tried:published]
    first, outage, again = (
        said.index(f"memstream {words}") for words in ("facts", "re-extract --dry", "re-extract --mis")
    )
    assert "Kestrel Freight is managed by Mara Lind" in said[first:outage]
    assert "red van is owned by Kestrel" not in said[:again]
    assert "1 events in 1 scopes: 1 lack openai." in said[outage:again]
    assert "1 are read by all now" in said[again:]
    assert "red van is owned by Kestrel Freight" in said[again:]
    assert not model.script


def test_the_page_names_settings_that_there_are() -> None:
    """Each variable on the page is one that is read."""
    named = set(re.findall(rf"{ENV_PREFIX}([A-Z_]+)", PAGE))
    assert named <= {name.upper() for name in Settings.model_fields}
    assert {"OPENAI_URL", "GLINER_DIR", "OPENAI_SPEND_A_DAY"} <= named


def test_the_rules_of_the_page_are_those_of_the_module() -> None:
    """What is said of two that differ is said in both places, rule by rule."""
    table = PAGE.split("## What they say together")[1].split("\n\n")[1]
    rules = [row.split("|")[1].strip().lower() for row in table.splitlines()[2:]]
    told = re.sub(r"\s+", " ", (merging.__doc__ or "").replace("*", "")).lower()
    assert [rule for rule in rules if rule not in told] == []
